//! The bounded queue of what a connection has to send.

use std::collections::VecDeque;
use std::io::IoSlice;

use bytes::{Buf, Bytes};

use crate::framing::ShortPrefix;

/// From this size on an owned payload is queued as it is; below it, copying into the contiguous tail is cheaper than
/// another slice in the vectored write (a copy of 8 KiB takes about 150 ns, a slice and its reference count 50).
const OWNED_MIN: usize = 8 * 1024;

/// Handed-over bytes at the front of the tail are moved out of the way from this many on, if they are at least half of
/// it: a queue that never runs empty does not grow at its front, and each byte is moved at most once more.
const COMPACT_MIN: usize = 64 * 1024;

/// Operations without a token are counted together up to so many wire bytes: where they end only matters for what they
/// have reserved, and so is given back in portions of this size at most while the transport takes a part.
const RUN_BYTES: usize = 16 * 1024;

/// A run is no larger than this share of either limit, so that what is given back late neither holds up a sender that
/// waits for half of the queue nor makes a small queue smaller.
const RUN_SHARE: usize = 16;

/// An emptied ring of operations is given back above this capacity, so that a burst does not stay in memory.
const KEPT_RUNS: usize = 64;

/// How much may wait in a [`SendQueue`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SendLimits {
    /// Payload bytes that may wait. Default 16 MiB.
    pub bytes: usize,
    /// Operations that may wait, empty ones too. Default 1,024.
    pub operations: usize,
}

impl Default for SendLimits {
    fn default() -> Self {
        Self {
            bytes: 16 * 1024 * 1024,
            operations: 1024,
        }
    }
}

/// Whose reservation an operation holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Account {
    /// The queue's own: admission is checked here.
    Own,
    /// Somebody else's, who checked it: the queue only reports what to give back.
    Remote,
    /// Nobody's: a marker that takes its place in the queue, from something that is bounded otherwise.
    Unaccounted,
}

/// Why an operation was not admitted.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "send queue is full: {bytes} bytes in {operations} operations wait, of at most {} bytes and {} operations",
    .limits.bytes,
    .limits.operations
)]
pub struct Full {
    /// Payload bytes that wait.
    pub bytes: usize,
    /// Operations that wait.
    pub operations: usize,
    /// The limits.
    pub limits: SendLimits,
}

/// An operation with a token whose bytes were all handed over.
#[derive(Debug)]
pub struct Completion<T> {
    /// What the sender gave.
    pub token: T,
    /// Payload bytes of the operation, without its prefix.
    pub bytes: usize,
}

/// Operations in a row that complete together: those of the own account without a token, or a single one.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// Where it ends, in wire bytes since the queue was made.
    end: u64,
    wire: usize,
    bytes: usize,
    count: usize,
    account: Account,
}

impl Run {
    const NONE: Self = Self {
        end: 0,
        wire: 0,
        bytes: 0,
        count: 0,
        account: Account::Own,
    };
}

/// What a connection has to send: bounded, in order, each operation completed exactly once.
///
/// Small payloads are copied into one contiguous tail, so that a turn's sends leave in one write; large owned ones are
/// queued as they are. `T` is the token of a sender that wants to hear of the completion.
#[derive(Debug)]
pub struct SendQueue<T> {
    limits: SendLimits,
    /// From this size on a run does not grow.
    largest_run: Reserved,
    /// Owned pieces, older than the tail.
    pieces: VecDeque<Bytes>,
    tail: Vec<u8>,
    /// How much of the tail has been handed over.
    start: usize,
    /// Wire bytes that wait: the pieces' and the tail's.
    wire: usize,
    /// Wire bytes ever handed over.
    written: u64,
    runs: VecDeque<Run>,
    /// The youngest run, as long as it may grow; no operation where its count is zero.
    open: Run,
    /// The sequence number of the oldest of `runs`.
    oldest: u64,
    /// Tokens by the sequence number of their run; most operations have none.
    tokens: VecDeque<(u64, T)>,
    done: VecDeque<Completion<T>>,
    own: Reserved,
    /// What remote operations gave back and nobody has collected yet.
    released: Reserved,
    /// Operations that wait and are not of the own account.
    foreign: usize,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Reserved {
    bytes: usize,
    operations: usize,
}

impl<T> SendQueue<T> {
    /// An empty queue.
    pub fn new(limits: SendLimits) -> Self {
        Self {
            limits,
            largest_run: Reserved {
                bytes: RUN_BYTES.min(limits.bytes / RUN_SHARE),
                operations: limits.operations / RUN_SHARE,
            },
            pieces: VecDeque::new(),
            tail: Vec::new(),
            start: 0,
            wire: 0,
            written: 0,
            runs: VecDeque::new(),
            open: Run::NONE,
            oldest: 0,
            tokens: VecDeque::new(),
            done: VecDeque::new(),
            own: Reserved::default(),
            released: Reserved::default(),
            foreign: 0,
        }
    }

    /// Payload bytes that wait on the queue's own account. Sends without a token are given back in groups, of at most
    /// 16 KiB and of a sixteenth of either limit: some of these bytes may have been handed over.
    pub fn bytes(&self) -> usize {
        self.own.bytes
    }

    /// Operations that wait on the queue's own account; as for [`bytes`](Self::bytes), a few may be done.
    pub fn operations(&self) -> usize {
        self.own.operations
    }

    /// The limits.
    pub fn limits(&self) -> SendLimits {
        self.limits
    }

    /// Wire bytes that wait, prefixes and remote operations included.
    #[inline]
    pub fn wire_bytes(&self) -> usize {
        self.wire
    }

    /// Operations that wait and whose senders want to hear of their completion.
    pub fn tokens(&self) -> usize {
        self.tokens.len()
    }

    /// Whether nothing waits, not even an empty operation.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.open.count == 0 && self.runs.is_empty()
    }

    /// Whether the own account has drained to half of both limits.
    pub fn is_half_empty(&self) -> bool {
        self.own.bytes <= self.limits.bytes / 2 && self.own.operations <= self.limits.operations / 2
    }

    /// Whether one more operation of `bytes` fits the own account.
    #[inline]
    pub fn admits(&self, bytes: usize) -> Result<(), Full> {
        let fits = self.own.operations < self.limits.operations
            && bytes <= self.limits.bytes.saturating_sub(self.own.bytes);
        if fits { Ok(()) } else { Err(self.full()) }
    }

    #[cold]
    fn full(&self) -> Full {
        Full {
            bytes: self.own.bytes,
            operations: self.own.operations,
            limits: self.limits,
        }
    }

    /// Appends a copy of `prefix` and `payload` as one operation. Admission is the caller's, by [`admits`](Self::admits).
    #[inline]
    pub fn push(&mut self, prefix: &[u8], payload: &[u8], account: Account, token: Option<T>) {
        self.tail.reserve(prefix.len() + payload.len());
        self.append_prefix(prefix);
        self.tail.extend_from_slice(payload);
        self.record(prefix.len(), payload.len(), account, token);
    }

    /// [`push`](Self::push) of what most sends are: behind a short prefix, on the queue's own account, without a token.
    #[inline]
    pub fn push_short(&mut self, prefix: ShortPrefix, payload: &[u8]) {
        // Four bytes of prefix are written, whatever it has.
        self.tail.reserve(payload.len() + 4);
        prefix.append_to(&mut self.tail);
        self.tail.extend_from_slice(payload);
        self.record(prefix.len(), payload.len(), Account::Own, None);
    }

    /// Appends an owned payload as one operation; a large one is not copied.
    #[inline]
    pub fn push_bytes(
        &mut self,
        prefix: &[u8],
        payload: &Bytes,
        account: Account,
        token: Option<T>,
    ) {
        if payload.len() < OWNED_MIN {
            return self.push(prefix, payload, account, token);
        }
        self.push_piece(prefix, payload.clone(), account, token);
    }

    fn push_piece(&mut self, prefix: &[u8], payload: Bytes, account: Account, token: Option<T>) {
        let length = payload.len();
        self.tail.extend_from_slice(prefix);
        self.seal_tail();
        self.pieces.push_back(payload);
        self.record(prefix.len(), length, account, token);
    }

    /// Appends an operation of exactly `length` payload bytes that `write` produces in place. Where `write` leaves some
    /// out, nothing is queued and the count of what it wrote is returned.
    #[inline]
    pub fn push_with(
        &mut self,
        prefix: &[u8],
        length: usize,
        account: Account,
        write: impl FnOnce(&mut MessageWriter<'_>),
    ) -> Result<(), usize> {
        let before = self.tail.len();
        self.tail.reserve(prefix.len() + length);
        self.append_prefix(prefix);
        self.write(before, prefix.len(), length, account, write)
    }

    /// [`push_with`](Self::push_with) behind a short prefix, on the queue's own account.
    #[inline]
    pub fn push_short_with(
        &mut self,
        prefix: ShortPrefix,
        length: usize,
        write: impl FnOnce(&mut MessageWriter<'_>),
    ) -> Result<(), usize> {
        let before = self.tail.len();
        self.tail.reserve(length + 4);
        prefix.append_to(&mut self.tail);
        self.write(before, prefix.len(), length, Account::Own, write)
    }

    /// Has the payload written behind its prefix, which begins at `before`.
    #[inline(always)]
    fn write(
        &mut self,
        before: usize,
        prefix: usize,
        length: usize,
        account: Account,
        write: impl FnOnce(&mut MessageWriter<'_>),
    ) -> Result<(), usize> {
        let mut writer = MessageWriter {
            tail: &mut self.tail,
            remaining: length,
        };
        write(&mut writer);
        let missing = writer.remaining;
        if missing != 0 {
            self.tail.truncate(before);
            return Err(length - missing);
        }
        self.record(prefix, length, account, None);
        Ok(())
    }

    /// The short prefixes are copied without a call.
    #[inline(always)]
    fn append_prefix(&mut self, prefix: &[u8]) {
        match *prefix {
            [] => {}
            [a] => self.tail.extend_from_slice(&[a]),
            [a, b, c] => self.tail.extend_from_slice(&[a, b, c]),
            _ => self.tail.extend_from_slice(prefix),
        }
    }

    #[inline]
    fn record(&mut self, prefix: usize, bytes: usize, account: Account, token: Option<T>) {
        let wire = prefix + bytes;
        self.wire += wire;
        if account == Account::Own {
            self.own.bytes += bytes;
            self.own.operations += 1;
            let grows = self.open.count != 0
                && self.open.count < self.largest_run.operations
                && self.open.wire < self.largest_run.bytes;
            if token.is_none() && grows {
                self.open.end += wire as u64;
                self.open.wire += wire;
                self.open.bytes += bytes;
                self.open.count += 1;
                return;
            }
        }
        self.begin_run(wire, bytes, account, token);
    }

    fn begin_run(&mut self, wire: usize, bytes: usize, account: Account, token: Option<T>) {
        if self.open.count != 0 {
            self.runs
                .push_back(std::mem::replace(&mut self.open, Run::NONE));
        }
        let run = Run {
            end: self.written + self.wire as u64,
            wire,
            bytes,
            count: 1,
            account,
        };
        if account == Account::Own && token.is_none() {
            self.open = run;
            return;
        }
        if account != Account::Own {
            self.foreign += 1;
        }
        if let Some(token) = token {
            self.tokens
                .push_back((self.oldest + self.runs.len() as u64, token));
        }
        self.runs.push_back(run);
    }

    /// Turns the tail into a piece, so that an owned one can follow it.
    fn seal_tail(&mut self) {
        if self.start == self.tail.len() {
            self.tail.clear();
        } else {
            let mut piece = Bytes::from(std::mem::take(&mut self.tail));
            piece.advance(self.start);
            self.pieces.push_back(piece);
        }
        self.start = 0;
    }

    /// The first contiguous stretch of what waits; empty where nothing does.
    #[inline]
    pub fn front(&self) -> &[u8] {
        match self.pieces.front() {
            Some(piece) => piece,
            None => self.tail.get(self.start..).unwrap_or_default(),
        }
    }

    /// Whether [`front`](Self::front) is all that waits.
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Fills `slices` with what waits, oldest first, and returns how many were filled.
    pub fn slices<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let tail = self.tail.get(self.start..).unwrap_or_default();
        let pieces = self.pieces.iter().map(|piece| &piece[..]);
        let mut filled = 0;
        let stretches = pieces.chain([tail]).filter(|stretch| !stretch.is_empty());
        for (slot, stretch) in slices.iter_mut().zip(stretches) {
            *slot = IoSlice::new(stretch);
            filled += 1;
        }
        filled
    }

    /// Takes note that the transport accepted `count` more wire bytes, and completes the operations that end there.
    /// A count larger than what waits is cut to it.
    #[inline]
    pub fn advance(&mut self, count: usize) {
        let count = count.min(self.wire);
        self.wire -= count;
        self.written += count as u64;
        if self.pieces.is_empty() {
            self.start += count;
            if self.start >= COMPACT_MIN && self.start >= self.tail.len() / 2 {
                self.tail.drain(..self.start);
                self.start = 0;
            }
        } else {
            self.advance_pieces(count);
        }
        if self.wire == 0 {
            self.tail.clear();
            self.start = 0;
            if self.tokens.is_empty() && self.foreign == 0 {
                self.oldest += self.runs.len() as u64;
                self.runs.clear();
                self.open = Run::NONE;
                self.own = Reserved::default();
                return;
            }
        }
        self.complete();
    }

    fn advance_pieces(&mut self, mut count: usize) {
        while let Some(piece) = self.pieces.front_mut() {
            if count < piece.len() {
                piece.advance(count);
                return;
            }
            count -= piece.len();
            self.pieces.pop_front();
        }
        self.start += count;
    }

    fn complete(&mut self) {
        while let Some(run) = self.runs.front().copied() {
            if run.end > self.written {
                return;
            }
            self.runs.pop_front();
            self.release(run);
            if self
                .tokens
                .front()
                .is_some_and(|(sequence, _)| *sequence == self.oldest)
                && let Some((_, token)) = self.tokens.pop_front()
            {
                self.done.push_back(Completion {
                    token,
                    bytes: run.bytes,
                });
            }
            self.oldest += 1;
        }
        if self.open.count != 0 && self.open.end <= self.written {
            let run = std::mem::replace(&mut self.open, Run::NONE);
            self.release(run);
        }
    }

    fn release(&mut self, run: Run) {
        match run.account {
            Account::Own => {
                self.own.bytes -= run.bytes;
                self.own.operations -= run.count;
                return;
            }
            Account::Remote => {
                self.released.bytes += run.bytes;
                self.released.operations += run.count;
            }
            Account::Unaccounted => {}
        }
        self.foreign -= run.count;
    }

    /// The next operation whose bytes have all been handed over, in order, if its sender gave a token.
    #[inline]
    pub fn poll_completion(&mut self) -> Option<Completion<T>> {
        self.done.pop_front()
    }

    /// Whether there is a completion, or something of a remote operation to give back.
    #[inline]
    pub fn has_completions(&self) -> bool {
        !self.done.is_empty() || self.released.operations != 0
    }

    /// What remote operations gave back since the last call, as bytes and operations.
    #[inline]
    pub fn take_released(&mut self) -> Option<(usize, usize)> {
        if self.released.operations == 0 {
            return None;
        }
        let Reserved { bytes, operations } = std::mem::take(&mut self.released);
        Some((bytes, operations))
    }

    /// Gives up everything that waits: the tokens of what was not handed over come back, in order, all reservations
    /// are released, and the payload bytes and the operations that are lost are counted, as far as
    /// [`bytes`](Self::bytes) knows them: a few without a token may have been handed over.
    pub fn abandon(&mut self) -> Abandoned<T> {
        let open = std::mem::replace(&mut self.open, Run::NONE);
        let mut lost = Reserved::default();
        for run in std::mem::take(&mut self.runs).into_iter().chain([open]) {
            lost.bytes += run.bytes;
            lost.operations += run.count;
            self.release(run);
            self.oldest += 1;
        }
        self.pieces.clear();
        self.tail = Vec::new();
        self.start = 0;
        self.written += self.wire as u64;
        self.wire = 0;
        let tokens = std::mem::take(&mut self.tokens)
            .into_iter()
            .map(|(_, token)| token)
            .collect();
        Abandoned {
            bytes: lost.bytes,
            operations: lost.operations,
            tokens,
        }
    }

    /// Lends storage for the tail. It is used where the queue has none.
    #[inline]
    pub fn lend(&mut self, storage: Vec<u8>) -> Option<Vec<u8>> {
        if self.tail.capacity() != 0 {
            return Some(storage);
        }
        self.tail = storage;
        self.tail.clear();
        None
    }

    /// Whether the tail has storage of its own or lent.
    #[inline]
    pub fn has_storage(&self) -> bool {
        self.tail.capacity() != 0
    }

    /// Takes the tail's storage back, if nothing waits in it.
    #[inline]
    pub fn reclaim(&mut self) -> Option<Vec<u8>> {
        if !self.tail.is_empty() || self.tail.capacity() == 0 {
            return None;
        }
        if self.runs.is_empty() && self.runs.capacity() > KEPT_RUNS {
            self.runs = VecDeque::new();
        }
        Some(std::mem::take(&mut self.tail))
    }
}

/// What [`SendQueue::abandon`] gave up.
#[derive(Debug)]
pub struct Abandoned<T> {
    /// Payload bytes.
    pub bytes: usize,
    /// Operations.
    pub operations: usize,
    /// The tokens of those that had one, in order.
    pub tokens: Vec<T>,
}

/// Writes the payload of one message straight into the send queue.
#[derive(Debug)]
pub struct MessageWriter<'a> {
    tail: &'a mut Vec<u8>,
    remaining: usize,
}

impl MessageWriter<'_> {
    /// How many bytes of the announced length are still to be written.
    pub fn remaining(&self) -> usize {
        self.remaining
    }

    /// Appends `bytes`; what would go over the announced length is left out. Returns how many were taken.
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) -> usize {
        let taken = bytes.len().min(self.remaining);
        self.tail
            .extend_from_slice(bytes.get(..taken).unwrap_or_default());
        self.remaining -= taken;
        taken
    }
}

impl std::io::Write for MessageWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        Ok(self.put(bytes))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue() -> SendQueue<u32> {
        SendQueue::new(SendLimits {
            bytes: 100,
            operations: 4,
        })
    }

    fn wire(queue: &SendQueue<u32>) -> Vec<u8> {
        let mut slices = [IoSlice::new(&[]); 16];
        let filled = queue.slices(&mut slices);
        slices[..filled]
            .iter()
            .flat_map(|slice| slice.to_vec())
            .collect()
    }

    #[test]
    fn an_operation_completes_when_its_last_byte_is_handed_over() {
        let mut queue = queue();
        queue.push(b"5", b"hello", Account::Own, Some(1));
        queue.push(b"1", b"x", Account::Own, Some(2));
        queue.advance(5);
        assert!(queue.poll_completion().is_none());
        queue.advance(1);
        let first = queue.poll_completion().unwrap();
        assert_eq!((first.token, first.bytes), (1, 5));
        assert!(queue.poll_completion().is_none());
        assert_eq!((queue.bytes(), queue.operations()), (1, 1));
        queue.advance(2);
        assert_eq!(queue.poll_completion().unwrap().token, 2);
        assert!(queue.is_empty());
    }

    #[test]
    fn empty_operations_take_a_place_and_complete_in_order() {
        let mut queue = queue();
        queue.push(b"", b"", Account::Own, Some(1));
        assert!(!queue.is_empty());
        queue.advance(0);
        assert_eq!(queue.poll_completion().unwrap().bytes, 0);
        assert!(queue.is_empty());
    }

    #[test]
    fn admission_counts_bytes_and_operations() {
        let mut queue = queue();
        queue.push(b"", &[0; 60], Account::Own, None);
        assert!(queue.admits(40).is_ok());
        let full = queue.admits(41).unwrap_err();
        assert_eq!((full.bytes, full.operations), (60, 1));
        for _ in 0..3 {
            queue.push(b"", b"", Account::Own, None);
        }
        assert!(queue.admits(0).is_err());
        queue.advance(60);
        assert!(queue.admits(100).is_ok());
        assert!(queue.admits(usize::MAX).is_err());
    }

    #[test]
    fn large_owned_payloads_keep_their_place_between_small_ones() {
        let mut queue = SendQueue::<u32>::new(SendLimits::default());
        let large = Bytes::from(vec![7; OWNED_MIN]);
        queue.push(b"a", b"bc", Account::Own, None);
        queue.push_bytes(b"p", &large, Account::Own, Some(9));
        queue.push(b"", b"z", Account::Own, None);
        let mut expected = b"abcp".to_vec();
        expected.extend_from_slice(&large);
        expected.push(b'z');
        assert_eq!(wire(&queue), expected);
        for byte in &expected {
            assert_eq!(queue.front().first(), Some(byte));
            queue.advance(1);
        }
        assert_eq!(queue.poll_completion().unwrap().bytes, OWNED_MIN);
        assert!(queue.is_empty() && queue.wire_bytes() == 0);
    }

    #[test]
    fn remote_operations_are_given_back_to_their_account() {
        let mut queue = queue();
        queue.push(b"", b"abc", Account::Remote, None);
        queue.push(b"", b"de", Account::Own, None);
        assert_eq!((queue.bytes(), queue.operations()), (2, 1));
        queue.advance(3);
        assert_eq!(queue.take_released(), Some((3, 1)));
        assert_eq!(queue.take_released(), None);
        queue.advance(2);
        assert!(queue.is_empty());
    }

    #[test]
    fn abandoning_returns_every_token_once() {
        let mut queue = queue();
        queue.push(b"", b"abc", Account::Own, Some(1));
        queue.push(b"", b"de", Account::Remote, Some(2));
        queue.advance(3);
        assert_eq!(queue.poll_completion().unwrap().token, 1);
        let abandoned = queue.abandon();
        assert_eq!(
            (abandoned.tokens, abandoned.bytes, abandoned.operations),
            (vec![2], 2, 1)
        );
        assert_eq!(queue.take_released(), Some((2, 1)));
        queue.push(b"", b"new", Account::Own, Some(3));
        queue.advance(3);
        assert_eq!(queue.poll_completion().unwrap().token, 3);
    }

    #[test]
    fn a_message_that_is_not_written_whole_is_not_queued() {
        let mut queue = queue();
        assert_eq!(
            queue.push_with(b"p", 4, Account::Own, |w| {
                w.put(b"abc");
            }),
            Err(3)
        );
        assert!(queue.is_empty() && wire(&queue).is_empty());
        assert_eq!(
            queue.push_with(b"p", 3, Account::Own, |w| {
                w.put(b"abcd");
            }),
            Ok(())
        );
        assert_eq!(wire(&queue), b"pabc");
    }

    #[test]
    fn storage_is_lent_and_given_back_when_empty() {
        let mut queue = queue();
        assert!(queue.reclaim().is_none());
        assert!(queue.lend(Vec::with_capacity(64)).is_none());
        queue.push(b"", b"abc", Account::Own, None);
        assert!(queue.reclaim().is_none());
        queue.advance(3);
        assert_eq!(queue.reclaim().unwrap().capacity(), 64);
    }
}
