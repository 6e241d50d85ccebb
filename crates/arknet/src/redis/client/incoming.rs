//! What has arrived: where its replies end, and who keeps the bytes of the large ones.

use std::collections::VecDeque;
use std::ops::Range;

use arknet_proto::redis::{FrameKind, ProtocolError, ReplyLimits, Scanner};
use bytes::{Buf, Bytes, BytesMut};

use super::slot::{LARGE, Wave};
use crate::redis::connection;

/// What a read offers: much more than usual replies, so that a read comes back short and thereby proves the socket
/// empty.
const ROOM: usize = 64 * 1024;

/// What a read offers while replies come faster than that.
const MOST_ROOM: usize = 512 * 1024;

/// A buffer that is larger served a large reply, and is given back to the system afterwards.
const KEPT: usize = 2 * MOST_ROOM;

/// Below this a buffer is not worth a read.
const LEAST_ROOM: usize = 16 * 1024;

/// Room is made for an announced reply in steps of so many times what has come of it: a peer that announces what it does
/// not send costs little, and a large reply is moved once or twice at most.
const GROWTH: usize = 16;

/// Buffers of which replies are still held that are looked at again.
const RETIRED: usize = 4;

/// Replies that are completed under one lock, so that callers are not kept from submitting for long.
const FRAMES: usize = 256;

/// What a [`scan`](Incoming::scan) has found.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Scanned {
    /// There may be more.
    pub(super) full: bool,
    /// Replies that are errors.
    pub(super) errors: usize,
    /// A server that writes are not for has said so.
    pub(super) read_only: bool,
    /// One of them may be the refusal of a `MULTI`.
    pub(super) refuses_multi: bool,
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Incoming {
    buffer: BytesMut,
    /// The size that it was made with.
    allocated: usize,
    /// Bytes at the start of the buffer that are done with.
    done: usize,
    scanner: Scanner,
    replies: Vec<Range<usize>>,
    pushes: Vec<Range<usize>>,
    large: bool,
    /// Split off the buffer, when a reply is large.
    shared: Option<Bytes>,
    retired: VecDeque<BytesMut>,
    room: usize,
}

impl Incoming {
    /// With what has arrived behind the handshake.
    pub(super) fn new(limits: ReplyLimits, buffer: BytesMut) -> Self {
        Self {
            allocated: buffer.capacity(),
            buffer,
            done: 0,
            scanner: Scanner::new(limits),
            replies: Vec::new(),
            pushes: Vec::new(),
            large: false,
            shared: None,
            retired: VecDeque::new(),
            room: ROOM,
        }
    }

    /// The buffer, with room for a read.
    #[inline]
    pub(super) fn buffer(&mut self) -> &mut BytesMut {
        let room = self.buffer.capacity() - self.buffer.len();
        if room < LEAST_ROOM {
            self.make_room();
        }
        &mut self.buffer
    }

    #[cold]
    fn make_room(&mut self) {
        let received = self.buffer.len();
        let wanted = if self.scanner.is_idle() {
            self.room
        } else {
            // A reply whose size is known gets its room in steps of what has come of it; another one doubles, so that
            // neither is moved often.
            let most = received.max(ROOM).saturating_mul(GROWTH);
            let needed = self.scanner.needed(received);
            needed.min(most).max(received).max(self.room)
        };
        if !self.buffer.try_reclaim(wanted) {
            self.replace(received.saturating_add(wanted));
        }
    }

    /// Goes on in another buffer.
    fn replace(&mut self, capacity: usize) {
        let mut fresh = self.lend(capacity);
        fresh.extend_from_slice(&self.buffer);
        let mut old = std::mem::replace(&mut self.buffer, fresh);
        let allocated = std::mem::replace(&mut self.allocated, self.buffer.capacity());
        old.clear();
        // What a single large reply needed is not kept.
        if allocated <= KEPT && self.retired.len() < RETIRED {
            self.retired.push_back(old);
        }
    }

    /// A buffer that is free again, or a new one.
    fn lend(&mut self, capacity: usize) -> BytesMut {
        for _ in 0..self.retired.len() {
            let Some(mut old) = self.retired.pop_front() else {
                break;
            };
            if old.try_reclaim(capacity) {
                return old;
            }
            // One that is free and too small has served.
            if !old.try_reclaim(ROOM) {
                self.retired.push_back(old);
            }
        }
        BytesMut::with_capacity(capacity.next_multiple_of(ROOM))
    }

    /// Takes note of how much of its room a read has filled.
    #[inline]
    pub(super) fn note_read(&mut self, count: usize) {
        if count >= self.room {
            self.room = (self.room * 2).min(MOST_ROOM);
        } else if self.room > ROOM && count < self.room / 4 {
            self.room /= 2;
        }
    }

    /// Finds the next whole replies and pushes: some hundred at most.
    ///
    /// # Errors
    ///
    /// The peer has broken the protocol.
    #[inline]
    pub(super) fn scan(&mut self) -> Result<Option<Scanned>, ProtocolError> {
        self.replies.clear();
        self.pushes.clear();
        self.large = false;
        let mut read_only = false;
        let mut refuses_multi = false;
        let mut errors = 0;
        let mut at = self.done;
        while self.replies.len() + self.pushes.len() < FRAMES {
            let rest = self.buffer.get(at..).unwrap_or_default();
            if rest.is_empty() {
                break;
            }
            let Some(frame) = self.scanner.scan(rest)? else {
                break;
            };
            let range = at..at + frame.len;
            at = range.end;
            self.large |= frame.len >= LARGE;
            match frame.kind {
                FrameKind::Reply => self.replies.push(range),
                FrameKind::Error => {
                    errors += 1;
                    refuses_multi |= connection::refuses_multi(rest);
                    read_only |= rest.starts_with(b"-READONLY");
                    self.replies.push(range);
                }
                FrameKind::Push => self.pushes.push(range),
            }
        }
        let found = self.replies.len() + self.pushes.len();
        if found == 0 {
            self.forget();
            return Ok(None);
        }
        self.done = at;
        if self.large {
            self.shared = Some(self.buffer.split_to(at).freeze());
        }
        Ok(Some(Scanned {
            full: found == FRAMES,
            errors,
            refuses_multi,
            read_only,
        }))
    }

    /// What the last [`scan`](Self::scan) has found.
    #[inline]
    pub(super) fn wave(&self) -> Wave<'_> {
        Wave {
            bytes: self.shared.as_deref().unwrap_or(&self.buffer),
            shared: self.shared.as_ref(),
            frames: &self.replies,
        }
    }

    /// The pushes among them.
    #[inline]
    pub(super) fn pushes(&self) -> impl Iterator<Item = &[u8]> {
        let bytes = self.wave().bytes;
        self.pushes
            .iter()
            .filter_map(|range| bytes.get(range.clone()))
    }

    /// The wave has been dealt with.
    #[inline]
    pub(super) fn settle(&mut self) {
        if self.shared.take().is_some() {
            self.done = 0;
        }
    }

    /// Lets go of what is done with.
    #[inline]
    fn forget(&mut self) {
        if self.done >= self.buffer.len() {
            self.buffer.clear();
        } else if self.done > 0 {
            self.buffer.advance(self.done);
        }
        self.done = 0;
        if self.allocated > KEPT && self.buffer.len() <= ROOM && self.scanner.is_idle() {
            self.replace(self.room);
        }
    }
}

#[cfg(test)]
mod tests;
