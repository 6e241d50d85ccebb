//! The echo on raw epoll: the floor under every machine that waits for readiness.
//!
//! One thread, level-triggered, one `recv` with room to spare and one `send` a turn. A read that
//! comes back short has emptied the socket, so there is no second one to be told so; the server
//! sends from the buffer it read into. Readiness to write is asked for only after a short send.

use std::io;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread;

use arknet_lab::measure::Measurement;
use arknet_lab::measure::conduct::conduct;
use arknet_lab::measure::config::{Execution, TransportConfig};
use arknet_lab::measure::counters::Fault;
use arknet_lab::measure::native::ends::{ServerEnd, WindowedEnd};
use arknet_lab::measure::native::pairs;
use arknet_lab::measure::run::Run;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::failure::Failure;
use crate::load::Load;
use crate::sample::Sample;

/// Events taken from the kernel at once: every end of the largest load that the lab accepts.
const EVENTS: usize = 256;

/// What the waker's event carries; ends are counted from zero.
const WAKE: u64 = u64::MAX;

/// Runs the load once.
pub(crate) fn run(load: &Load) -> Result<Sample, Failure> {
    if load.threads != 1 {
        return Err(Failure::Usage("epoll is written for one thread".to_owned()));
    }
    let config = TransportConfig {
        execution: Execution::Callback,
        ..load.config()
    };
    config
        .check()
        .map_err(|error| Failure::Usage(error.to_string()))?;
    let run = Run::new(&config);
    let mut lane = Lane::connect(&run, &config)?;
    let waker = Arc::clone(&lane.waker);
    let wake = || {
        if let Err(error) = rustix::io::write(&waker, &1_u64.to_ne_bytes()) {
            run.fault(
                Fault::CallbackExceptions,
                &format!("waking the io thread: {error}"),
            );
        }
    };
    let observed = thread::scope(|scope| {
        let shared = &run;
        scope.spawn(move || {
            if let Err(error) = lane.turn(shared) {
                shared.fault(
                    Fault::CallbackExceptions,
                    &format!("the io thread: {error}"),
                );
            }
        });
        let observed = conduct(&run, &config, wake);
        run.stop();
        wake();
        observed
    });
    Sample::of(&Measurement::new(&config, "epoll", &run, &observed))
}

/// The epoll and the connections on it.
struct Lane {
    epoll: OwnedFd,
    waker: Arc<OwnedFd>,
    ends: Vec<Option<End>>,
}

impl Lane {
    fn connect(run: &Arc<Run>, config: &TransportConfig) -> Result<Self, Failure> {
        let mut ends = Vec::new();
        for (id, pair) in (0_u32..).zip(pairs::connect(config)?) {
            let server = Side::Server(ServerEnd::new(run, config.traffic), 0);
            ends.push(Some(End::new(pair.server, server)));
            ends.push(Some(End::new(
                pair.client,
                Side::Client(WindowedEnd::new(run, id)),
            )));
        }
        Self::register(ends).map_err(|error| Failure::io("setting epoll up")(error.into()))
    }

    fn register(ends: Vec<Option<End>>) -> rustix::io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let waker = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &waker, EventData::new_u64(WAKE), EventFlags::IN)?;
        for (index, end) in (0..).zip(ends.iter().flatten()) {
            epoll::add(
                &epoll,
                &end.socket,
                EventData::new_u64(index),
                EventFlags::IN,
            )?;
        }
        Ok(Self {
            epoll,
            waker: Arc::new(waker),
            ends,
        })
    }

    /// The thread: one wait, then every end that is ready, until the run stops.
    fn turn(&mut self, run: &Run) -> rustix::io::Result<()> {
        let mut events = Vec::with_capacity(EVENTS);
        while !run.is_stopping() {
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                Err(Errno::INTR) => continue,
                waited => waited?,
            };
            for event in events.drain(..) {
                self.handle(event)?;
            }
        }
        Ok(())
    }

    fn handle(&mut self, event: Event) -> rustix::io::Result<()> {
        let index = event.data.u64();
        if index == WAKE {
            rustix::io::read(&self.waker, &mut [0_u8; 8])?;
            self.begin();
        } else if let Some(slot) = usize::try_from(index)
            .ok()
            .and_then(|i| self.ends.get_mut(i))
        {
            serve(slot, |end| end.on_event(&self.epoll, event));
        }
        Ok(())
    }

    fn begin(&mut self) {
        for (index, slot) in (0..).zip(&mut self.ends) {
            serve(slot, |end| {
                if let Side::Client(client) = &mut end.side {
                    client.begin();
                }
                end.flush(&self.epoll, index)
            });
        }
    }
}

/// Serves an end; one whose connection failed is closed, and what that means is counted.
fn serve(slot: &mut Option<End>, with: impl FnOnce(&mut End) -> rustix::io::Result<()>) {
    if let Some(end) = slot
        && let Err(error) = with(end)
    {
        end.on_disconnect(error.into());
        *slot = None;
    }
}

/// One end of a connection.
struct End {
    socket: TcpStream,
    side: Side,
    waits_to_write: bool,
}

enum Side {
    /// With how much of what it received is to be sent back.
    Server(ServerEnd, usize),
    Client(WindowedEnd),
}

impl End {
    fn new(socket: TcpStream, side: Side) -> Self {
        Self {
            socket,
            side,
            waits_to_write: false,
        }
    }

    fn on_event(&mut self, epoll: &OwnedFd, event: Event) -> rustix::io::Result<()> {
        let (index, flags) = (event.data.u64(), event.flags);
        if self.waits_to_write {
            self.flush(epoll, index)?;
        }
        // A server whose answer is stuck asks for no bytes.
        if flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR) && self.receive()? {
            self.flush(epoll, index)?;
        }
        Ok(())
    }

    /// Reads once and deals with what came; says whether anything did.
    fn receive(&mut self) -> rustix::io::Result<bool> {
        let buffer = match &mut self.side {
            Side::Server(server, _) => &mut server.received,
            Side::Client(client) => &mut client.received,
        };
        let n = match recv(&self.socket, buffer.room(), RecvFlags::empty()) {
            Ok((_, 0)) => return Err(Errno::CONNRESET),
            Ok((_, n)) => n,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(false),
            Err(error) => return Err(error),
        };
        buffer.fill(n);
        match &mut self.side {
            Side::Client(client) => client.on_received(),
            Side::Server(server, answer) => {
                *answer = server.on_received().map_err(|_| Errno::BADMSG)?;
            }
        }
        Ok(true)
    }

    /// Sends once what is to be sent, and waits for room if that was not all.
    fn flush(&mut self, epoll: &OwnedFd, index: u64) -> rustix::io::Result<()> {
        let bytes = match &self.side {
            Side::Server(server, answer) => {
                server.received.filled().get(..*answer).unwrap_or_default()
            }
            Side::Client(client) => client.out.filled(),
        };
        let (wanted, mut sent) = (bytes.len(), 0);
        if wanted > 0 {
            sent = match send(&self.socket, bytes, SendFlags::NOSIGNAL) {
                Ok(n) => n,
                Err(Errno::AGAIN | Errno::INTR) => 0,
                Err(error) => return Err(error),
            };
        }
        match &mut self.side {
            Side::Server(server, answer) => {
                server.received.consume(sent);
                *answer -= sent;
            }
            Side::Client(client) => client.out.consume(sent),
        }
        self.wait_to_write(epoll, index, sent < wanted)
    }

    fn wait_to_write(&mut self, epoll: &OwnedFd, index: u64, wait: bool) -> rustix::io::Result<()> {
        if self.waits_to_write == wait {
            return Ok(());
        }
        self.waits_to_write = wait;
        let interest = match (wait, &self.side) {
            (false, _) => EventFlags::IN,
            (true, Side::Server(..)) => EventFlags::OUT,
            (true, Side::Client(_)) => EventFlags::IN | EventFlags::OUT,
        };
        epoll::modify(epoll, &self.socket, EventData::new_u64(index), interest)
    }

    fn on_disconnect(&mut self, error: io::Error) {
        match &mut self.side {
            Side::Server(server, _) => server.on_disconnect(&error),
            Side::Client(client) => {
                client
                    .traffic
                    .on_disconnect(&format!("a client's connection: {error}"));
            }
        }
    }
}
