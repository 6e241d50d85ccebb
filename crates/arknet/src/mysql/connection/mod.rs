//! One connection, used by whoever holds it: bytes go straight from the caller's task to the socket and back, without a task
//! in between.
//!
//! Requests and answers are kept apart by [`Flight`]: an answer belongs to the caller who waits, to nobody (its caller has
//! given up), or to a reset. So a caller never sees another's answer, whatever became of those before.

mod answers;
mod compressed;
mod encode;
mod flight;
mod idle;
mod kill;
mod login;
mod run;
mod statements;
mod undo;
mod upload;

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use arknet_proto::mysql::answer::{Conversation, Event};
use arknet_proto::mysql::handshake::Established;
use arknet_proto::mysql::row::Row;
use arknet_proto::mysql::{Capabilities, ProtocolError, ServerError, Status};
use bytes::{Buf, BytesMut};

use self::compressed::Compressed;
use self::flight::{Flight, Owner};
pub(super) use self::run::{Limit, Running};
use self::statements::Statements;
use self::undo::Left;
pub(super) use self::undo::undoing;
use self::upload::Upload;
use super::Error;
use super::incoming::{Broken, Incoming, Session};
use super::node::Node;
use crate::drive::stream::{self, Outgoing, READS_PER_TURN};
use crate::error::Outcome;
use crate::link::{Timer, Transport, TransportError, Wire};

/// `ER_SP_DOES_NOT_EXIST`, which savepoints have in common with procedures.
const NO_SAVEPOINT: u16 = 1305;

/// A session with a server. See the [module](self).
#[derive(Debug)]
pub(super) struct Connection {
    node: Arc<Node>,
    transport: Transport,
    timer: Timer,
    compressed: Option<Box<Compressed>>,
    wire: Wire,
    /// What has arrived.
    incoming: BytesMut,
    /// How much of it has been taken.
    at: usize,
    conversation: Conversation,
    flight: Flight,
    statements: Statements,
    /// Prepared statements that the server is to forget with the next request.
    closes: Vec<u32>,
    is_mariadb: bool,
    /// What the server calls it, if that was asked for: somebody may be told to end what it does.
    number: Option<u64>,
    /// Whether the server prepares and executes in one flight.
    prepares_at_once: bool,
    /// Whether the server remembers a statement as the one that was prepared last.
    has_last_statement: bool,
    session: Session,
    transaction: Left,
    /// Contents that the server is being sent.
    upload: Option<Upload>,
    /// Whether the session may not be as it began.
    dirty: bool,
    /// Answers to nobody are read until then, and so many bytes of them.
    drain: Option<Drain>,
    /// Why the connection is of no use any more.
    failure: Option<Error>,
    /// Whether it is for nobody but its present user.
    ends_with_lease: bool,
    /// Whether it ends in good order.
    says_goodbye: bool,
}

/// What is left for the reading of answers that nobody wants.
#[derive(Clone, Copy, Debug)]
struct Drain {
    until: Instant,
    bytes: usize,
}

impl Connection {
    fn new(node: Arc<Node>, transport: Transport, timer: Timer, established: &Established) -> Self {
        let (limits, server) = (node.limits, &established.server);
        let compresses = established.capabilities.contains(Capabilities::COMPRESS);
        Self {
            transport,
            timer,
            compressed: compresses.then(|| Box::new(Compressed::new(&limits))),
            wire: Wire::default(),
            incoming: BytesMut::new(),
            at: 0,
            conversation: Conversation::after(established, limits),
            flight: Flight::default(),
            statements: Statements::new(node.statements),
            closes: Vec::new(),
            is_mariadb: server.is_mariadb,
            number: None,
            // It came with this one.
            prepares_at_once: server.capabilities.contains(Capabilities::MARIADB_BULK),
            has_last_statement: false,
            session: Session::default(),
            transaction: Left::default(),
            upload: None,
            dirty: false,
            drain: None,
            failure: None,
            ends_with_lease: false,
            says_goodbye: false,
            node,
        }
    }

    pub(super) fn node(&self) -> &Arc<Node> {
        &self.node
    }

    /// Whether the session may not be as it began.
    pub(super) fn is_dirty(&self) -> bool {
        self.dirty || self.is_in_transaction()
    }

    /// Whether a transaction is open, as of the last answer.
    pub(super) fn is_in_transaction(&self) -> bool {
        self.conversation.status().contains(Status::IN_TRANSACTION)
    }

    /// What the server has said of itself with the last answer.
    pub(super) fn status(&self) -> Status {
        self.conversation.status()
    }

    /// Says goodbye, then ends the stream.
    pub(super) fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.failure.is_none() {
            let request = arknet_proto::mysql::command::quit(self.wire.end_mut());
            self.flight.push(request, Owner::Nobody);
            self.failure = Some(Error::Closed);
            self.says_goodbye = true;
        }
        // What still waits on one that has failed was said not to be sent.
        if !self.says_goodbye {
            return Poll::Ready(());
        }
        if self.poll_flush(cx).is_pending() {
            return Poll::Pending;
        }
        self.transport.poll_end(cx).map(drop)
    }

    /// [`poll_end`](Self::poll_end), given up at `until`.
    pub(super) fn poll_end_by(&mut self, cx: &mut Context<'_>, until: Instant) -> Poll<()> {
        match self.poll_end(cx) {
            Poll::Pending => self.timer.poll(cx, until).map(drop),
            ended => ended,
        }
    }

    /// Hands over what waits. Ready when nothing does.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        let before = self.wire.waiting();
        if let Some(compressed) = &mut self.compressed {
            // What was compressed goes out, whatever happens.
            compressed.wrap(&mut self.wire);
            self.flight.hand_over(before, 0, &mut self.conversation);
            return compressed.poll_flush(cx, &mut self.transport);
        }
        if before == 0 && !self.transport.has_own_bytes() {
            return Poll::Ready(Ok(()));
        }
        let flushed = self.transport.poll_flush(cx, &mut self.wire);
        let handed_over = before - self.wire.waiting();
        self.flight.hand_over(
            handed_over,
            self.transport.committed(),
            &mut self.conversation,
        );
        flushed
    }

    /// Sends and reads until the caller has what he wants, or `wanted` says otherwise. Reads go on while a write waits: a
    /// server that does not read until its answers are read would never read again.
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
                Poll::Ready(Ok(())) if self.upload.is_some() => {
                    self.fill()?;
                    cx.waker().wake_by_ref();
                    None
                }
                _ => None,
            };
            match (self.poll_receive(cx), write_failure) {
                (Poll::Ready(Ok(bytes @ 1..)), _) => self.spend_drain(bytes)?,
                (_, Some(error)) => return Poll::Ready(Err(self.node.transport_failed(error))),
                (Poll::Ready(Err(error)), None) => return Poll::Ready(Err(error)),
                (Poll::Ready(Ok(0)), None) => {
                    let ended = io::Error::new(
                        io::ErrorKind::UnexpectedEof,
                        "the server has closed the connection",
                    );
                    return Poll::Ready(Err(self.node.lost(ended)));
                }
                (Poll::Pending, None) => return Poll::Pending,
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Reads what has arrived; 0 is the end of the stream. Without anything, an empty buffer goes back to its pool.
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<usize, Error>> {
        let received = match &mut self.compressed {
            Some(compressed) => {
                compressed.poll_receive(cx, &self.node, &mut self.transport, &mut self.incoming)
            }
            None => {
                let received = self.transport.poll_receive(cx, &mut self.incoming);
                received.map_err(|error| self.node.transport_failed(error))
            }
        };
        if received.is_pending() && self.incoming.is_empty() {
            stream::rest(&mut self.incoming);
        }
        received
    }

    /// What has come, for whoever it belongs to.
    #[inline]
    fn split(&mut self) -> Incoming<'_> {
        Incoming {
            conversation: &mut self.conversation,
            buffer: &self.incoming,
            at: &mut self.at,
            session: &mut self.session,
            max_result: self.node.max_result,
        }
    }

    /// Takes what has come of the next answer, which is not the caller's; says whether it has ended.
    #[cold]
    fn take_other(&mut self, owner: Owner) -> Result<bool, Error> {
        let ended = self.drain_answer();
        let ended = ended.map_err(|broken| self.broke(broken))?;
        let result = match ended {
            None => return Ok(false),
            Some(result) => result,
        };
        self.flight.pop();
        if let (Owner::Nobody, Err(error)) = (owner, &result) {
            self.note_error(error);
        }
        match (owner, result) {
            (Owner::Reset, Err(error)) => Err(self.node.reset_failed(&error)),
            (Owner::Reset, Ok(_)) => {
                self.node.note_reset();
                Ok(true)
            }
            // A savepoint that was never set has nothing behind it.
            (Owner::Undo, Err(error)) if error.code() != NO_SAVEPOINT => {
                Err(self.node.undo_failed(&error))
            }
            (_, Ok(Some(statement))) => {
                self.closes.push(statement);
                Ok(true)
            }
            _ => Ok(true),
        }
    }

    /// Reads an answer that nobody wants, as far as it has come. At its end: the statement that was prepared, if one was, or
    /// what the server had against it.
    fn drain_answer(&mut self) -> Result<Option<Result<Option<u32>, ServerError>>, Broken> {
        let mut incoming = self.split();
        loop {
            while incoming.next_row()?.is_some() {}
            match incoming.next()? {
                None => return Ok(None),
                Some(Event::Prepared(prepared)) => return Ok(Some(Ok(Some(prepared.id())))),
                Some(Event::Error(error)) => return Ok(Some(Err(error))),
                Some(Event::Ok(ok)) if !ok.has_more() => return Ok(Some(Ok(None))),
                Some(Event::LocalInfile(_)) => return Err(Broken::NoFile),
                Some(_) => {}
            }
        }
    }

    /// Takes what has come although nothing was asked. It is never good.
    #[cold]
    fn take_unasked(&mut self) -> Result<(), Error> {
        let said = match self.split().next() {
            Ok(None) => return Ok(()),
            Ok(Some(Event::Farewell(error))) => Ok(error),
            Ok(Some(_)) => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the server sent an answer that was not asked for",
            )),
            Err(error) => return Err(self.node.broke_protocol(error)),
        };
        Err(match said {
            Ok(error) => self.node.dismissed(&error),
            Err(error) => self.node.lost(error),
        })
    }

    /// Forgets what was taken. What is left waits for the rest of it.
    #[inline]
    fn forget_taken(&mut self) {
        if self.at == self.incoming.len() {
            // An advance would leave a buffer with less room than a read wants.
            self.incoming.clear();
        } else {
            self.incoming.advance(self.at);
        }
        self.at = 0;
    }

    #[cold]
    fn broke(&self, broken: Broken) -> Error {
        match broken {
            Broken::Protocol(error) => self.node.broke_protocol(error),
            Broken::Row(error) => self.node.lost(io::Error::new(
                io::ErrorKind::InvalidData,
                error.to_string(),
            )),
            Broken::TooLarge => Error::ResultTooLarge {
                limit: self.node.max_result,
                outcome: Outcome::Unknown,
            },
            Broken::NoFile => self.node.lost(io::Error::new(
                io::ErrorKind::Unsupported,
                "the server asked for a file, and the request has none",
            )),
        }
    }

    /// The next row of the caller's answer, if it has come.
    #[inline]
    pub(super) fn next_row(&mut self) -> Result<Option<Row<'_>>, ProtocolError> {
        self.conversation.next_row(&self.incoming, &mut self.at)
    }

    /// The row that was taken last.
    pub(super) fn last_row(&self) -> Row<'_> {
        self.conversation.last_row(&self.incoming)
    }

    /// It is of no use any more.
    pub(super) fn fail(&mut self, error: Error) {
        self.failure.get_or_insert(error);
    }
}
