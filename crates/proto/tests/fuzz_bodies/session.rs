//! Any order of commands and inputs: a connection goes the way that it may go, tells everything in
//! order and once, and nothing after its end.
//!
//! Input is a byte for the framing, then operations: a byte for the operation, and what it takes. Next to
//! the engine runs a model that knows its promises and none of its workings.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use arknet_proto::buf::SendLimits;
use arknet_proto::endpoint::{Endpoint, Event, SendError};
use arknet_proto::engine::{StreamEngine, Transmit};
use arknet_proto::framing::{Decoder, Framing};
use arknet_proto::session::{Cause, Config, Refusal, State};

use super::Input;

/// Operations that are read from one input.
const MOST_OPERATIONS: usize = 2_000;
const LIMITS: SendLimits = SendLimits {
    bytes: 300,
    operations: 6,
};
const MESSAGE_LIMIT: usize = 400;

/// Runs one input.
pub(crate) fn run(data: &[u8]) {
    let mut input = Input(data);
    let mut pair = Pair::new(input.byte());
    for _ in 0..MOST_OPERATIONS {
        if input.is_empty() {
            break;
        }
        pair.apply(&mut input);
        pair.compare();
    }
    pair.finish();
}

/// The engine and what is known about it.
struct Pair {
    engine: Endpoint<u32>,
    framing: Framing,
    now: Instant,
    state: State,
    /// How the connection ended, as the operation that ended it has it.
    ended: Option<(Cause, bool)>,
    /// The cause of a close under way.
    closing: Cause,
    own_ended: bool,
    peer_ended: bool,
    refused: bool,
    told: Told,
    sent: Sent,
    /// All that arrived while it mattered, and how much of it has been told as messages.
    received: Vec<u8>,
    delivered: usize,
}

#[derive(Default)]
struct Told {
    opened: bool,
    ended: bool,
    closed: bool,
}

/// What was accepted and has not been told of, and the bytes that belong on the wire.
#[derive(Default)]
struct Sent {
    next_token: u32,
    waiting: VecDeque<Send>,
    /// Handed over whole, not told yet.
    completed: VecDeque<(u32, usize)>,
    wire: VecDeque<u8>,
    pushed: usize,
    written: usize,
}

struct Send {
    token: Option<u32>,
    bytes: usize,
    end: usize,
}

impl Pair {
    #[allow(
        clippy::disallowed_methods,
        reason = "an Instant can be had from a clock only"
    )]
    fn new(kind: u8) -> Self {
        let framing = match kind % 4 {
            0 => Framing::LengthPrefix,
            1 => Framing::Raw,
            2 => Framing::delimited("\n").unwrap(),
            _ => Framing::big_endian(2, 200).unwrap(),
        };
        let config = Config {
            send: LIMITS,
            silence: Some(Duration::from_millis(160)),
            close: Duration::from_millis(70),
            connect: Duration::from_millis(50),
        };
        let now = Instant::now();
        let decoder = Decoder::new(framing.clone(), MESSAGE_LIMIT).unwrap();
        Self {
            engine: Endpoint::new(config, decoder, now),
            framing,
            now,
            state: State::Connecting,
            ended: None,
            closing: Cause::Local,
            own_ended: false,
            peer_ended: false,
            refused: false,
            told: Told::default(),
            sent: Sent::default(),
            received: Vec::new(),
            delivered: 0,
        }
    }

    fn apply(&mut self, input: &mut Input<'_>) {
        match input.byte() % 16 {
            0 => self.open(),
            1..=3 => self.send(usize::from(input.byte()), input.byte()),
            4 | 5 => {
                let count = usize::from(input.byte());
                self.receive(input.take(count));
            }
            6 => self.receive_message(usize::from(input.byte()) % 150),
            7 => self.end(),
            8 | 9 => self.pass(Duration::from_millis(u64::from(input.byte()))),
            10 => {
                for _ in 0..input.byte() % 8 {
                    self.poll_event();
                }
            }
            11 => while self.poll_event() {},
            12 | 13 => self.transmit(usize::from(input.byte())),
            14 => self.set_silence(input.byte()),
            _ => match input.byte() % 8 {
                0 => self.abort(),
                1 => self.fault(),
                _ => self.close(),
            },
        }
    }

    fn open(&mut self) {
        self.engine.handle_opened(self.now);
        if self.state == State::Connecting {
            self.state = State::Open;
        }
    }

    fn send(&mut self, bytes: usize, with: u8) {
        let sent = &mut self.sent;
        let token = with.is_multiple_of(2).then_some(sent.next_token);
        let payload = vec![with; bytes];
        let accepted = self.engine.send(payload.clone(), token);
        let prefix = match self.framing.prefix(bytes) {
            Ok(prefix) => prefix,
            Err(rule) => return assert_eq!(accepted, Err(SendError::Framing(rule))),
        };
        if self.state != State::Open {
            let refused = SendError::Refused(Refusal::NotConnected);
            return assert_eq!(accepted, Err(refused));
        }
        let fits = sent.bytes() + bytes <= LIMITS.bytes && sent.waiting.len() < LIMITS.operations;
        if !fits {
            let full = matches!(accepted, Err(SendError::Refused(Refusal::Full(_))));
            assert!(full, "{accepted:?}");
            self.refused = true;
            return;
        }
        assert_eq!(accepted, Ok(()));
        sent.next_token += 1;
        sent.wire.extend(prefix.as_slice());
        sent.wire.extend(payload);
        sent.pushed += prefix.as_slice().len() + bytes;
        sent.waiting.push_back(Send {
            token,
            bytes,
            end: sent.pushed,
        });
    }

    fn receive(&mut self, bytes: &[u8]) {
        self.engine.handle_input(self.now, bytes);
        let matters = matches!(self.state, State::Connecting | State::Open);
        if matters && !self.peer_ended {
            self.received.extend_from_slice(bytes);
        }
    }

    fn receive_message(&mut self, length: usize) {
        let mut bytes = self.framing.prefix(length).unwrap().as_slice().to_vec();
        bytes.resize(bytes.len() + length, b'm');
        if matches!(self.framing, Framing::Delimited(_)) {
            bytes.push(b'\n');
        }
        self.receive(&bytes);
    }

    fn end(&mut self) {
        self.engine.handle_end(self.now);
        self.peer_ended = true;
        self.end_if_both_have();
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
        let due = self.engine.next_deadline().is_some_and(|at| at <= self.now);
        self.engine.handle_timeout(self.now);
        let closed = self.engine.state() == State::Closed;
        assert!(due || !closed || self.state == State::Closed, "early");
        self.may_have_ended(match self.state {
            State::Connecting => (Cause::ConnectTimeout, false),
            State::Open => (Cause::Silence, false),
            State::Draining | State::Closed => (self.closing, true),
        });
        let next = self.engine.next_deadline();
        assert!(next.is_none_or(|next| next > self.now), "met and still due");
    }

    fn set_silence(&mut self, millis: u8) {
        let silence = (millis > 0).then(|| Duration::from_millis(millis.into()));
        self.engine.set_silence(silence, self.now);
    }

    fn close(&mut self) {
        self.engine.close(self.now);
        match self.state {
            State::Connecting => self.end_as((Cause::Local, false)),
            State::Open => {
                self.state = State::Draining;
                self.closing = if self.peer_ended {
                    Cause::Peer
                } else {
                    Cause::Local
                };
            }
            State::Draining | State::Closed => {}
        }
    }

    fn abort(&mut self) {
        self.engine.abort();
        self.end_as((Cause::Aborted, true));
    }

    fn fault(&mut self) {
        self.engine.handle_fault();
        if self.state == State::Draining && self.sent.waiting.is_empty() {
            self.end_as((self.closing, false));
        } else {
            self.end_as((Cause::Fault, false));
        }
    }

    /// The operation ends the connection, unless it had ended.
    fn end_as(&mut self, how: (Cause, bool)) {
        if self.state != State::Closed {
            self.state = State::Closed;
            self.ended = Some(how);
        }
    }

    fn end_if_both_have(&mut self) {
        if self.state == State::Draining && self.own_ended && self.peer_ended {
            self.end_as((self.closing, false));
        }
    }

    fn may_have_ended(&mut self, how: (Cause, bool)) {
        if self.engine.state() == State::Closed {
            self.end_as(how);
        }
    }

    fn transmit(&mut self, room: usize) {
        let mut wire = b"before".to_vec();
        let transmit = self.engine.poll_transmit(self.now, room, &mut wire);
        let appended = wire.split_off(6);
        assert_eq!(wire, b"before");
        match transmit {
            Transmit::Bytes(count) => {
                assert_eq!(count, appended.len());
                assert!(0 < count && count <= room && self.state != State::Closed);
                let expected: Vec<u8> = self.sent.wire.drain(..count).collect();
                assert_eq!(appended, expected);
                self.sent.written += count;
                self.sent.complete();
            }
            Transmit::End => {
                self.sent.complete();
                assert!(appended.is_empty() && self.sent.waiting.is_empty());
                assert!(self.state == State::Draining && !self.own_ended);
                self.own_ended = true;
                self.end_if_both_have();
            }
            Transmit::Idle => {
                assert!(appended.is_empty());
                let stuck = self.state != State::Closed && room > 0 && !self.sent.wire.is_empty();
                assert!(!stuck, "bytes wait and there is room");
                // Empty messages complete when their turn comes, and with nothing behind them it has.
                if self.state != State::Closed && self.sent.wire.is_empty() {
                    self.sent.complete();
                }
            }
        }
    }

    /// Checks one event; whether there was one.
    fn poll_event(&mut self) -> bool {
        let event = self.engine.poll_event();
        if self.state == State::Open && self.engine.state() == State::Closed {
            assert!(
                self.engine.error().is_some(),
                "only a broken rule ends it here"
            );
            self.end_as((Cause::Fault, false));
        }
        let Some(event) = event else {
            let idle = self.told.closed == (self.state == State::Closed);
            assert!(idle, "the end is told");
            return false;
        };
        assert!(!self.told.closed, "{event:?} after the end");
        match event {
            Event::Opened => {
                assert!(!self.told.opened && self.state != State::Connecting);
                self.told.opened = true;
            }
            Event::Message(message) => self.message(&message),
            Event::Writable => {
                assert!(std::mem::take(&mut self.refused) && self.state == State::Open);
                assert!(self.engine.queue().is_half_empty());
            }
            Event::Completed { token, bytes } => {
                assert_eq!(self.sent.completed.pop_front(), Some((token, bytes)));
            }
            Event::Abandoned { token } => {
                assert!(self.sent.completed.is_empty() && self.state == State::Closed);
                assert_eq!(self.sent.next_abandoned(), Some(token));
            }
            Event::Ended => {
                assert!(self.peer_ended && self.state == State::Open && !self.told.ended);
                assert_eq!(self.delivered, self.received.len());
                self.told.ended = true;
            }
            Event::Closed { cause, forced } => {
                assert_eq!(self.ended, Some((cause, forced)));
                assert!(self.sent.completed.is_empty());
                assert_eq!(self.sent.next_abandoned(), None);
                self.told.closed = true;
            }
        }
        true
    }

    fn message(&mut self, message: &[u8]) {
        assert!(self.state == State::Open && self.told.opened && !self.told.ended);
        let rest = self.received.get(self.delivered..).unwrap();
        if matches!(self.framing, Framing::Raw) {
            assert!(!message.is_empty() && rest.starts_with(message));
            self.delivered += message.len();
            return;
        }
        let mut decoder = Decoder::new(self.framing.clone(), MESSAGE_LIMIT).unwrap();
        let frame = decoder.decode(rest).unwrap().unwrap();
        assert_eq!(frame.payload(rest), message);
        self.delivered += frame.consumed;
    }

    fn compare(&self) {
        let engine = &self.engine;
        assert_eq!(engine.state(), self.state);
        assert_eq!(engine.lost().is_some(), self.state == State::Closed);
        match self.state {
            State::Closed => {
                assert_eq!(engine.next_deadline(), None);
                assert!(engine.queue().is_empty() && engine.queue().wire_bytes() == 0);
            }
            State::Connecting | State::Draining => assert!(engine.next_deadline().is_some()),
            State::Open => {}
        }
        if self.state != State::Closed {
            assert_eq!(engine.queue().wire_bytes(), self.sent.wire.len());
            assert_eq!(engine.queue().bytes(), self.sent.bytes());
            assert_eq!(engine.queue().operations(), self.sent.waiting.len());
        }
    }

    /// Whatever was going on, it ends, and then nothing happens any more.
    fn finish(mut self) {
        self.abort();
        while self.poll_event() {}
        assert!(self.told.closed);
        for _ in 0..2 {
            self.open();
            self.send(1, 0);
            self.receive_message(1);
            self.end();
            self.pass(Duration::from_secs(100));
            self.transmit(100);
            self.close();
            self.fault();
            self.abort();
            assert!(!self.poll_event());
            self.compare();
        }
    }
}

impl Sent {
    fn bytes(&self) -> usize {
        self.waiting.iter().map(|send| send.bytes).sum()
    }

    fn complete(&mut self) {
        while let Some(send) = self.waiting.pop_front_if(|send| send.end <= self.written) {
            self.completed
                .extend(send.token.map(|token| (token, send.bytes)));
        }
    }

    fn next_abandoned(&mut self) -> Option<u32> {
        std::iter::from_fn(|| self.waiting.pop_front()).find_map(|send| send.token)
    }
}
