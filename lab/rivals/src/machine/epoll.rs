//! The echo on raw epoll: the floor under every machine that waits for readiness.
//!
//! One thread, level-triggered, one `recv` with room to spare and one `send` a turn. A read that
//! comes back short has emptied the socket, so there is no second one to be told so; the server
//! sends from the buffer it read into. Readiness to write is asked for only after a short send.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

use hdrhistogram::Histogram;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::failure::Failure;
use crate::load::Load;
use crate::sample::{Sample, Stamp};
use crate::traffic::{Client, Input, Phase, Run, Server, round_trips};

/// Events taken from the kernel at once: every end of the largest load the harness asks for.
const EVENTS: usize = 256;

/// Runs the load once.
pub(crate) fn run(load: &Load) -> Result<Sample, Failure> {
    if load.threads != 1 {
        return Err(Failure::Unknown(
            "epoll: only one thread is written".to_owned(),
        ));
    }
    let run = Run::new(load);
    Machine::connect(&run)
        .map_err(Failure::io("connecting over loopback"))?
        .drive()
}

struct Machine {
    run: Arc<Run>,
    epoll: OwnedFd,
    ends: Vec<Option<End>>,
    open: usize,
    round_trips: Histogram<u64>,
}

impl Machine {
    fn connect(run: &Arc<Run>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let mut ends = Vec::new();
        for id in 0..run.load.clients {
            let client = TcpStream::connect(address)?;
            let (server, _) = listener.accept()?;
            ends.push(End::new(run, server, Side::Server(Server::new(run)))?);
            ends.push(End::new(
                run,
                client,
                Side::Client(Box::new(Client::new(run, id))),
            )?);
        }
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        for (index, end) in (0..).zip(&ends) {
            epoll::add(
                &epoll,
                &end.socket,
                EventData::new_u64(index),
                EventFlags::IN,
            )?;
        }
        Ok(Self {
            run: Arc::clone(run),
            epoll,
            open: ends.len(),
            ends: ends.into_iter().map(Some).collect(),
            round_trips: round_trips(),
        })
    }

    fn drive(mut self) -> Result<Sample, Failure> {
        let io = |error: Errno| Failure::io("echoing over epoll")(error.into());
        let started = Instant::now();
        self.begin(started).map_err(io)?;
        let (warm, measured) = (self.run.load.warmup(), self.run.load.measured());
        let mut stamps = Vec::with_capacity(2);
        let mut next = started + warm;
        let mut events = Vec::with_capacity(EVENTS);
        while self.open > 0 {
            epoll::wait(&self.epoll, spare_capacity(&mut events), None).map_err(io)?;
            let now = Instant::now();
            if now >= next && stamps.len() < 2 {
                stamps.push(Stamp::now(&self.run)?);
                self.run.enter(if stamps.len() == 1 {
                    Phase::Measured
                } else {
                    Phase::Stopping
                });
                next = now + measured;
            }
            for event in events.drain(..) {
                self.handle(event, now).map_err(io)?;
            }
        }
        let [begin, end] = stamps.as_slice() else {
            return Err(Failure::Unknown(
                "epoll: the connections closed too early".to_owned(),
            ));
        };
        Ok(Sample::between(&self.run, begin, end, &self.round_trips))
    }

    fn begin(&mut self, now: Instant) -> rustix::io::Result<()> {
        for (index, end) in (0..).zip(self.ends.iter_mut().flatten()) {
            if let Side::Client(client) = &mut end.side {
                client.begin(now);
                end.flush(&self.epoll, index)?;
            }
        }
        Ok(())
    }

    fn handle(&mut self, event: Event, now: Instant) -> rustix::io::Result<()> {
        let index = event.data.u64();
        let Some(place) = self.ends.get_mut(index as usize) else {
            return Ok(());
        };
        let Some(end) = place else { return Ok(()) };
        let life = if end.waits_to_write {
            end.flush(&self.epoll, index)?;
            Life::Open
        } else {
            end.read(&self.epoll, index, now)?
        };
        if life == Life::Over {
            if let Some(End {
                side: Side::Client(client),
                ..
            }) = place.take()
            {
                self.round_trips += client.into_round_trips();
            }
            self.open -= 1;
        }
        Ok(())
    }
}

#[derive(PartialEq, Eq)]
enum Life {
    Open,
    Over,
}

/// One end of a connection.
struct End {
    run: Arc<Run>,
    socket: TcpStream,
    side: Side,
    input: Input,
    /// Of a server: how much of the input's front is to be echoed.
    echo: usize,
    waits_to_write: bool,
}

enum Side {
    Server(Server),
    Client(Box<Client>),
}

impl End {
    fn new(run: &Arc<Run>, socket: TcpStream, side: Side) -> io::Result<Self> {
        socket.set_nodelay(true)?;
        socket.set_nonblocking(true)?;
        let input = Input::new(&run.load);
        let run = Arc::clone(run);
        Ok(Self {
            run,
            socket,
            side,
            input,
            echo: 0,
            waits_to_write: false,
        })
    }

    fn read(&mut self, epoll: &OwnedFd, index: u64, now: Instant) -> rustix::io::Result<Life> {
        let n = match recv(&self.socket, self.input.room(), RecvFlags::empty()) {
            Ok((_, n)) => n,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(Life::Open),
            Err(error) => return Err(error),
        };
        if n == 0 {
            // A client closes first, so only a client can lose its connection.
            if matches!(self.side, Side::Client(_)) {
                self.run.fail();
            }
            return Ok(Life::Over);
        }
        self.input.received(n);
        match &mut self.side {
            Side::Server(server) => self.echo = server.turn(self.input.filled()),
            Side::Client(client) => {
                let whole = client.turn(self.input.filled(), now);
                self.input.consume(whole);
                if client.finished() {
                    return Ok(Life::Over);
                }
            }
        }
        self.flush(epoll, index)?;
        Ok(Life::Open)
    }

    fn flush(&mut self, epoll: &OwnedFd, index: u64) -> rustix::io::Result<()> {
        let bytes = match &mut self.side {
            Side::Server(_) => &self.input.filled()[..self.echo],
            Side::Client(client) => client.output().as_slice(),
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
            Side::Server(_) => {
                self.input.consume(sent);
                self.echo -= sent;
            }
            Side::Client(client) => drop(client.output().drain(..sent)),
        }
        self.wait_to_write(epoll, index, sent < wanted)
    }

    /// Waits for room to write instead of bytes to read, or back again.
    fn wait_to_write(&mut self, epoll: &OwnedFd, index: u64, wait: bool) -> rustix::io::Result<()> {
        if self.waits_to_write == wait {
            return Ok(());
        }
        self.waits_to_write = wait;
        let interest = if wait {
            EventFlags::OUT
        } else {
            EventFlags::IN
        };
        epoll::modify(epoll, &self.socket, EventData::new_u64(index), interest)
    }
}
