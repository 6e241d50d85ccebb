//! A whole connection in one engine: what arrives is decoded, what is sent is framed, and everything
//! is told in order.
//!
//! [`Endpoint`] is a [`Session`] and an [`Inbound`] behind the contract of
//! [`engine`](crate::engine). Tests drive two of them with a virtual clock, and so can anyone who has
//! a transport that arknet does not know. The endpoints of arknet itself drive the two parts apart,
//! since a callback borrows its message from one while it sends through the other.

use std::time::{Duration, Instant};
use std::vec;

use bytes::Bytes;

use crate::buf::{Account, Inbound, SendQueue};
use crate::engine::{StreamEngine, Transmit};
use crate::framing::{Decoder, Framing, FramingError};
use crate::session::{self, Cause, Config, Refusal, Session, State};

/// One connection without its transport. `T` is the token of a send that wants to hear of its end.
///
/// Call [`handle_opened`](Self::handle_opened) once the transport is connected, then
/// [`handle_input`](StreamEngine::handle_input) and [`handle_end`](StreamEngine::handle_end) for what
/// it brings, [`handle_timeout`](StreamEngine::handle_timeout) when
/// [`next_deadline`](StreamEngine::next_deadline) has come, and [`handle_fault`](Self::handle_fault)
/// should it break. After each of them and after every command, drain the engine:
///
/// 1. [`poll_event`](StreamEngine::poll_event) until `None`, doing what the events call for;
/// 2. [`poll_transmit`](StreamEngine::poll_transmit) until [`Transmit::Idle`], or until the transport
///    takes no more; then 1 again, since what was handed over completes sends, until neither has more;
/// 3. [`next_deadline`](StreamEngine::next_deadline).
///
/// Do not read on while events are left: messages are decoded as they are polled, so what has been
/// read and not polled is held here. Drained after every read, it holds one unfinished message at most,
/// and that is no larger than the decoder's limit.
///
/// ```
/// use std::time::Instant;
///
/// use arknet_proto::endpoint::{Endpoint, Event};
/// use arknet_proto::engine::{StreamEngine, Transmit};
/// use arknet_proto::framing::{Decoder, Framing};
/// use arknet_proto::session::Config;
///
/// let now = Instant::now();
/// let decoder = Decoder::new(Framing::LengthPrefix, 64 * 1024)?;
/// let mut endpoint = Endpoint::new(Config::default(), decoder, now);
/// endpoint.handle_opened(now);
/// assert_eq!(endpoint.poll_event(), Some(Event::Opened));
///
/// endpoint.send("ping", Some(1))?;
/// let mut wire = Vec::new();
/// assert_eq!(endpoint.poll_transmit(now, 1024, &mut wire), Transmit::Bytes(5));
/// assert_eq!(wire, b"\x04ping");
/// assert_eq!(endpoint.poll_event(), Some(Event::Completed { token: 1, bytes: 4 }));
///
/// endpoint.handle_input(now, b"\x04pong");
/// assert_eq!(endpoint.poll_event(), Some(Event::Message("pong".into())));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Endpoint<T> {
    session: Session<T>,
    inbound: Inbound,
    framing: Framing,
    /// The rule that was broken, where that ended the connection.
    error: Option<FramingError>,
    /// `Ended` has been told.
    end_told: bool,
    /// What the end of the connection left unsent; `None` before.
    lost: Option<Lost>,
    /// Tokens of it that were not told yet.
    abandoned: vec::IntoIter<T>,
    /// The last event, held back until everything else has been told.
    last: Option<Event<T>>,
}

/// What the application is told, in order.
///
/// `Opened` is first, if it comes at all. `Closed` comes exactly once and is last. Every accepted send
/// with a token is told of exactly once before that, in the order of sending: as `Completed`, or as
/// `Abandoned` when the connection ended first.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Event<T> {
    /// The connection is open.
    Opened,
    /// A message has come. It shares the receive buffer: drop it soon, or copy it.
    Message(Bytes),
    /// The send queue, which had refused something, has drained to half.
    Writable,
    /// A send has been handed over whole. Whether the peer has it, only the peer can say.
    Completed {
        /// What the sender gave.
        token: T,
        /// Payload bytes, without the framing's.
        bytes: usize,
    },
    /// A send was accepted, and the connection ended before all of it was handed over.
    Abandoned {
        /// What the sender gave.
        token: T,
    },
    /// The peer has ended its stream between two messages, and all of them were told. This side can
    /// still send; [`close`](Endpoint::close) answers the end.
    Ended,
    /// The connection has ended.
    Closed {
        /// Why. For [`Cause::Fault`], [`Endpoint::error`] has the broken rule, if it was one.
        cause: Cause,
        /// Whether it was cut, before both sides had ended their streams.
        forced: bool,
    },
}

/// Why a message was not accepted. The connection is as it was.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum SendError {
    /// The framing cannot carry the message.
    #[error("send a message: {0}")]
    Framing(#[from] FramingError),
    /// Not connected, or no room.
    #[error("send a message: {0}")]
    Refused(#[from] Refusal),
}

/// What was accepted and never handed over whole. It may count up to a sixteenth of the queue's limits too much, of
/// messages without a token.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Lost {
    /// Payload bytes of those messages.
    pub bytes: usize,
    /// Messages, with a token or without.
    pub messages: usize,
}

impl<T> Endpoint<T> {
    /// A connection that is being made at `now`; both directions are framed as `decoder` says.
    pub fn new(config: Config, decoder: Decoder, now: Instant) -> Self {
        Self {
            session: Session::new(config, now),
            framing: decoder.framing().clone(),
            inbound: Inbound::new(decoder),
            error: None,
            end_told: false,
            lost: None,
            abandoned: Vec::new().into_iter(),
            last: None,
        }
    }

    /// Where it is in its life.
    pub fn state(&self) -> State {
        self.session.state()
    }

    /// What waits to be sent, for looking at.
    pub fn queue(&self) -> &SendQueue<T> {
        self.session.queue()
    }

    /// Whether the peer has ended its stream.
    pub fn peer_has_ended(&self) -> bool {
        self.session.peer_has_ended()
    }

    /// The framing rule that the peer broke, if that is what ended the connection.
    pub fn error(&self) -> Option<&FramingError> {
        self.error.as_ref()
    }

    /// What the end of the connection left unsent; `None` before.
    pub fn lost(&self) -> Option<Lost> {
        self.lost
    }

    /// The transport is connected and its handshakes are done. Bytes that were handed in before are
    /// decoded from now on.
    pub fn handle_opened(&mut self, now: Instant) {
        self.session.handle_opened(now);
    }

    /// The transport broke. Where everything had been sent and only the peer's end was waited for, that
    /// counts as the end, if a rude one.
    pub fn handle_fault(&mut self) {
        if self.state() == State::Draining && self.queue().is_empty() {
            self.session.handle_peer_ended();
            self.session.handle_ended();
        } else {
            self.session.handle_fault();
        }
        self.settle();
    }

    /// Accepts a message, or refuses it and leaves everything as it was.
    ///
    /// # Errors
    ///
    /// [`SendError::Framing`] if the framing cannot carry it, whatever the state; then
    /// [`Refusal::NotConnected`] unless the connection is [`State::Open`]; then [`Refusal::Full`] if it
    /// does not fit the queue, and [`Event::Writable`] follows once half of that is free.
    pub fn send(&mut self, payload: impl Into<Bytes>, token: Option<T>) -> Result<(), SendError> {
        let payload = payload.into();
        let prefix = self.framing.prefix(payload.len())?;
        self.session.admit(payload.len())?;
        let queue = self.session.queue_mut();
        queue.push_bytes(prefix.as_slice(), &payload, Account::Own, token);
        Ok(())
    }

    /// Starts a graceful close: what was accepted is sent, then both directions are ended, and the close
    /// deadline cuts it. What has arrived and what still arrives is dropped. Idempotent.
    pub fn close(&mut self, now: Instant) {
        self.session.close(now);
        self.inbound.discard();
        self.settle();
    }

    /// Ends at once; what waits is given up.
    pub fn abort(&mut self) {
        self.session.abort();
        self.settle();
    }

    /// Changes the silence timeout, counted from `now`. `None` turns it off.
    pub fn set_silence(&mut self, silence: Option<Duration>, now: Instant) {
        self.session.set_silence(silence, now);
    }

    /// Once it has ended, gives up what waited in either direction.
    fn settle(&mut self) {
        if self.state() != State::Closed || self.lost.is_some() {
            return;
        }
        let abandoned = self.session.queue_mut().abandon();
        self.lost = Some(Lost {
            bytes: abandoned.bytes,
            messages: abandoned.operations,
        });
        self.abandoned = abandoned.tokens.into_iter();
        self.inbound.reset();
    }

    fn fail(&mut self, error: FramingError) {
        self.error = Some(error);
        self.session.handle_fault();
        self.settle();
    }

    /// What the session and its queue have to tell.
    fn poll_news(&mut self) -> Option<Event<T>> {
        match self.session.poll_event() {
            Some(session::Event::Opened) => return Some(Event::Opened),
            Some(session::Event::Writable) => return Some(Event::Writable),
            Some(session::Event::Closed { cause, forced }) => {
                self.last = Some(Event::Closed { cause, forced });
            }
            None => {}
        }
        if let Some(done) = self.session.queue_mut().poll_completion() {
            return Some(Event::Completed {
                token: done.token,
                bytes: done.bytes,
            });
        }
        if let Some(token) = self.abandoned.next() {
            return Some(Event::Abandoned { token });
        }
        self.last.take()
    }

    /// What the peer has to tell.
    fn poll_received(&mut self) -> Result<Option<Event<T>>, FramingError> {
        if self.state() != State::Open {
            return Ok(None);
        }
        if let Some(range) = self.inbound.next_message()? {
            return Ok(Some(Event::Message(self.inbound.take(range))));
        }
        if self.end_told || !self.session.peer_has_ended() {
            return Ok(None);
        }
        self.inbound.finish()?;
        self.end_told = true;
        Ok(Some(Event::Ended))
    }
}

impl<T> StreamEngine for Endpoint<T> {
    type Event = Event<T>;

    /// Bytes are dropped while closing, and after the peer's end.
    fn handle_input(&mut self, _: Instant, bytes: &[u8]) {
        if self.session.peer_has_ended() || bytes.is_empty() {
            return;
        }
        self.session.handle_heard();
        if matches!(self.state(), State::Connecting | State::Open) {
            self.inbound.buffer_mut().extend_from_slice(bytes);
        }
    }

    fn handle_end(&mut self, _: Instant) {
        self.session.handle_peer_ended();
        self.settle();
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.session.handle_timeout(now);
        self.settle();
    }

    fn poll_event(&mut self) -> Option<Event<T>> {
        if let Some(news) = self.poll_news() {
            return Some(news);
        }
        match self.poll_received() {
            Ok(received) => received,
            Err(error) => {
                self.fail(error);
                self.poll_news()
            }
        }
    }

    fn poll_transmit(&mut self, _: Instant, room: usize, wire: &mut Vec<u8>) -> Transmit {
        if self.queue().wire_bytes() == 0 {
            // Empty messages without a prefix wait for nothing but their turn.
            self.session.handle_written(0);
        }
        if self.session.wants_end() {
            self.session.handle_ended();
            self.settle();
            return Transmit::End;
        }
        let mut moved = 0;
        while moved < room {
            let front = self.queue().front();
            let count = front.len().min(room - moved);
            if count == 0 {
                break;
            }
            wire.extend_from_slice(front.get(..count).unwrap_or_default());
            self.session.handle_written(count);
            moved += count;
        }
        match moved {
            0 => Transmit::Idle,
            count => Transmit::Bytes(count),
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.session.next_deadline()
    }
}
