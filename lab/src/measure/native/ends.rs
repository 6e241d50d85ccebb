//! The two ends of a connection: what is done with bytes that came, and which bytes go.
//!
//! Both styles run these; the state machines for readiness are here too, over any non-blocking
//! socket, so that mio, epoll with one-shot registrations and any other poller share them.

use std::io::{self, Read, Write};
use std::sync::Arc;

use super::buffer::Flat;
use crate::measure::config::{Traffic, TransportConfig};
use crate::measure::counters::Fault;
use crate::measure::run::Run;
use crate::measure::traffic::{BatchClient, ClientTraffic, ServerTraffic};

/// More room than any expected read fills: a read that comes back short has emptied the socket.
const SPARE: usize = 4096;

/// The least and the most room that windowed traffic offers a read: below, the memory is not worth
/// saving; above, more bytes a call gain nothing and leave the second-level cache.
const ROOM: std::ops::RangeInclusive<usize> = 64 * 1024..=1024 * 1024;

/// What is known of a socket's readiness: set by the poller, cleared by short reads and writes.
#[derive(Clone, Copy, Debug)]
pub struct Ready {
    /// A read may find bytes.
    pub read: bool,
    /// A write may find room.
    pub write: bool,
    /// The peer has ended its side: a short read proves nothing, the end is still to be read.
    pub closed: bool,
}

impl Ready {
    /// A socket that was just connected: it has room and nothing to read.
    pub fn fresh() -> Self {
        Ready {
            read: false,
            write: true,
            closed: false,
        }
    }
}

/// One end of a connection as a state machine over readiness.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "there are at most 128, and each is used all the time"
)]
pub enum End {
    /// A client that keeps its window full.
    Windowed(WindowedEnd),
    /// A client that sends batches.
    Batch(BatchEnd),
    /// A server.
    Server(ServerEnd),
}

impl End {
    /// Client number `id`, for the run's traffic.
    pub fn client(run: &Arc<Run>, config: &TransportConfig, id: u32) -> Self {
        match config.traffic {
            Traffic::Windowed => End::Windowed(WindowedEnd::new(run, id)),
            Traffic::Batch => End::Batch(BatchEnd::new(run, id)),
        }
    }

    /// A server, for the run's traffic.
    pub fn server(run: &Arc<Run>, config: &TransportConfig) -> Self {
        End::Server(ServerEnd::new(run, config.traffic))
    }

    /// Enters a phase that was opened; says whether there is something to send now.
    pub fn begin(&mut self) -> bool {
        match self {
            End::Windowed(end) => end.begin(),
            End::Batch(end) => end.begin(),
            End::Server(_) => false,
        }
    }

    /// Reads and writes until the socket is no longer ready for what this end wants.
    ///
    /// # Errors
    /// Ends the connection when the peer did, or the socket failed; what it means is counted.
    pub fn on_ready<S: Read + Write>(&mut self, io: &mut S, ready: &mut Ready) -> io::Result<()> {
        let done = match self {
            End::Windowed(end) => end.on_ready(io, ready),
            End::Batch(end) => end.on_ready(io, ready),
            End::Server(end) => end.on_ready(io, ready),
        };
        done.inspect_err(|error| self.on_disconnect(error))
    }

    /// Whether bytes wait for room in the socket.
    pub fn wants_write(&self) -> bool {
        match self {
            End::Windowed(end) => !end.out.is_empty(),
            End::Batch(end) => end.unsent < end.batch.len(),
            End::Server(end) => end.answer > 0,
        }
    }

    /// Whether bytes that come are read now: a server whose answer is stuck does not read on.
    pub fn wants_read(&self) -> bool {
        match self {
            End::Server(end) => end.answer == 0,
            End::Windowed(_) | End::Batch(_) => true,
        }
    }

    #[cold]
    fn on_disconnect(&mut self, error: &io::Error) {
        match self {
            End::Windowed(end) => end.traffic.on_disconnect(error),
            End::Batch(end) => end.traffic.on_disconnect(error),
            End::Server(end) => end.on_disconnect(error),
        }
    }
}

/// A client that keeps its window full, with its buffers.
#[derive(Debug)]
pub struct WindowedEnd {
    /// What it sends and checks.
    pub traffic: ClientTraffic,
    /// What came and is not yet a whole message.
    pub received: Flat,
    /// What is to be sent.
    pub out: Flat,
    payload: usize,
}

impl WindowedEnd {
    /// Client number `id`.
    pub fn new(run: &Arc<Run>, id: u32) -> Self {
        let payload = run.payload();
        WindowedEnd {
            traffic: ClientTraffic::new(run.clone(), id),
            received: Flat::new(windowed_room(run)),
            out: Flat::new(run.window() * payload),
            payload,
        }
    }

    /// Enters a new phase and prepares the first window.
    pub fn begin(&mut self) -> bool {
        if !self.traffic.begin() {
            return false;
        }
        let now = self.traffic.run().clock().now();
        for _ in 0..self.traffic.room() {
            self.send(now);
        }
        true
    }

    /// Checks all whole messages that came, and prepares a new one for each.
    #[inline]
    pub fn on_received(&mut self) {
        let now = self.traffic.run().clock().now();
        let mut messages = self.received.filled().chunks_exact(self.payload);
        let mut count = 0;
        for message in messages.by_ref() {
            if self.traffic.on_reply(message, now)
                && let Some(slot) = self.out.spare(self.payload).get_mut(..self.payload)
            {
                self.traffic.encode(slot, now);
                self.out.fill(self.payload);
            }
            count += self.payload;
        }
        self.received.consume(count);
    }

    #[inline]
    fn send(&mut self, now: u64) {
        if let Some(slot) = self.out.spare(self.payload).get_mut(..self.payload) {
            self.traffic.encode(slot, now);
            self.out.fill(self.payload);
        }
    }

    fn on_ready<S: Read + Write>(&mut self, io: &mut S, ready: &mut Ready) -> io::Result<()> {
        loop {
            if ready.read && receive(io, &mut self.received, ready)? {
                self.on_received();
            }
            if ready.write && !self.out.is_empty() {
                let sent = transmit(io, self.out.filled(), ready)?;
                self.out.consume(sent);
            }
            if !ready.read && (!ready.write || self.out.is_empty()) {
                return Ok(());
            }
        }
    }
}

/// A client that sends batches, with its buffers.
#[derive(Debug)]
pub struct BatchEnd {
    /// What it sends and checks.
    pub traffic: BatchClient,
    /// The batch that is sent.
    pub batch: Box<[u8]>,
    /// What came of it so far.
    pub received: Flat,
    unsent: usize,
}

impl BatchEnd {
    /// Client number `id`.
    pub fn new(run: &Arc<Run>, id: u32) -> Self {
        let traffic = BatchClient::new(run.clone(), id);
        let bytes = traffic.batch();
        BatchEnd {
            traffic,
            batch: vec![0; bytes].into_boxed_slice(),
            received: Flat::new(bytes + SPARE),
            unsent: bytes,
        }
    }

    /// Enters the run and prepares the first batch.
    pub fn begin(&mut self) -> bool {
        let new = self.traffic.begin();
        if new {
            self.fill();
        }
        new
    }

    /// Prepares the next batch.
    pub fn fill(&mut self) {
        self.traffic.fill(&mut self.batch);
        self.unsent = 0;
    }

    /// If the batch is back, checks it; says whether to send another one.
    #[inline]
    pub fn on_received(&mut self) -> bool {
        if self.received.filled().len() < self.batch.len() {
            return false;
        }
        let more = self.traffic.on_batch(&self.batch, self.received.filled());
        self.received.consume(self.received.filled().len());
        more
    }

    fn on_ready<S: Read + Write>(&mut self, io: &mut S, ready: &mut Ready) -> io::Result<()> {
        loop {
            if ready.write && self.unsent < self.batch.len() {
                let rest = self.batch.get(self.unsent..).unwrap_or_default();
                self.unsent += transmit(io, rest, ready)?;
            }
            // The whole batch is written before anything of it is read.
            if self.unsent < self.batch.len() || !ready.read {
                return Ok(());
            }
            if receive(io, &mut self.received, ready)? && self.on_received() {
                self.fill();
            }
        }
    }
}

/// A server, with its buffer: it answers from where it received.
#[derive(Debug)]
pub struct ServerEnd {
    /// What came and is not yet answered.
    pub received: Flat,
    traffic: ServerTraffic,
    run: Arc<Run>,
    payload: usize,
    unit: usize,
    answer: usize,
}

impl ServerEnd {
    /// A server that answers every message, or every whole batch.
    pub fn new(run: &Arc<Run>, traffic: Traffic) -> Self {
        let payload = run.payload();
        let batch = run.window() * payload;
        let (unit, room) = match traffic {
            Traffic::Windowed => (payload, windowed_room(run)),
            Traffic::Batch => (batch, batch + SPARE),
        };
        ServerEnd {
            received: Flat::new(room),
            traffic: ServerTraffic::new(run.clone(), traffic),
            run: run.clone(),
            payload,
            unit,
            answer: 0,
        }
    }

    /// Checks and works on what came whole; returns how many bytes of `received` are the answer.
    ///
    /// # Errors
    /// `InvalidData` when a message is refused.
    #[inline]
    pub fn on_received(&mut self) -> io::Result<usize> {
        let filled = self.received.filled();
        // Units come one at a time when the window is 1: a comparison is cheaper than a division.
        let whole = if filled.len() < self.unit {
            0
        } else {
            filled.len() / self.unit * self.unit
        };
        for message in filled
            .get(..whole)
            .unwrap_or_default()
            .chunks_exact(self.payload)
        {
            if !self.traffic.on_message(message) {
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
        Ok(whole)
    }

    /// Counts a connection that failed; one that a client has ended is normal, and a refused
    /// message is counted already.
    pub fn on_disconnect(&self, error: &io::Error) {
        let normal = matches!(
            error.kind(),
            io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData
        );
        if !normal && !self.run.is_stopping() {
            let text = format!("a server's connection: {error}");
            self.run.fault(Fault::DisconnectErrors, &text);
        }
    }

    fn on_ready<S: Read + Write>(&mut self, io: &mut S, ready: &mut Ready) -> io::Result<()> {
        loop {
            if self.answer > 0 {
                if !ready.write {
                    return Ok(());
                }
                let answer = self
                    .received
                    .filled()
                    .get(..self.answer)
                    .unwrap_or_default();
                let sent = transmit(io, answer, ready)?;
                self.received.consume(sent);
                self.answer -= sent;
            } else if ready.read && receive(io, &mut self.received, ready)? {
                self.answer = self.on_received()?;
            } else if !ready.read {
                return Ok(());
            }
        }
    }
}

/// Room for a whole window, within reason, and always for a message beside the rest of another.
fn windowed_room(run: &Run) -> usize {
    let window = run.window() * run.payload() + SPARE;
    window
        .clamp(*ROOM.start(), *ROOM.end())
        .max(2 * run.payload() + SPARE)
}

/// Reads once; says whether bytes came.
#[inline]
fn receive(io: &mut impl Read, buffer: &mut Flat, ready: &mut Ready) -> io::Result<bool> {
    let room = buffer.room();
    let offered = room.len();
    match io.read(room) {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(n) => {
            ready.read = n == offered || ready.closed;
            buffer.fill(n);
            Ok(true)
        }
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
            ready.read = false;
            Ok(false)
        }
        Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(false),
        Err(e) => Err(e),
    }
}

/// Writes once; returns how many bytes went.
#[inline]
fn transmit(io: &mut impl Write, bytes: &[u8], ready: &mut Ready) -> io::Result<usize> {
    match io.write(bytes) {
        Ok(0) => Err(io::ErrorKind::WriteZero.into()),
        Ok(n) => {
            ready.write = n == bytes.len();
            Ok(n)
        }
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
            ready.write = false;
            Ok(0)
        }
        Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(0),
        Err(e) => Err(e),
    }
}
