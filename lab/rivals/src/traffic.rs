//! The windowed traffic: what every message holds, how both ends check it.
//!
//! A message is `ANB`, a phase tag, the client's number (big-endian u32), its sequence (big-endian
//! u64), and from byte 16 on `(sequence + 17 i + 31 client) mod 256`. The client verifies every
//! byte and the order, and appends one message for every whole reply of a read; all of a read's
//! answers leave in one write. Nothing here does IO, so every machine pays the same for it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Instant;

use hdrhistogram::Histogram;

use crate::load::{Load, READ_ROOM};

/// Bytes before the pattern.
pub(crate) const HEADER: usize = 16;

const MAGIC: &[u8; 3] = b"ANB";

/// The slowest round trip that the histogram tells apart, in nanoseconds: a minute.
const SLOWEST: u64 = 60_000_000_000;

/// Where a run is. The first two are also the tags in the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Phase {
    Warmup = 0,
    Measured = 1,
    Stopping = 2,
}

/// What all ends of a run share.
pub(crate) struct Run {
    pub(crate) load: Load,
    pattern: Pattern,
    phase: AtomicU8,
    errors: AtomicU64,
    messages: AtomicU64,
}

impl Run {
    pub(crate) fn new(load: &Load) -> Arc<Self> {
        Arc::new(Self {
            load: load.clone(),
            pattern: Pattern::new(load.payload),
            phase: AtomicU8::new(Phase::Warmup as u8),
            errors: AtomicU64::new(0),
            messages: AtomicU64::new(0),
        })
    }

    pub(crate) fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Relaxed) {
            0 => Phase::Warmup,
            1 => Phase::Measured,
            _ => Phase::Stopping,
        }
    }

    pub(crate) fn enter(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Relaxed);
    }

    /// Counts a wrong byte, a wrong order or a failed operation; one makes the run invalid.
    pub(crate) fn fail(&self) {
        self.errors.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn errors(&self) -> u64 {
        self.errors.load(Ordering::Relaxed)
    }

    /// Round trips completed so far, in every phase.
    pub(crate) fn messages(&self) -> u64 {
        self.messages.load(Ordering::Relaxed)
    }
}

/// The bodies of all messages: one sequence that repeats after 256 bytes. 17 has an inverse modulo
/// 256, so every body is a slice of it, a fill is a copy and a check is a comparison.
struct Pattern(Box<[u8]>);

impl Pattern {
    const INVERSE_OF_17: u64 = 241;

    fn new(payload: usize) -> Self {
        let byte = |i: usize| (i.wrapping_mul(17) & 0xff) as u8;
        Self((0..payload + 256).map(byte).collect())
    }

    /// A message's bytes from its byte 0 on; the header replaces the first sixteen.
    fn row(&self, payload: usize, client: u32, sequence: u64) -> &[u8] {
        let base = sequence.wrapping_add(u64::from(client) * 31);
        let shift = (base.wrapping_mul(Self::INVERSE_OF_17) & 0xff) as usize;
        &self.0[shift..shift + payload]
    }
}

fn header(phase: u8, client: u32, sequence: u64) -> [u8; HEADER] {
    let mut bytes = [0; HEADER];
    bytes[..3].copy_from_slice(MAGIC);
    bytes[3] = phase;
    bytes[4..8].copy_from_slice(&client.to_be_bytes());
    bytes[8..].copy_from_slice(&sequence.to_be_bytes());
    bytes
}

/// Bytes that one end has received and not yet dealt with.
pub(crate) struct Input {
    bytes: Box<[u8]>,
    len: usize,
}

impl Input {
    pub(crate) fn new(load: &Load) -> Self {
        Self {
            bytes: vec![0; READ_ROOM + load.payload].into(),
            len: 0,
        }
    }

    pub(crate) fn filled(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    pub(crate) fn room(&mut self) -> &mut [u8] {
        &mut self.bytes[self.len..]
    }

    /// `n` more bytes were written at the front of the room.
    pub(crate) fn received(&mut self, n: usize) {
        self.len = (self.len + n).min(self.bytes.len());
    }

    /// Forgets the first `n` bytes.
    pub(crate) fn consume(&mut self, n: usize) {
        self.bytes.copy_within(n..self.len, 0);
        self.len -= n;
    }
}

/// The server's side of a connection.
pub(crate) struct Server {
    run: Arc<Run>,
}

impl Server {
    pub(crate) fn new(run: &Arc<Run>) -> Self {
        Self {
            run: Arc::clone(run),
        }
    }

    /// Checks the whole messages of `bytes` and says how many bytes they are: all to be echoed.
    pub(crate) fn turn(&self, bytes: &[u8]) -> usize {
        let messages = bytes.chunks_exact(self.run.load.payload);
        let whole = bytes.len() - messages.remainder().len();
        for message in messages {
            if !message.starts_with(MAGIC) || message[3] > Phase::Measured as u8 {
                self.run.fail();
            }
        }
        whole
    }
}

/// An empty histogram of round trips in nanoseconds, to two digits.
#[expect(clippy::expect_used, reason = "the bounds are constants, and good")]
pub(crate) fn round_trips() -> Histogram<u64> {
    Histogram::new_with_bounds(1, SLOWEST, 2).expect("constant bounds")
}

struct Slot {
    sent: Instant,
    phase: Phase,
}

/// The client's side of a connection.
pub(crate) struct Client {
    run: Arc<Run>,
    id: u32,
    sent: u64,
    received: u64,
    in_flight: VecDeque<Slot>,
    output: Vec<u8>,
    round_trips: Histogram<u64>,
}

impl Client {
    pub(crate) fn new(run: &Arc<Run>, id: u32) -> Self {
        Self {
            run: Arc::clone(run),
            id,
            sent: 0,
            received: 0,
            in_flight: VecDeque::with_capacity(run.load.window),
            output: Vec::with_capacity(run.load.window * run.load.payload),
            round_trips: round_trips(),
        }
    }

    /// Fills the window for the first time.
    pub(crate) fn begin(&mut self, now: Instant) {
        for _ in 0..self.run.load.window {
            self.append(now, Phase::Warmup);
        }
    }

    /// Verifies the whole replies of `bytes`, appends a message for each, and says how many bytes
    /// they were.
    pub(crate) fn turn(&mut self, bytes: &[u8], now: Instant) -> usize {
        let payload = self.run.load.payload;
        let phase = self.run.phase();
        let replies = bytes.chunks_exact(payload);
        let whole = bytes.len() - replies.remainder().len();
        for reply in replies {
            self.check(reply, now, phase);
            if phase != Phase::Stopping {
                self.append(now, phase);
            }
        }
        self.run
            .messages
            .fetch_add((whole / payload) as u64, Ordering::Relaxed);
        whole
    }

    /// What is to be sent; the machine removes what it has sent.
    pub(crate) fn output(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    /// True when nothing is in flight, which happens only while the run is stopping.
    pub(crate) fn finished(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// The round trips of the measured phase.
    pub(crate) fn into_round_trips(self) -> Histogram<u64> {
        self.round_trips
    }

    fn append(&mut self, now: Instant, phase: Phase) {
        let start = self.output.len();
        let row = self
            .run
            .pattern
            .row(self.run.load.payload, self.id, self.sent);
        self.output.extend_from_slice(row);
        self.output[start..start + HEADER].copy_from_slice(&header(
            phase as u8,
            self.id,
            self.sent,
        ));
        self.in_flight.push_back(Slot { sent: now, phase });
        self.sent += 1;
    }

    fn check(&mut self, reply: &[u8], now: Instant, phase: Phase) {
        let Some(slot) = self.in_flight.pop_front() else {
            return self.run.fail();
        };
        let (head, body) = reply.split_at(HEADER);
        let row = self.run.pattern.row(reply.len(), self.id, self.received);
        let right =
            head == header(slot.phase as u8, self.id, self.received) && body == &row[HEADER..];
        self.received += 1;
        if !right {
            self.run.fail();
        } else if phase == Phase::Measured && slot.phase == Phase::Measured {
            let nanoseconds = now.duration_since(slot.sent).as_nanos() as u64;
            self.round_trips.saturating_record(nanoseconds.min(SLOWEST));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(window: usize) -> Load {
        Load {
            payload: 64,
            clients: 1,
            window,
            threads: 1,
            warmup: 0.0,
            seconds: 1.0,
        }
    }

    #[test]
    fn a_message_is_what_the_specification_says() {
        let run = Run::new(&load(300));
        let mut client = Client::new(&run, 7);
        client.begin(Instant::now());
        for (sequence, message) in client.output().chunks_exact(64).enumerate() {
            assert_eq!(&message[..4], b"ANB\0");
            assert_eq!(message[4..8], 7_u32.to_be_bytes());
            assert_eq!(message[8..16], (sequence as u64).to_be_bytes());
            for (i, byte) in message.iter().enumerate().skip(HEADER) {
                assert_eq!(usize::from(*byte), (sequence + 17 * i + 31 * 7) % 256);
            }
        }
    }

    #[test]
    fn an_echo_is_accepted_and_replaced_message_for_message() {
        let run = Run::new(&load(2));
        let (mut client, server) = (Client::new(&run, 0), Server::new(&run));
        client.begin(Instant::now());
        let echo = std::mem::take(client.output());
        assert_eq!(server.turn(&echo), 128);
        assert_eq!(client.turn(&echo[..100], Instant::now()), 64);
        assert_eq!(client.output().len(), 64);
        assert_eq!((run.messages(), run.errors()), (1, 0));
    }

    #[test]
    fn one_wrong_byte_or_one_swapped_pair_is_an_error() {
        for spoil in [
            |echo: &mut [u8]| echo[63] ^= 1,
            |echo: &mut [u8]| echo.rotate_left(64),
        ] {
            let run = Run::new(&load(2));
            let mut client = Client::new(&run, 0);
            client.begin(Instant::now());
            let mut echo = std::mem::take(client.output());
            spoil(&mut echo);
            client.turn(&echo, Instant::now());
            assert!(run.errors() > 0);
        }
    }

    #[test]
    fn the_server_refuses_a_foreign_message() {
        let run = Run::new(&load(1));
        let server = Server::new(&run);
        server.turn(&[0; 64]);
        assert_eq!(run.errors(), 1);
    }

    #[test]
    fn a_stopping_client_sends_nothing_more_and_finishes() {
        let run = Run::new(&load(1));
        let mut client = Client::new(&run, 0);
        client.begin(Instant::now());
        let echo = std::mem::take(client.output());
        run.enter(Phase::Stopping);
        client.turn(&echo, Instant::now());
        assert!(client.output().is_empty() && client.finished());
    }
}
