//! The owner in a plain loop at a fixed rate: a game's tick, with saves that are done elsewhere.
//!
//! ```sh
//! cargo run -p arknet --example owner_fixed_rate
//! ```
//!
//! The loop is the owner's own, at absolute moments. What a tick has to wait for, a save here, is a service: submitted in
//! the tick, done on a lane, and delivered in a later tick; those of one player stay in order.
#![allow(clippy::print_stdout, reason = "standard output belongs to programs")]

use std::error::Error;
use std::time::Duration;

use arknet::owner::{Budget, Cadence, Deadline, Io, Lost, Next, Owner, Service};

/// 100 ticks a second.
const TICK: Duration = Duration::from_millis(10);

/// What a tick may spend on what came from outside: a tenth of it.
const BUDGET: Duration = Duration::from_millis(1);

type Saves = Service<World, (u64, u64), Result<(), Lost>>;

#[derive(Default)]
struct World {
    gold: [u64; 3],
    saved: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    demo()
}

/// Twenty ticks, in which everybody earns and is saved, and a good end.
pub(crate) fn demo() -> Result<(), Box<dyn Error>> {
    let mut owner = Owner::<World>::builder().io(Io::threads(1)).build()?;
    let saves: Saves = owner.service("saves", async |(player, gold)| {
        // A database would be here.
        let _ = (player, gold);
        Ok(())
    })?;
    let mut world = World::default();
    let cadence = Cadence::every(TICK).budget(Budget::operations(4096).time(BUDGET));
    let report = owner.run(&mut world, cadence, |world, tick| {
        for (player, gold) in (0..).zip(&mut world.gold) {
            *gold += 1;
            let saved = saves
                .ordered(player)
                .send((player, *gold), |world, result| {
                    world.saved += u64::from(result.is_ok());
                });
            if let Err(rejected) = saved {
                println!("tick {}: {rejected}", tick.number);
            }
        }
        if tick.number == 19 {
            Next::Stop
        } else {
            Next::Continue
        }
    })?;
    println!("{} ticks, {} missed", report.ticks, report.missed);
    let drained = owner.drain(&mut world, Deadline::in_(Duration::from_secs(10)))?;
    println!("{} saves; nothing lost: {}", world.saved, drained.finished);
    if world.saved != 60 || !drained.finished {
        return Err("a save was lost".into());
    }
    Ok(())
}
