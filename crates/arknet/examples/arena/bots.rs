//! A load of players: each joins, moves about ten times a second, and counts what it is told.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use arknet::tcp::{Client, ClientConfig, Framing, ReconnectPolicy};
use arknet::{CloseReason, Handler, Lanes, Session, TimerKey};

use super::protocol::{Request, Response};

/// Between two moves of a bot.
const MOVE_EVERY: Duration = Duration::from_millis(100);

/// How long they may take to end.
const ENDS_WITHIN: Duration = Duration::from_secs(10);

pub(crate) struct Swarm {
    bots: Vec<Client>,
    counts: Arc<Counts>,
    began: Instant,
}

#[derive(Default)]
struct Counts {
    /// Bots that have seen as many snapshots as are wanted, for each such number: the first hundred.
    seen: Vec<AtomicUsize>,
    snapshots: AtomicU64,
    others: AtomicU64,
    goodbyes: AtomicUsize,
    moves: AtomicU64,
    refused: AtomicU64,
}

impl Swarm {
    pub(crate) fn start(lanes: &Lanes, address: &str, bots: usize) -> Result<Self, Box<dyn Error>> {
        let counts = Arc::new(Counts {
            seen: (0..100).map(|_| AtomicUsize::new(0)).collect(),
            ..Counts::default()
        });
        let config = ClientConfig::new()
            .framing(Framing::LengthPrefix)
            .reconnect(ReconnectPolicy::off());
        let bots = (0..bots)
            .map(|number| {
                let counts = counts.clone();
                Client::start(lanes, address, config.clone(), move |_| Bot {
                    name: format!("bot {number}"),
                    counts: counts.clone(),
                    seen: 0,
                    dice: number as u64 + 1,
                })
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            bots,
            counts,
            began: Instant::now(),
        })
    }

    /// Whether every bot has had so many snapshots.
    pub(crate) fn all_have_seen(&self, snapshots: u64) -> bool {
        let seen = usize::try_from(snapshots)
            .ok()
            .and_then(|at| self.counts.seen.get(at));
        seen.is_some_and(|seen| seen.load(Ordering::Relaxed) >= self.bots.len())
    }

    /// Ends them, and says what they have seen.
    pub(crate) fn end(self) -> Result<Report, Box<dyn Error>> {
        let took = self.began.elapsed();
        let ending: Vec<_> = self
            .bots
            .iter()
            .map(|bot| bot.shutdown(ENDS_WITHIN))
            .collect();
        for bot in ending {
            bot.wait()?;
        }
        Ok(Report {
            bots: self.bots.len(),
            took,
            counts: self.counts,
        })
    }
}

struct Bot {
    name: String,
    counts: Arc<Counts>,
    seen: usize,
    dice: u64,
}

impl Handler for Bot {
    fn on_open(&mut self, session: &mut Session) {
        if session.send(Request::Join(&self.name).write()).is_err() {
            return session.close();
        }
        session.set_interval("move", MOVE_EVERY);
    }

    fn on_message(&mut self, _: &mut Session, message: &[u8]) {
        match Response::read(message) {
            Some(Response::Snapshot { near }) => {
                self.counts.snapshots.fetch_add(1, Ordering::Relaxed);
                // Everybody sees themselves.
                self.counts
                    .others
                    .fetch_add(near.saturating_sub(1) as u64, Ordering::Relaxed);
                self.seen += 1;
                if let Some(seen) = self.counts.seen.get(self.seen) {
                    seen.fetch_add(1, Ordering::Relaxed);
                }
            }
            Some(Response::Goodbye) => {
                self.counts.goodbyes.fetch_add(1, Ordering::Relaxed);
            }
            Some(Response::Welcome { score: _ }) => {}
            None => println!("{} was told something strange", self.name),
        }
    }

    fn on_timer(&mut self, session: &mut Session, _: TimerKey) {
        self.dice = self
            .dice
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let way = |bits: u64| i8::try_from(bits % 3).unwrap_or_default() - 1;
        let moved = Request::Move(way(self.dice >> 33), way(self.dice >> 40));
        match session.send(moved.write()) {
            Ok(()) => self.counts.moves.fetch_add(1, Ordering::Relaxed),
            Err(_) => self.counts.refused.fetch_add(1, Ordering::Relaxed),
        };
    }

    fn on_close(&mut self, session: &mut Session, reason: &CloseReason) {
        session.cancel_timer("move");
        if let Some(error) = reason.error() {
            println!("{} was cut off: {error}", self.name);
        }
    }
}

/// What a swarm has seen.
pub(crate) struct Report {
    bots: usize,
    took: Duration,
    counts: Arc<Counts>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let snapshots = load(&self.counts.snapshots);
        write!(
            f,
            "{} bots in {:.1?}: {} moves, {} refused; {} snapshots, {} others in each; {} goodbyes",
            self.bots,
            self.took,
            load(&self.counts.moves),
            load(&self.counts.refused),
            snapshots,
            load(&self.counts.others) / snapshots.max(1),
            self.counts.goodbyes.load(Ordering::Relaxed),
        )
    }
}
