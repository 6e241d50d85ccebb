//! What one command measures: cells, each a load and those who run it.

use std::time::{Duration, Instant};

use crate::load::{Load, Protocol};
use crate::variant::{Side, Variant};

/// Rounds unless the user asks for another number: enough pairs for a median that one disturbed
/// round cannot move.
const ROUNDS: usize = 7;

/// Rounds of a short run.
const SHORT_ROUNDS: usize = 5;

/// What a comparison may take, compiling included.
const LIMIT: Duration = Duration::from_secs(20 * 60);

/// What a short one may take.
const SHORT_LIMIT: Duration = Duration::from_secs(3 * 60);

/// How long and how often. TCP has 26 runs a round, so that all rounds end well within the limit on
/// a quiet machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    pub(crate) rounds: usize,
    pub(crate) warmup: f64,
    pub(crate) seconds: f64,
    /// No round is begun that would end after this; `None` when the user has named the rounds.
    pub(crate) end: Option<Instant>,
}

impl Pace {
    /// The pace of a command that begins now.
    pub(crate) fn new(short: bool, wanted: Option<usize>) -> Self {
        let (rounds, warmup, seconds, limit) = if short {
            (SHORT_ROUNDS, 0.2, 0.6, SHORT_LIMIT)
        } else {
            (ROUNDS, 0.5, 3.0, LIMIT)
        };
        let end = wanted.is_none().then(|| Instant::now() + limit);
        Self {
            rounds: wanted.unwrap_or(rounds),
            warmup,
            seconds,
            end,
        }
    }
}

/// One load and those who run it, each once a round.
#[derive(Debug)]
pub(crate) struct Cell {
    pub(crate) protocol: Protocol,
    pub(crate) load: Load,
    pub(crate) ours: Vec<&'static Variant>,
    pub(crate) peers: Vec<&'static Variant>,
}

impl Cell {
    /// The cells of a protocol. With `stand_in`, that peer takes our place.
    pub(crate) fn all(
        protocol: Protocol,
        pace: Pace,
        stand_in: Option<&'static Variant>,
    ) -> Vec<Self> {
        let shapes: &[(usize, usize)] = match protocol {
            Protocol::Tcp => &[(1, 1), (1, 16), (2, 1), (2, 16)],
            Protocol::Tls => &[(1, 1), (1, 16)],
        };
        let cell = |&(threads, window)| {
            let Pace {
                warmup, seconds, ..
            } = pace;
            let load = Load {
                payload: 1024,
                clients: 16,
                window,
                threads,
                warmup,
                seconds,
            };
            Self::new(protocol, load, stand_in)
        };
        shapes.iter().map(cell).collect()
    }

    fn new(protocol: Protocol, load: Load, stand_in: Option<&'static Variant>) -> Self {
        let able = |variant: &&Variant| variant.threads || load.threads == 1;
        let of = |side| {
            Variant::all(protocol)
                .iter()
                .filter(move |v| v.side == side)
                .filter(able)
        };
        let ours = match stand_in {
            Some(variant) => vec![variant].into_iter().filter(able).collect(),
            None => of(Side::Ours).collect(),
        };
        let peers = of(Side::Peer).collect();
        Self {
            protocol,
            load,
            ours,
            peers,
        }
    }

    /// Everybody, ours first.
    pub(crate) fn runners(&self) -> impl Iterator<Item = &'static Variant> {
        self.ours.iter().chain(&self.peers).copied()
    }

    /// The name of the work of one of ours, such as `tcp callback 1 KiB 16x1 1 thread`.
    pub(crate) fn work(&self, ours: &Variant) -> String {
        format!("{} {} {}", self.protocol, ours.name, self.load.name())
    }

    /// Every pair that is compared, as indices into ours and into the peers.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let meets =
            |&(ours, peer): &(usize, usize)| self.ours[ours].meets(self.peers[peer], &self.load);
        (0..self.ours.len())
            .flat_map(|ours| (0..self.peers.len()).map(move |peer| (ours, peer)))
            .filter(meets)
    }
}
