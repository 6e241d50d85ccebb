//! One connection of a pool, used by whoever holds its lease: bytes go straight from the caller's task to the socket and
//! back, without a task in between.
//!
//! Requests and replies are kept apart by [`InFlight`]: a reply belongs to the caller who waits, to nobody (its caller has
//! given up), or to a reset. So a caller never sees another's reply, whatever became of those before.

mod idle;
mod login;
mod run;

use std::io;
use std::ops::Range;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};
use std::time::Instant;

use arknet_proto::redis::exchange::{Answered, Dirt, InFlight, Resetting, Speaks};
use arknet_proto::redis::{Command, Effects, Frame, FrameKind, Reply, Scanner};
use bytes::{Buf, BytesMut};

pub(super) use self::run::{Limit, Running};
use super::Error;
use super::node::Node;
use super::transaction::MULTI;
use crate::drive::stream::{self, Outgoing, READS_PER_TURN};
use crate::link::{Timer, Transport, TransportError, Wire};

/// Where replies lie is kept for so many; a larger pipeline allocates.
const FRAMES_KEPT: usize = 1024;

/// Bytes of a `MULTI`.
static MULTI_LEN: LazyLock<usize> = LazyLock::new(|| Command::new(MULTI).wire_len());

/// To whom a reply belongs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Owner {
    /// To who is waiting.
    Caller,
    /// To a caller who has given up.
    Nobody,
    /// To the reset of the session.
    Reset,
}

/// A session with a server. See the [module](self).
#[derive(Debug)]
pub(super) struct Connection {
    node: Arc<Node>,
    transport: Transport,
    timer: Timer,
    /// `None` until the session has begun.
    speaks: Option<Speaks>,
    wire: Wire,
    /// What has arrived: replies of the caller that has not got them yet, then what is to be scanned.
    incoming: BytesMut,
    /// Where the reply that is being scanned begins.
    at: usize,
    scanner: Scanner,
    in_flight: InFlight<Owner>,
    /// Where the caller's replies lie.
    frames: Vec<Range<usize>>,
    dirt: Dirt,
    /// What the caller's batch does to the session.
    effects: Effects,
    /// How far the oldest reset is that has not been answered.
    resetting: Resetting,
    /// Replies to nobody are read until then, and so many bytes of them.
    drain: Option<Drain>,
    /// Why the connection is of no use any more.
    failure: Option<Error>,
    /// Why it must not be used again, although replies come.
    end: Option<End>,
    /// The user has left a transaction, which is to be ended before anything else.
    leaves_transaction: bool,
    /// The server has accepted a `MULTI` of this user on this connection.
    accepts_multi: bool,
}

/// What is left for the reading of replies that nobody wants.
#[derive(Clone, Copy, Debug)]
struct Drain {
    until: Instant,
    bytes: usize,
}

/// Why a connection is not used for other requests.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum End {
    /// For nobody at all: what comes cannot be told apart, or may be long in coming.
    Now,
    /// For nobody but its present user.
    WithLease,
}

impl Connection {
    fn new(node: Arc<Node>, transport: Transport, timer: Timer, incoming: BytesMut) -> Self {
        Self {
            scanner: Scanner::new(node.limits),
            node,
            transport,
            timer,
            speaks: None,
            wire: Wire::default(),
            incoming,
            at: 0,
            in_flight: InFlight::new(),
            frames: Vec::new(),
            dirt: Dirt::CLEAN,
            effects: Effects::NONE,
            resetting: Resetting::default(),
            drain: None,
            failure: None,
            end: None,
            leaves_transaction: false,
            accepts_multi: false,
        }
    }

    pub(super) fn node(&self) -> &Arc<Node> {
        &self.node
    }

    fn speaks(&self) -> Speaks {
        self.speaks.unwrap_or(Speaks::Resp2)
    }

    pub(super) fn dirt(&self) -> Dirt {
        self.dirt
    }

    /// Says goodbye: the end of the stream, with TLS's own word for it.
    pub(super) fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.transport.poll_end(cx).map(drop)
    }

    /// Hands over what waits. Ready when nothing does.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        let before = self.wire.waiting();
        if before == 0 && !self.transport.has_own_bytes() {
            return Poll::Ready(Ok(()));
        }
        let flushed = self.transport.poll_flush(cx, &mut self.wire);
        let written = before - self.wire.waiting();
        self.in_flight.handle_written(written);
        self.node.meters.sent.add(written);
        flushed
    }

    /// Sends and reads until the caller has its replies, or `wanted` says otherwise. Reads go on while a write waits: a
    /// server that does not read until its replies are read would never read again.
    fn poll_exchange(
        &mut self,
        cx: &mut Context<'_>,
        mut wanted: impl FnMut(&mut Self) -> Result<bool, Error>,
    ) -> Poll<Result<(), Error>> {
        for _ in 0..READS_PER_TURN {
            if wanted(self)? {
                return Poll::Ready(Ok(()));
            }
            // What the server said before it hung up is worth more than that it did.
            let write_failure = match self.poll_flush(cx) {
                Poll::Ready(Err(error)) => Some(error),
                _ => None,
            };
            match (self.poll_receive(cx), write_failure) {
                (Poll::Ready(Ok(bytes @ 1..)), _) => self.spend_drain(bytes)?,
                (_, Some(error)) | (Poll::Ready(Err(error)), _) => {
                    return Poll::Ready(Err(self.failed(error)));
                }
                (Poll::Ready(Ok(0)), None) => {
                    let ended = io::Error::new(
                        io::ErrorKind::UnexpectedEof,
                        "the server has closed the connection",
                    );
                    return Poll::Ready(Err(self.failed(ended.into())));
                }
                (Poll::Pending, None) => return Poll::Pending,
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn failed(&self, error: TransportError) -> Error {
        match self.speaks {
            Some(_) => self.node.transport_failed(error),
            None => self.node.handshake_failed(error),
        }
    }

    /// Reads what has arrived; 0 is the end of the stream. Without anything, an empty buffer goes back to its pool.
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<usize, TransportError>> {
        let received = self.transport.poll_receive(cx, &mut self.incoming);
        if let Poll::Ready(Ok(bytes)) = received {
            self.node.meters.received.add(bytes);
        }
        if received.is_pending() && self.incoming.is_empty() {
            stream::rest(&mut self.incoming);
        }
        received
    }

    /// Takes the replies that have arrived, up to the last one of the caller's; says whether that has come.
    fn take_replies(&mut self) -> Result<bool, Error> {
        while let Some(received) = self.incoming.get(self.at..) {
            if received.is_empty() {
                break;
            }
            let scanned = self.scanner.scan(received);
            let Some(frame) = scanned.map_err(|error| self.node.broke_protocol(error))? else {
                break;
            };
            if self.take(frame)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes a frame; says whether it was the last one of the caller's.
    fn take(&mut self, frame: Frame) -> Result<bool, Error> {
        let range = self.at..self.at + frame.len;
        let bytes = self.incoming.get(range.clone()).unwrap_or_default();
        match self.in_flight.front() {
            Some(Owner::Caller)
                if frame.kind == FrameKind::Push && !self.is_confirmed_by(bytes) =>
            {
                self.at = range.end;
                Ok(false)
            }
            Some(Owner::Caller) => {
                self.node.meters.replies.add(1);
                if frame.kind == FrameKind::Error {
                    self.note_error(range.clone());
                }
                if let Some(held) = self.wire.held() {
                    self.answer_multi(frame.kind, held);
                }
                self.at = range.end;
                self.frames.push(range);
                Ok(matches!(
                    self.in_flight.handle_reply(),
                    Some(Answered::Whole(_))
                ))
            }
            Some(Owner::Reset) => {
                let flight = self.node.flight(self.speaks());
                let done = self.resetting.handle_frame(flight, frame.kind, bytes);
                if done.map_err(|error| self.node.reset_failed(error))? {
                    self.in_flight.handle_reply();
                    self.resetting = Resetting::default();
                }
                self.skip(frame.len);
                Ok(false)
            }
            Some(Owner::Nobody) => {
                if frame.kind != FrameKind::Push {
                    self.node.meters.replies.add(1);
                    self.in_flight.handle_reply();
                }
                self.skip(frame.len);
                Ok(false)
            }
            // A session that has subscribed to something is sent it between requests, too.
            None if frame.kind == FrameKind::Push && !self.dirt.is_clean() => {
                self.skip(frame.len);
                Ok(false)
            }
            None => Err(self.unasked()),
        }
    }

    /// Takes what has arrived while its user waited for nothing: the server may push whenever it likes, but not reply.
    fn take_pushes(&mut self) -> Result<(), Error> {
        loop {
            let received = self.incoming.get(self.at..).unwrap_or_default();
            if received.is_empty() {
                return Ok(());
            }
            let scanned = self.scanner.scan(received);
            match scanned.map_err(|error| self.node.broke_protocol(error))? {
                Some(frame) if frame.kind == FrameKind::Push => self.skip(frame.len),
                Some(_) => return Err(self.unasked()),
                None => return Ok(()),
            }
        }
    }

    fn unasked(&self) -> Error {
        self.node.lost(io::Error::new(
            io::ErrorKind::InvalidData,
            "the server sent a reply that was not asked for",
        ))
    }

    /// Forgets a frame that nobody gets.
    fn skip(&mut self, len: usize) {
        if self.frames.is_empty() {
            self.incoming.advance(self.at + len);
            self.at = 0;
        } else {
            self.at += len;
        }
    }

    /// Whether this push is the confirmation that the caller's `SUBSCRIBE` is answered with in RESP3.
    fn is_confirmed_by(&self, push: &[u8]) -> bool {
        if !self.effects.subscribes() {
            return false;
        }
        let Ok(Reply::Push(mut elements)) = Reply::parse(push) else {
            return false;
        };
        matches!(
            elements.next(),
            Some(Reply::Bulk(kind) | Reply::Simple(kind)) if kind.ends_with(b"subscribe")
        )
    }

    /// The server has answered the `MULTI` that the rest of the batch has waited for.
    #[cold]
    fn answer_multi(&mut self, answer: FrameKind, held: usize) {
        if answer != FrameKind::Error {
            self.accepts_multi = true;
            return self.wire.release();
        }
        // The rest would be carried out command by command.
        self.wire.truncate(held);
        self.in_flight.cut(1, *MULTI_LEN);
        // Nor has it forgotten the keys that were watched for it.
        self.dirt.note(Effects::WATCHES);
    }

    /// Learns from an error reply of the caller's.
    #[cold]
    fn note_error(&mut self, range: Range<usize>) {
        self.node.meters.errors.add(1);
        let error = self.incoming.get(range).unwrap_or_default();
        // The server is not the primary any more: the name may lead to another one by now.
        if error.starts_with(b"-READONLY ") && self.end.is_none() {
            self.end = Some(End::WithLease);
        }
        // A transaction whose end was refused is still open.
        if refuses_multi(error) {
            self.accepts_multi = false;
        }
        if self.effects != Effects::NONE || error.starts_with(b"-NOPERM ") {
            self.dirt.note_unknown();
        }
    }

    /// It is of no use any more.
    pub(super) fn fail(&mut self, error: Error) {
        self.failure.get_or_insert(error);
    }

    /// Forgets what was read of the caller's replies.
    fn forget_replies(&mut self) {
        self.frames.clear();
        if self.frames.capacity() > FRAMES_KEPT {
            self.frames = Vec::new();
        }
        if self.at == self.incoming.len() {
            // An advance would leave a buffer with less room than a read wants.
            self.incoming.clear();
            stream::rest(&mut self.incoming);
        } else {
            self.incoming.advance(self.at);
        }
        self.at = 0;
    }
}

/// Whether an error reply may have been one to a `MULTI`: the right to it, or the command itself, is not there any more.
pub(super) fn refuses_multi(error: &[u8]) -> bool {
    const SAID: [&[u8]; 3] = [b"-NOPERM ", b"-NOAUTH ", b"-ERR unknown command"];
    SAID.iter().any(|said| error.starts_with(said))
}
