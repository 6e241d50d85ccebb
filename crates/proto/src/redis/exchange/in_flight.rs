//! Which request the next reply belongs to, and what became of each when there is none.

use std::collections::VecDeque;

use super::requests::Requests;

/// The batches of requests on one connection that wait for replies, oldest first. `T` says who waits.
///
/// A batch is one or several requests whose bytes follow each other. The stream of all bytes has one offset, counted by
/// [`push`](Self::push) as they are queued and by [`handle_written`](Self::handle_written) as the system takes them, so
/// that a lost connection leaves no doubt: see [`Fate`].
///
/// Pushes are no replies: do not show them to it.
#[derive(Debug)]
pub struct InFlight<T> {
    batches: VecDeque<Batch<T>>,
    /// Offset behind the last byte that was queued.
    queued: u64,
    /// Offset behind the last byte that the system took.
    written: u64,
}

#[derive(Debug)]
struct Batch<T> {
    /// Offset of its first byte.
    start: u64,
    requests: u32,
    answered: u32,
    token: T,
}

/// To whom a reply belongs.
#[derive(Debug, Eq, PartialEq)]
pub enum Answered<'a, T> {
    /// To a batch that waits for more.
    Part(&'a mut T),
    /// To a batch that has all its replies now.
    Whole(T),
}

/// What became of a batch whose connection was lost.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Fate {
    /// Requests that have their replies; the others of the batch have none.
    pub answered: usize,
    /// Bytes of the batch that the system took. None at all: the batch was not sent.
    pub written: u64,
}

impl<T> Default for InFlight<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> InFlight<T> {
    /// Nothing waits.
    pub fn new() -> Self {
        Self {
            batches: VecDeque::new(),
            queued: 0,
            written: 0,
        }
    }

    /// How many batches wait.
    pub fn len(&self) -> usize {
        self.batches.len()
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    /// Bytes that were queued and that the system has not taken.
    pub fn unwritten(&self) -> u64 {
        self.queued - self.written
    }

    /// Who waits for the next reply.
    pub fn front(&self) -> Option<&T> {
        self.batches.front().map(|batch| &batch.token)
    }

    /// Takes note of a batch: `bytes` were queued behind all others, and `requests` replies will come.
    ///
    /// A batch without replies is not kept; its bytes count all the same.
    pub fn push(&mut self, bytes: usize, requests: usize, token: T) {
        let start = self.queued;
        self.queued += bytes as u64;
        let Ok(requests @ 1..) = u32::try_from(requests) else {
            return;
        };
        self.batches.push_back(Batch {
            start,
            requests,
            answered: 0,
            token,
        });
    }

    /// All who wait, oldest first.
    pub fn tokens(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.batches.iter().map(|batch| &batch.token)
    }

    /// What would become of the last batch if the connection were lost now, and the system had taken `committed` bytes more
    /// than it was told of: they lie sealed in records.
    pub fn last_fate(&self, committed: usize) -> Option<Fate> {
        let batch = self.batches.back()?;
        let written = self.written.saturating_add(committed as u64);
        Some(batch.fate(written.min(self.queued)))
    }

    /// Who waits for the last reply.
    pub fn last_mut(&mut self) -> Option<&mut T> {
        self.batches.back_mut().map(|batch| &mut batch.token)
    }

    /// Takes back the last batch, of which not a byte was handed over or will be: its bytes must be taken back too. It is
    /// as if it had never been.
    ///
    /// Returns `None`, and changes nothing, if the system has taken some.
    pub fn retract(&mut self) -> Option<T> {
        let start = self.batches.back()?.start;
        if self.written > start {
            return None;
        }
        self.queued = start;
        self.batches.pop_back().map(|batch| batch.token)
    }

    /// Cuts the last batch down to its first `requests`, which are `bytes` long: the bytes of the others must be taken
    /// back, of which none was handed over or will be. If all that is left has its replies, the batch is taken.
    pub fn cut(&mut self, requests: usize, bytes: usize) -> Option<T> {
        let batch = self.batches.back_mut()?;
        let requests = u32::try_from(requests).unwrap_or(u32::MAX);
        batch.requests = batch.requests.min(requests.max(batch.answered));
        let end = batch.start.saturating_add(bytes as u64);
        self.queued = end.clamp(self.written.min(self.queued), self.queued);
        if batch.answered < batch.requests {
            return None;
        }
        self.batches.pop_back().map(|batch| batch.token)
    }

    /// Takes note that the system took so many bytes more.
    pub fn handle_written(&mut self, bytes: usize) {
        self.written = self.written.saturating_add(bytes as u64).min(self.queued);
    }

    /// Takes note of a reply, and says whose it is; `None` if nobody waits: the server broke the protocol.
    #[inline]
    pub fn handle_reply(&mut self) -> Option<Answered<'_, T>> {
        let front = self.batches.front_mut()?;
        front.answered += 1;
        if front.answered < front.requests {
            return self
                .batches
                .front_mut()
                .map(|batch| Answered::Part(&mut batch.token));
        }
        self.batches
            .pop_front()
            .map(|batch| Answered::Whole(batch.token))
    }

    /// Takes the oldest batch of a lost connection, with what became of it.
    pub fn lose(&mut self) -> Option<(T, Fate)> {
        let batch = self.batches.pop_front()?;
        let end = self.batches.front().map_or(self.queued, |next| next.start);
        let fate = batch.fate(self.written.min(end));
        Some((batch.token, fate))
    }
}

impl<T> Batch<T> {
    /// With so much of the stream handed over, up to the batch's end.
    fn fate(&self, written: u64) -> Fate {
        Fate {
            answered: self.answered as usize,
            written: written.saturating_sub(self.start),
        }
    }
}

impl Fate {
    /// How many of the batch's requests have begun to be sent, of those whose bytes are `wire`: the server may have
    /// carried these out, and none of the others.
    pub fn begun(self, wire: &[u8]) -> usize {
        self.begun_part(wire).0
    }

    /// How many they are, and how many bytes they have.
    pub fn begun_part(self, wire: &[u8]) -> (usize, usize) {
        let written = usize::try_from(self.written).unwrap_or(usize::MAX);
        let (mut requests, mut bytes) = (0, 0);
        for request in Requests::new(wire) {
            if bytes >= written {
                break;
            }
            requests += 1;
            bytes += request.wire_len();
        }
        (requests, bytes)
    }
}
