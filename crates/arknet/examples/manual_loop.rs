//! A server with a tick: the world belongs to the thread that runs the loop, and so does the network.
//!
//! ```sh
//! cargo run -p arknet --example manual_loop                    # twenty ticks on loopback
//! cargo run -p arknet --example manual_loop -- 127.0.0.1:7000  # until it is interrupted; `nc 127.0.0.1 7000`
//! ```
//!
//! `Lanes::manual` has no thread: callbacks run inside `poll_until`, in which the loop sleeps until its next tick, so a
//! message is taken in when it arrives and not a tick later. Handlers put what they hear into a queue, which the loop
//! empties at the tick: within a tick the world does not change.
#![allow(clippy::print_stdout, reason = "standard output belongs to programs")]

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use arknet::tcp::{Client, ClientConfig, Framing, Server, ServerConfig};
use arknet::{Handler, Lanes, Session, SessionId};

/// 50 ticks a second.
const TICK: Duration = Duration::from_millis(20);

/// Inputs that may wait for a tick, of all players together; whoever goes over it is thrown out.
const INPUTS: usize = 4096;

fn main() -> Result<(), Box<dyn Error>> {
    let Some(address) = std::env::args().nth(1) else {
        return demo();
    };
    let lanes = Lanes::manual()?;
    let mut game = Game::open(&lanes, &address)?;
    println!("plays on {}", game.server.local_addr());
    run(&lanes, &mut game, |_| true)
}

/// Ticks while `goes_on` says so.
fn run(
    lanes: &Lanes,
    game: &mut Game,
    mut goes_on: impl FnMut(&Game) -> bool,
) -> Result<(), Box<dyn Error>> {
    let mut next = Instant::now() + TICK;
    while goes_on(game) {
        lanes.poll_until(next)?;
        game.tick();
        // From the last due time, not from now, or the cadence would drift; a loop that fell behind skips.
        next = (next + TICK).max(Instant::now());
    }
    Ok(())
}

/// What a player does. Positions are on a line.
enum Input {
    Joined(SessionId),
    Moved(SessionId, i64),
}

/// The world and its door. No lock, no atomic: everything is on one thread.
struct Game {
    server: Server,
    inputs: Receiver<Input>,
    positions: BTreeMap<SessionId, i64>,
    ticks: u64,
}

impl Game {
    fn open(lanes: &Lanes, address: &str) -> Result<Self, arknet::Error> {
        let (queue, inputs) = sync_channel(INPUTS);
        let config = ServerConfig::new()
            .framing(Framing::delimited("\n")?)
            .max_message(64);
        let player = move |_: &Session| Player {
            queue: queue.clone(),
        };
        Ok(Self {
            server: Server::start(lanes, address, config, player)?,
            inputs,
            positions: BTreeMap::new(),
            ticks: 0,
        })
    }

    /// Applies the inputs, moves the world on, and shows it to everybody.
    fn tick(&mut self) {
        for input in self.inputs.try_iter() {
            match input {
                Input::Joined(player) => drop(self.positions.insert(player, 0)),
                Input::Moved(player, by) => {
                    if let Some(position) = self.positions.get_mut(&player) {
                        *position = position.saturating_add(by);
                    }
                }
            }
        }
        // Who has gone is asked of the server, since an input that says so could be one that was dropped.
        self.positions
            .retain(|player, _| self.server.session(*player).is_some());
        self.ticks += 1;
        let positions: Vec<String> = self.positions.values().map(i64::to_string).collect();
        // It leaves in the next poll. Who cannot be sent to has gone, or reads too slowly for a game.
        let sent = self
            .server
            .broadcast(format!("{}: {}\n", self.ticks, positions.join(" ")));
        for (player, result) in sent {
            if result.is_err_and(|error| error.is_full())
                && let Some(session) = self.server.session(player)
            {
                session.abort();
            }
        }
    }
}

struct Player {
    queue: SyncSender<Input>,
}

impl Player {
    fn put(&self, session: &mut Session, input: Input) {
        // A blocking send would wait for the very thread that it is on.
        if self.queue.try_send(input).is_err() {
            session.close();
        }
    }
}

impl Handler for Player {
    fn on_open(&mut self, session: &mut Session) {
        let id = session.id();
        self.put(session, Input::Joined(id));
    }

    fn on_message(&mut self, session: &mut Session, message: &[u8]) {
        let id = session.id();
        match std::str::from_utf8(message).map(|text| text.trim().parse()) {
            Ok(Ok(by)) => self.put(session, Input::Moved(id, by)),
            _ => session.close(),
        }
    }
}

/// A player joins, moves by two, and sees itself there.
pub(crate) fn demo() -> Result<(), Box<dyn Error>> {
    let lanes = Lanes::manual()?;
    let mut game = Game::open(&lanes, "127.0.0.1:0")?;
    let (arrived, arrival) = sync_channel(1);
    let config = ClientConfig::new().framing(Framing::delimited("\n")?);
    let client = Client::start(&lanes, game.server.local_addr(), config, move |_| Walker {
        arrived: arrived.clone(),
    })?;

    let gave_up = Instant::now() + Duration::from_secs(10);
    let mut seen = None;
    run(&lanes, &mut game, |_| {
        seen = arrival.try_recv().ok();
        seen.is_none() && Instant::now() < gave_up
    })?;
    let seen = seen.ok_or("the player was not seen to move")?;
    println!("{seen}");
    assert!(seen.ends_with(": 2"));

    // Waiting polls manual lanes.
    client.shutdown(Duration::from_secs(5)).wait()?;
    game.server.shutdown(Duration::from_secs(5)).wait()?;
    Ok(())
}

/// Moves once, and looks where it is.
struct Walker {
    arrived: SyncSender<String>,
}

impl Handler for Walker {
    fn on_open(&mut self, session: &mut Session) {
        if session.send("2\n").is_err() {
            session.close();
        }
    }

    fn on_message(&mut self, _: &mut Session, message: &[u8]) {
        let snapshot = String::from_utf8_lossy(message).trim().to_owned();
        if snapshot.ends_with(": 2") {
            // One is enough; there is room for one.
            let _ = self.arrived.try_send(snapshot);
        }
    }
}
