//! A client's connection: what came, what is to be written, and what holds it up.

use std::io;
use std::time::Instant;

use arknet_proto::redis::server::{ReplyWriter, RequestDecoder, RequestLimits};

use super::session::Session;
use super::wire::{Taken, Wire};

/// One read.
const READ_BYTES: usize = 64 * 1024;

/// What a client may have unread before its next command waits.
const BACKPRESSURE: usize = 1024 * 1024;

/// What a client may have unread of messages before it is closed, as Redis closes subscribers that are
/// too slow.
const MAX_UNREAD: usize = 64 * 1024 * 1024;

/// What is read of a client whose commands wait: enough to notice its end behind a few more.
const MAX_WAITING_INPUT: usize = 1024 * 1024;

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) session: Session,
    /// The number of the connection, from 0.
    pub(super) index: usize,
    pub(super) wire: Wire,
    pub(super) decoder: RequestDecoder,
    pub(super) input: Vec<u8>,
    pub(super) output: Vec<u8>,
    /// Bytes of `output` that have been written.
    sent: usize,
    /// From this byte of `output` on, nothing is written before that moment.
    held: Option<(usize, Instant)>,
    /// The system may have something to read, as of its last event.
    pub(super) readable: bool,
    /// Commands that have come may be left, which had to wait.
    pub(super) stopped: bool,
    /// Closed without another byte.
    dead: bool,
}

impl Connection {
    pub(super) fn new(session: Session, index: usize, wire: Wire, limits: RequestLimits) -> Self {
        Self {
            session,
            index,
            wire,
            decoder: RequestDecoder::new(limits),
            input: Vec::new(),
            output: Vec::new(),
            sent: 0,
            held: None,
            readable: true,
            stopped: false,
            dead: false,
        }
    }

    /// Writes for the client, in the version that it speaks. One that does not read is given up.
    pub(super) fn writer(&mut self) -> ReplyWriter<'_> {
        if self.unsent() > MAX_UNREAD {
            self.dead = true;
        }
        ReplyWriter::new(self.session.version, &mut self.output)
    }

    /// Closes it without another byte.
    pub(super) fn kill(&mut self) {
        self.dead = true;
    }

    pub(super) fn is_dead(&self) -> bool {
        self.dead
    }

    /// Whether the next command has to wait.
    pub(super) fn is_halted(&self) -> bool {
        self.session.blocked.is_some()
            || self.held.is_some()
            || self.session.closing
            || self.unsent() > BACKPRESSURE
    }

    /// Holds back what `output` has from `from` on.
    pub(super) fn hold(&mut self, from: usize, until: Instant) {
        self.held = Some((from, until));
    }

    /// Ends what has lasted long enough.
    pub(super) fn look_at_the_clock(&mut self, now: Instant) {
        if self.held.is_some_and(|(_, until)| until <= now) {
            self.held = None;
        }
        let blocked = self.session.blocked.as_ref();
        if blocked
            .and_then(|blocked| blocked.until)
            .is_some_and(|until| until <= now)
        {
            self.session.blocked = None;
            self.writer().nil_array();
        }
    }

    /// When it wants to be looked at, whatever happens.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let blocked = self
            .session
            .blocked
            .as_ref()
            .and_then(|blocked| blocked.until);
        let held = self.held.map(|(_, until)| until);
        blocked.into_iter().chain(held).min()
    }

    /// Reads once, if there may be something and there is room for it.
    pub(super) fn fill(&mut self) -> io::Result<Taken> {
        if !self.readable || self.is_halted() && self.input.len() >= MAX_WAITING_INPUT {
            return Ok(Taken::Nothing);
        }
        let taken = self.wire.read(&mut self.input, READ_BYTES)?;
        if taken != Taken::Bytes {
            self.readable = false;
        }
        Ok(taken)
    }

    /// Writes what may be written now, and says whether everything has left.
    pub(super) fn flush(&mut self) -> io::Result<bool> {
        loop {
            let end = self.held.map_or(self.output.len(), |(from, _)| from);
            let bytes = self.output.get(self.sent..end).unwrap_or_default();
            let written = self.wire.write(bytes)?;
            self.sent += written;
            if written == 0 || self.sent == end {
                break;
            }
        }
        if self.sent == self.output.len() {
            self.output.clear();
            self.sent = 0;
            // A large reply does not stay for the life of the connection.
            self.output.shrink_to(READ_BYTES);
        }
        Ok(self.output.is_empty() && self.wire.is_flushed())
    }

    fn unsent(&self) -> usize {
        self.output.len() - self.sent
    }
}
