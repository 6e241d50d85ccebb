//! Callbacks on mio: one poll a thread, edge-triggered, a connection and its peer on one thread.

use std::io;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token, Waker};

use super::ends::{End, Ready};
use super::pairs::{self, Pair};
use crate::measure::conduct::conduct;
use crate::measure::config::TransportConfig;
use crate::measure::counters::Fault;
use crate::measure::error::Error;
use crate::measure::measurement::Measurement;
use crate::measure::run::Run;

/// The token of a lane's waker; connections are counted from zero.
const WAKE: Token = Token(usize::MAX);

/// Events taken at a time: both ends of every connection that is allowed, on one thread.
const EVENTS: usize = 128;

/// Measures with one `mio::Poll` on each of the configuration's threads.
///
/// # Errors
/// As [`measure::transport`](crate::measure::transport) does.
pub fn run(config: &TransportConfig) -> Result<Measurement, Error> {
    let run = Run::new(config);
    let lanes = lanes(&run, config)?;
    let wakers: Vec<_> = lanes.iter().map(|lane| lane.waker.clone()).collect();
    let wake = || wakers.iter().for_each(|waker| wake(&run, waker));
    let mut threads = Vec::new();
    for (k, lane) in lanes.into_iter().enumerate() {
        let shared = run.clone();
        let thread = Builder::new()
            .name(format!("io-{k}"))
            .spawn(move || lane.turn(&shared));
        threads.push(thread.map_err(|e| {
            // The threads that were started end now; their sockets go with them.
            run.stop();
            wake();
            Error::setup("start an io thread")(e)
        })?);
    }
    let observed = conduct(&run, config, wake);
    run.stop();
    wake();
    threads.into_iter().for_each(|thread| join(&run, thread));
    Ok(Measurement::new(config, "mio", &run, &observed))
}

fn wake(run: &Run, waker: &Waker) {
    if let Err(e) = waker.wake() {
        run.fault(
            Fault::CallbackExceptions,
            &format!("wake an io thread: {e}"),
        );
    }
}

/// Waits for an io thread of any machine; one that failed makes the run invalid.
pub(super) fn join(run: &Run, thread: JoinHandle<io::Result<()>>) {
    match thread.join() {
        Ok(Ok(())) => {}
        Ok(Err(e)) => run.fault(Fault::CallbackExceptions, &format!("an io thread: {e}")),
        Err(_) => run.fault(Fault::CallbackExceptions, "an io thread panicked"),
    }
}

/// A thread's poll and the connections on it.
struct Lane {
    poll: Poll,
    waker: Arc<Waker>,
    connections: Vec<Option<Connection>>,
}

struct Connection {
    stream: TcpStream,
    end: End,
    ready: Ready,
}

fn lanes(run: &Arc<Run>, config: &TransportConfig) -> Result<Vec<Lane>, Error> {
    let lane = |_| Lane::new().map_err(Error::setup("make a mio poll"));
    let mut lanes = (0..config.io_threads)
        .map(lane)
        .collect::<Result<Vec<_>, _>>()?;
    let count = lanes.len();
    for (id, pair) in (0_u32..).zip(pairs::connect(config)?) {
        if let Some(lane) = lanes.get_mut(id as usize % count) {
            let Pair { client, server } = pair;
            lane.add(server, End::server(run, config))
                .and_then(|()| lane.add(client, End::client(run, config, id)))
                .map_err(Error::setup("register a socket with mio"))?;
        }
    }
    Ok(lanes)
}

impl Lane {
    fn new() -> io::Result<Self> {
        let poll = Poll::new()?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKE)?);
        Ok(Lane {
            poll,
            waker,
            connections: Vec::new(),
        })
    }

    fn add(&mut self, stream: std::net::TcpStream, end: End) -> io::Result<()> {
        let mut stream = TcpStream::from_std(stream);
        let token = Token(self.connections.len());
        let interest = Interest::READABLE | Interest::WRITABLE;
        self.poll
            .registry()
            .register(&mut stream, token, interest)?;
        self.connections.push(Some(Connection {
            stream,
            end,
            ready: Ready::fresh(),
        }));
        Ok(())
    }

    /// The thread: one poll, then every connection that is ready, until the run stops.
    fn turn(mut self, run: &Run) -> io::Result<()> {
        let mut events = Events::with_capacity(EVENTS);
        while !run.is_stopping() {
            match self.poll.poll(&mut events, None) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                polled => polled?,
            }
            for event in &events {
                if event.token() == WAKE {
                    self.connections.iter_mut().for_each(begin);
                } else if let Some(slot) = self.connections.get_mut(event.token().0) {
                    on_event(slot, event);
                }
            }
        }
        Ok(())
    }
}

fn begin(slot: &mut Option<Connection>) {
    if slot
        .as_mut()
        .is_some_and(|connection| connection.end.begin())
    {
        on_ready(slot);
    }
}

fn on_event(slot: &mut Option<Connection>, event: &mio::event::Event) {
    if let Some(connection) = slot {
        let ready = &mut connection.ready;
        ready.closed |= event.is_read_closed() || event.is_error();
        ready.read |= event.is_readable() || ready.closed;
        ready.write |= event.is_writable();
        on_ready(slot);
    }
}

fn on_ready(slot: &mut Option<Connection>) {
    if let Some(Connection { stream, end, ready }) = slot
        && end.on_ready(stream, ready).is_err()
    {
        *slot = None;
    }
}
