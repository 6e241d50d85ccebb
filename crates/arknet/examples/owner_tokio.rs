//! The owner in a tokio program: the task that has the world awaits it beside everything else.
//!
//! ```sh
//! cargo run -p arknet --example owner_tokio
//! ```
//!
//! The owner's IO shares the program's runtime by `Lanes::current`, and `ready` is a future like any other. The world stays
//! on the thread of `block_on`; it is not `Send`, and neither is the owner.
#![allow(clippy::print_stdout, reason = "standard output belongs to programs")]

use std::error::Error;
use std::rc::Rc;
use std::time::Duration;

use arknet::Lanes;
use arknet::owner::{Budget, Io, Lost, Owner};

fn main() -> Result<(), Box<dyn Error>> {
    demo()
}

/// Ten questions to a service, five timer ticks of the program's own.
pub(crate) fn demo() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(program())
}

async fn program() -> Result<(), Box<dyn Error>> {
    let lanes = Lanes::current()?;
    let mut owner = Owner::<Vec<Rc<str>>>::builder()
        .io(Io::lanes(&lanes))
        .build()?;
    let names = owner.service("names", async |number: u32| {
        tokio::time::sleep(Duration::from_millis(1)).await;
        Ok::<_, Lost>(format!("player {number}"))
    })?;
    for number in 0..10 {
        names.send(number, |world, name| {
            world.extend(name.map(Rc::from));
        })?;
    }

    let mut world = Vec::new();
    let mut own = tokio::time::interval(Duration::from_millis(2));
    let mut ticks = 0;
    while world.len() < 10 || ticks < 5 {
        tokio::select! {
            () = owner.ready() => {
                owner.update(&mut world, Budget::default())?;
            }
            _ = own.tick() => ticks += 1,
        }
    }
    println!("{} names, {ticks} ticks of the program's own", world.len());
    Ok(())
}
