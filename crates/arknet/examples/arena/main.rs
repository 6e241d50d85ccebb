//! A small game server whose world belongs to one thread: players collect coins in an arena.
//!
//! ```sh
//! cargo run --release -p arknet --example arena                          # shows itself, with 50 bots
//! cargo run --release -p arknet --example arena -- --bots 1000           # the same with a thousand
//! cargo run --release -p arknet --example arena -- --serve 127.0.0.1:7000 --redis redis://127.0.0.1:6379
//! cargo run --release -p arknet --example arena -- --connect 127.0.0.1:7000 --bots 1000 --seconds 60
//! ```
//!
//! The world takes a step 20 times a second. Between the steps its owner delivers what has come: messages of players,
//! profiles that were loaded, saves that were done. Ctrl-C drains: everybody is told and saved before it ends.
//! `docs/tutorial.md` goes through it, file by file.
#![allow(clippy::print_stdout, reason = "standard output belongs to programs")]

mod bots;
mod game;
mod options;
mod protocol;
mod storage;
mod world;

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use arknet::Lanes;
use arknet::owner::{Budget, Cadence, Deadline, Io, Next, Owner};

use self::bots::Swarm;
use self::options::Options;
use self::storage::Backend;
use self::world::World;

/// 20 steps a second.
const STEP: Duration = Duration::from_millis(50);

/// What a tick may spend on what has come from outside; the rest is for the step.
const BUDGET: Duration = Duration::from_millis(20);

/// How long everybody may take to be told and saved at the end.
const DRAIN: Duration = Duration::from_secs(20);

/// Snapshots that each bot gets before the show is over.
const SHOWN: u64 = 10;

/// The show is cut after this.
const PATIENCE: Duration = Duration::from_secs(60);

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse(std::env::args().skip(1))?;
    let lanes = Lanes::sharded(1)?;
    if let Some(address) = &options.connect {
        let swarm = Swarm::start(&lanes, address, options.bots)?;
        std::thread::sleep(options.seconds);
        println!("{}", swarm.end()?);
        return Ok(());
    }
    let Some(address) = &options.serve else {
        return match &options.redis {
            Some(url) => run(url, options.bots),
            None => demo(options.bots),
        };
    };
    let stop = Arc::new(AtomicBool::new(false));
    let pressed = stop.clone();
    let waiting = lanes.clone();
    std::thread::spawn(move || {
        // A system without the signal has no good end either.
        let _ = waiting.block_on(tokio::signal::ctrl_c());
        pressed.store(true, Ordering::Release);
    });
    let mut arena = Arena::open(&lanes, address, options.backend(&lanes)?)?;
    println!("serves on {}; Ctrl-C ends it", arena.address());
    arena.run(|_| stop.load(Ordering::Acquire))?;
    arena.close()
}

/// The show with players in memory.
pub(crate) fn demo(bots: usize) -> Result<(), Box<dyn Error>> {
    show(Backend::memory(), bots)
}

/// The show with players in Redis, which is left as it was.
pub(crate) fn run(url: &str, bots: usize) -> Result<(), Box<dyn Error>> {
    let lanes = Lanes::sharded(1)?;
    let backend = Backend::redis(url, &lanes)?;
    show(backend.clone(), bots)?;
    lanes.block_on(backend.forget_everything())??;
    Ok(())
}

/// An arena and its bots in one process; everybody's last score must be what was saved.
fn show(backend: Backend, bots: usize) -> Result<(), Box<dyn Error>> {
    let lanes = Lanes::sharded(1)?;
    let mut arena = Arena::open(&lanes, "127.0.0.1:0", backend.clone())?;
    // Their IO is their own, so that they are as far away as bots in one process can be.
    let theirs = Lanes::sharded(1)?;
    let swarm = Swarm::start(&theirs, &arena.address(), bots)?;
    let began = Instant::now();
    arena.run(|_| swarm.all_have_seen(SHOWN) || began.elapsed() > PATIENCE)?;
    if !swarm.all_have_seen(SHOWN) {
        return Err(format!("not all bots saw {SHOWN} snapshots in {PATIENCE:?}").into());
    }
    arena.close()?;
    println!("{}", swarm.end()?);
    for (name, score) in &arena.world.left {
        let saved = lanes.block_on(backend.load(name))??;
        let saved = saved.map(|profile| profile.score);
        if saved != Some(*score) {
            return Err(format!("{name} left with {score}, and {saved:?} was saved").into());
        }
    }
    if arena.world.left.len() != bots {
        return Err(format!("{} of {bots} were told goodbye", arena.world.left.len()).into());
    }
    println!("nothing was lost");
    Ok(())
}

/// The owner, its world, and its server.
struct Arena {
    owner: Owner<World>,
    world: World,
    server: arknet::owner::net::Server<World>,
}

impl Arena {
    fn open(lanes: &Lanes, address: &str, backend: Backend) -> Result<Self, Box<dyn Error>> {
        let owner = Owner::builder().io(Io::lanes(lanes)).build()?;
        let store = storage::service(&owner, backend)?;
        let server = game::open(&owner, address, &store)?;
        Ok(Self {
            owner,
            world: World::new(),
            server,
        })
    }

    fn address(&self) -> String {
        self.server.local_addr().to_string()
    }

    /// Plays until it is enough.
    fn run(&mut self, enough: impl Fn(&World) -> bool) -> Result<(), Box<dyn Error>> {
        let cadence = Cadence::every(STEP).budget(Budget::unlimited().time(BUDGET));
        let report = self.owner.run(&mut self.world, cadence, |world, tick| {
            for panic in &tick.update.panics {
                println!("{}: {}", panic.label, panic.message);
            }
            world.step();
            game::show_everybody(world);
            if enough(world) {
                Next::Stop
            } else {
                Next::Continue
            }
        })?;
        println!(
            "{} ticks, {} missed; {} players",
            report.ticks,
            report.missed,
            self.world.players.len()
        );
        Ok(())
    }

    /// Lets everybody be told and saved.
    fn close(&mut self) -> Result<(), Box<dyn Error>> {
        let report = self.owner.drain(&mut self.world, Deadline::in_(DRAIN))?;
        let world = &self.world;
        println!(
            "{} of {} saves done, {} failed; {} sessions closed, {} cut",
            world.saves.done,
            world.saves.accepted,
            world.saves.failed,
            report.sessions.closed,
            report.sessions.forced,
        );
        if !report.finished {
            return Err(format!("not everything was done: {:?}", report.abandoned).into());
        }
        if world.saves.done + world.saves.failed != world.saves.accepted {
            return Err("a save is neither done nor reported".into());
        }
        Ok(())
    }
}
