//! The owner in somebody else's event loop, as windows have: it sleeps in the system until an event, and another thread can
//! only wake it by a proxy.
//!
//! ```sh
//! cargo run -p arknet --example owner_event_loop
//! ```
//!
//! [`EventLoop`] stands for winit's, with its `EventLoopProxy` and its `ControlFlow::WaitUntil`. Before each sleep the
//! owner is armed; then the first thing that becomes ready sends one event through the proxy.
#![allow(clippy::print_stdout, reason = "standard output belongs to programs")]

use std::error::Error;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use arknet::owner::{Budget, Io, Owner};

/// How long the loop sleeps where nothing is due: as good as for ever.
const LONG: Duration = Duration::from_secs(3600);

/// What wakes the loop.
#[derive(Debug)]
enum Event {
    /// By the proxy.
    WakeUp,
    /// The moment to wait for has come.
    ResumeTimeReached,
}

/// A window's event loop, as far as this example needs one.
struct EventLoop {
    events: Receiver<Event>,
    proxy: Sender<Event>,
}

impl EventLoop {
    fn new() -> Self {
        let (proxy, events) = channel();
        Self { events, proxy }
    }

    fn wait_until(&self, deadline: Option<Instant>) -> Event {
        let wait = deadline.map_or(LONG, |deadline| {
            deadline.saturating_duration_since(Instant::now())
        });
        match self.events.recv_timeout(wait) {
            Ok(event) => event,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                Event::ResumeTimeReached
            }
        }
    }
}

#[derive(Default)]
struct World {
    from_threads: u32,
    from_timer: bool,
}

fn main() -> Result<(), Box<dyn Error>> {
    demo()
}

/// Takes in what three threads and a timer have, and sleeps in between.
pub(crate) fn demo() -> Result<(), Box<dyn Error>> {
    let event_loop = EventLoop::new();
    let mut owner = Owner::<World>::builder().io(Io::threads(1)).build()?;
    let proxy = event_loop.proxy.clone();
    owner.on_ready(move || {
        // The loop may be gone already.
        let _ = proxy.send(Event::WakeUp);
    });
    owner.after(Duration::from_millis(5), |world| world.from_timer = true)?;
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let poster = owner.poster();
            std::thread::spawn(move || poster.post(|world| world.from_threads += 1).is_ok())
        })
        .collect();

    let mut world = World::default();
    let mut woken = 0;
    loop {
        owner.update(&mut world, Budget::default())?;
        if world.from_timer && world.from_threads == 3 {
            break;
        }
        // Refused where something came during the update: then there is no sleep, and the next round takes it.
        if owner.arm()
            && let Event::WakeUp = event_loop.wait_until(owner.next_deadline())
        {
            woken += 1;
        }
    }
    println!("everything came, with {woken} wake-ups");
    let posted = threads
        .into_iter()
        .all(|thread| thread.join().unwrap_or(false));
    if !posted || woken > 3 {
        return Err("a post was refused, or the loop was woken for nothing".into());
    }
    Ok(())
}
