//! Callbacks on one epoll that several threads share: one-shot registrations, so that a connection
//! is served by one thread at a time and by whichever is free.
//!
//! The mutex around a connection is never waited for, except when the control thread begins a phase:
//! it is there because the compiler cannot see what one-shot registrations promise.

use std::io;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};

use super::ends::{End, Ready};
use super::mio_machine::join;
use super::pairs::{self, Pair};
use crate::measure::conduct::conduct;
use crate::measure::config::TransportConfig;
use crate::measure::error::Error;
use crate::measure::measurement::Measurement;
use crate::measure::run::Run;

/// What the event that ends the threads carries; connections are counted from zero.
const STOP: u64 = u64::MAX;

/// Events a thread takes at a time: few, so that the others get their share of a burst.
const EVENTS: usize = 4;

/// Measures with one epoll on all of the configuration's threads.
///
/// # Errors
/// As [`measure::transport`](crate::measure::transport) does.
pub fn run(config: &TransportConfig) -> Result<Measurement, Error> {
    let run = Run::new(config);
    let pairs = pairs::connect(config)?;
    let shared = Shared::new(&run, config, pairs).map_err(Error::setup("set epoll up"))?;
    let shared = Arc::new(shared);
    let mut threads = Vec::new();
    for k in 0..config.io_threads {
        let own = shared.clone();
        let thread = Builder::new()
            .name(format!("io-{k}"))
            .spawn(move || own.turn());
        threads.push(thread.map_err(|e| {
            // The threads that were started end now; the sockets go with the last of them.
            shared.stop();
            Error::setup("start an io thread")(e)
        })?);
    }
    let observed = conduct(&run, config, || shared.begin());
    shared.stop();
    threads.into_iter().for_each(|thread| join(&run, thread));
    // Clients hand in what they left unfinished when they are dropped.
    drop(shared);
    Ok(Measurement::new(config, "epoll-oneshot", &run, &observed))
}

struct Shared {
    run: Arc<Run>,
    epoll: OwnedFd,
    stop: OwnedFd,
    connections: Vec<Mutex<Option<Connection>>>,
}

struct Connection {
    stream: TcpStream,
    end: End,
}

impl Shared {
    fn new(run: &Arc<Run>, config: &TransportConfig, pairs: Vec<Pair>) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let stop = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &stop, EventData::new_u64(STOP), EventFlags::IN)?;
        let mut ends = Vec::new();
        for (id, Pair { client, server }) in (0_u32..).zip(pairs) {
            ends.push(Connection {
                stream: server,
                end: End::server(run, config),
            });
            ends.push(Connection {
                stream: client,
                end: End::client(run, config, id),
            });
        }
        let mut connections = Vec::new();
        for (token, connection) in (0_u64..).zip(ends) {
            let interest = EventFlags::IN | EventFlags::ONESHOT;
            epoll::add(
                &epoll,
                &connection.stream,
                EventData::new_u64(token),
                interest,
            )?;
            connections.push(Mutex::new(Some(connection)));
        }
        Ok(Shared {
            run: run.clone(),
            epoll,
            stop,
            connections,
        })
    }

    /// Begins an opened phase on every client; the control thread's own work, because no thread
    /// owns a connection.
    fn begin(&self) {
        for (token, slot) in (0_u64..).zip(&self.connections) {
            let mut slot = lock(slot);
            if slot
                .as_mut()
                .is_some_and(|connection| connection.end.begin())
            {
                self.serve(token, &mut slot, Ready::fresh());
            }
        }
    }

    /// A thread: a few events, each connection armed again when it is done, until the run stops.
    fn turn(&self) -> io::Result<()> {
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS);
        while !self.run.is_stopping() {
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                Err(rustix::io::Errno::INTR) => continue,
                waited => waited?,
            };
            for event in &events {
                let token = event.data.u64();
                let slot = usize::try_from(token)
                    .ok()
                    .and_then(|k| self.connections.get(k));
                if let Some(slot) = slot {
                    self.serve(token, &mut lock(slot), readiness(event.flags));
                }
            }
        }
        Ok(())
    }

    fn serve(&self, token: u64, slot: &mut Option<Connection>, mut ready: Ready) {
        let Some(Connection { stream, end }) = slot else {
            return;
        };
        let served = end.on_ready(stream, &mut ready).and_then(|()| {
            let mut interest = EventFlags::ONESHOT;
            interest.set(EventFlags::IN, end.wants_read());
            interest.set(EventFlags::OUT, end.wants_write());
            Ok(epoll::modify(
                &self.epoll,
                &*stream,
                EventData::new_u64(token),
                interest,
            )?)
        });
        if served.is_err() {
            *slot = None;
        }
    }

    fn stop(&self) {
        self.run.stop();
        // It cannot fail: the descriptor is ours and its counter is at zero.
        let _ = rustix::io::write(&self.stop, &1_u64.to_ne_bytes());
    }
}

/// Registrations are level-triggered, so that a write is simply tried, and an end that was not read
/// comes again.
fn readiness(flags: EventFlags) -> Ready {
    let failed = flags.intersects(EventFlags::HUP | EventFlags::ERR);
    Ready {
        read: flags.contains(EventFlags::IN) || failed,
        write: true,
        closed: failed,
    }
}

fn lock(slot: &Mutex<Option<Connection>>) -> MutexGuard<'_, Option<Connection>> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}
