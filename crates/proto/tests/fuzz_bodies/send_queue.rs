//! Any order of pushing, handing over and giving up: the queue does what a plain list does.
//!
//! Input is a sequence of operations, a byte for the operation and what it takes.

use std::collections::VecDeque;
use std::io::IoSlice;

use arknet_proto::buf::{Account, MessageWriter, SendLimits, SendQueue};
use arknet_proto::framing::Framing;
use bytes::Bytes;

use super::Input;

/// Operations that are read from one input.
const MOST_OPERATIONS: usize = 4_000;
/// Past what the queue copies, and past what it moves out of the way.
const LONGEST: usize = 20_000;
/// What may wait, so that an input does not spend its time on copies.
const MOST_WAITING: usize = 1 << 20;
const LIMITS: SendLimits = SendLimits {
    bytes: 100_000,
    operations: 100,
};
/// Sends without a token give back what they reserved up to this share of the limits late.
const LATE_SHARE: usize = 16;

/// Runs one input.
pub(crate) fn run(data: &[u8]) {
    let mut input = Input(data);
    let mut pair = Pair {
        queue: SendQueue::new(LIMITS),
        list: List::default(),
    };
    for _ in 0..MOST_OPERATIONS {
        if input.is_empty() {
            break;
        }
        pair.apply(&mut input);
        pair.compare();
    }
    // Once more, for empty ones at the end.
    while !pair.list.wire.is_empty() {
        pair.advance(usize::MAX);
    }
    pair.advance(0);
    pair.collect();
    assert!(pair.queue.is_empty() && !pair.queue.has_completions());
}

/// The queue, and a list.
struct Pair {
    queue: SendQueue<u32>,
    list: List,
}

#[derive(Default)]
struct List {
    next: u32,
    wire: VecDeque<u8>,
    pushed: usize,
    written: usize,
    waiting: VecDeque<Operation>,
    completed: VecDeque<(u32, usize)>,
    released: (usize, usize),
}

struct Operation {
    end: usize,
    bytes: usize,
    account: Account,
    token: Option<u32>,
}

impl Pair {
    fn apply(&mut self, input: &mut Input<'_>) {
        match input.byte() % 12 {
            0 => self.push_short(input),
            1 | 2 => self.push(input, |queue, prefix, payload, account, token| {
                queue.push(prefix, payload, account, token);
            }),
            3 | 4 => self.push(input, |queue, prefix, payload, account, token| {
                let payload = Bytes::copy_from_slice(payload);
                queue.push_bytes(prefix, &payload, account, token);
            }),
            5 => self.push_with(input),
            6 | 7 => {
                let count = input.number() % (LONGEST + 1);
                self.advance(count);
            }
            8 => self.advance(self.queue.front().len()),
            9 => self.collect(),
            10 => self.storage(input.byte()),
            _ if input.byte() < 32 => self.abandon(),
            _ => self.advance(0),
        }
    }

    fn push(
        &mut self,
        input: &mut Input<'_>,
        push: impl FnOnce(&mut SendQueue<u32>, &[u8], &[u8], Account, Option<u32>),
    ) {
        let (prefix, payload, account) = operation(input);
        if !self.admits(payload.len(), account) {
            return;
        }
        let token = input.byte().is_multiple_of(2).then_some(self.list.next);
        push(&mut self.queue, &prefix, &payload, account, token);
        self.list.push(&prefix, &payload, account, token);
    }

    /// As an endpoint sends, behind the prefix of its framing.
    fn push_short(&mut self, input: &mut Input<'_>) {
        let (_, payload, _) = operation(input);
        let framing = Framing::LengthPrefix;
        let short = framing.short_prefix(payload.len());
        let (Some(short), true) = (short, self.admits(payload.len(), Account::Own)) else {
            return;
        };
        let prefix = framing.prefix(payload.len()).unwrap_or_default();
        match input.byte().is_multiple_of(2) {
            true => self.queue.push_short(short, &payload),
            false => {
                let put = |writer: &mut MessageWriter<'_>| {
                    assert_eq!(writer.put(&payload), payload.len());
                };
                let pushed = self.queue.push_short_with(short, payload.len(), put);
                assert_eq!(pushed, Ok(()));
            }
        }
        self.list
            .push(prefix.as_slice(), &payload, Account::Own, None);
    }

    /// Admission is the caller's.
    fn admits(&self, bytes: usize, account: Account) -> bool {
        let own = account == Account::Own;
        (!own || self.queue.admits(bytes).is_ok()) && self.list.wire.len() + bytes <= MOST_WAITING
    }

    /// Writes what was announced, too little of it, or more.
    fn push_with(&mut self, input: &mut Input<'_>) {
        let (prefix, payload, account) = operation(input);
        let length = match input.byte() % 4 {
            0 => payload.len() + 1 + usize::from(input.byte()),
            1 => payload.len() / 2,
            _ => payload.len(),
        };
        if !self.admits(length, account) {
            return;
        }
        let pushed = self.queue.push_with(&prefix, length, account, |writer| {
            assert_eq!(writer.remaining(), length);
            let taken = writer.put(&payload);
            assert_eq!(taken, payload.len().min(length));
            assert_eq!(writer.remaining(), length - taken);
        });
        match payload.get(..length) {
            Some(payload) => {
                assert_eq!(pushed, Ok(()));
                self.list.push(&prefix, payload, account, None);
            }
            None => assert_eq!(pushed, Err(payload.len())),
        }
    }

    /// Hands over `count` bytes, which are those that were pushed first.
    fn advance(&mut self, count: usize) {
        let mut slices = [IoSlice::new(&[]); 8];
        let filled = self.queue.slices(&mut slices);
        let there: Vec<u8> = slices
            .iter()
            .take(filled)
            .flat_map(|slice| slice.iter().copied())
            .take(count)
            .collect();
        // More than eight pieces: the transport takes what it is shown.
        let count = count.min(there.len());
        assert!(self.list.wire.iter().take(count).eq(&there));
        self.list.advance(count);
        self.queue.advance(count);
    }

    /// Takes what was completed and what is to be given back.
    fn collect(&mut self) {
        while let Some(done) = self.queue.poll_completion() {
            let expected = self.list.completed.pop_front();
            assert_eq!(Some((done.token, done.bytes)), expected);
        }
        assert!(self.list.completed.is_empty());
        let released = std::mem::take(&mut self.list.released);
        let expected = (released.1 > 0).then_some(released);
        assert_eq!(self.queue.take_released(), expected);
    }

    fn storage(&mut self, with: u8) {
        if with.is_multiple_of(2) {
            let had = self.queue.has_storage();
            let refused = self.queue.lend(Vec::with_capacity(usize::from(with)));
            assert_eq!(refused.is_some(), had);
        } else if let Some(storage) = self.queue.reclaim() {
            assert!(storage.is_empty() && storage.capacity() > 0);
            assert!(!self.queue.has_storage());
        }
    }

    fn abandon(&mut self) {
        let abandoned = self.queue.abandon();
        let lost: Vec<Operation> = self.list.waiting.drain(..).collect();
        let tokens: Vec<u32> = lost
            .iter()
            .filter_map(|operation| operation.token)
            .collect();
        assert_eq!(abandoned.tokens, tokens);
        let bytes: usize = lost.iter().map(|operation| operation.bytes).sum();
        assert_late(abandoned.bytes, bytes, LIMITS.bytes);
        assert_late(abandoned.operations, lost.len(), LIMITS.operations);
        for operation in &lost {
            self.list.release(operation);
        }
        self.list.wire.clear();
        self.list.written = self.list.pushed;
    }

    fn compare(&self) {
        let (queue, list) = (&self.queue, &self.list);
        let own = || {
            list.waiting
                .iter()
                .filter(|operation| operation.account == Account::Own)
        };
        let waiting: usize = own().map(|operation| operation.bytes).sum();
        let (bytes, operations) = (queue.bytes(), queue.operations());
        assert_late(bytes, waiting, LIMITS.bytes);
        assert_late(operations, own().count(), LIMITS.operations);
        if list.waiting.is_empty() {
            assert_eq!((bytes, operations), (0, 0));
        }
        assert_eq!(queue.wire_bytes(), list.wire.len());
        assert_eq!(queue.is_empty(), list.waiting.is_empty());
        assert_eq!(queue.front().is_empty(), list.wire.is_empty());
        if queue.is_contiguous() {
            assert_eq!(queue.front().len(), list.wire.len());
        }
        let news = !list.completed.is_empty() || list.released.1 > 0;
        assert_eq!(queue.has_completions(), news);
        let half = bytes <= LIMITS.bytes / 2 && operations <= LIMITS.operations / 2;
        assert_eq!(queue.is_half_empty(), half);
        let room = LIMITS.bytes.checked_sub(bytes);
        let room = room.filter(|_| operations < LIMITS.operations);
        assert_eq!(queue.admits(0).is_ok(), room.is_some());
        if let Some(room) = room {
            assert!(queue.admits(room).is_ok() && queue.admits(room + 1).is_err());
        }
    }
}

fn assert_late(counted: usize, exact: usize, limit: usize) {
    let range = exact..=exact + limit / LATE_SHARE;
    assert!(range.contains(&counted), "{counted} is not in {range:?}");
}

/// A prefix, a payload and an account.
fn operation(input: &mut Input<'_>) -> (Vec<u8>, Vec<u8>, Account) {
    let kind = input.byte();
    let account = match kind % 4 {
        0 | 1 => Account::Own,
        2 => Account::Remote,
        _ => Account::Unaccounted,
    };
    let length = match kind / 4 % 4 {
        0 => 0,
        1 | 2 => usize::from(input.byte()),
        _ => input.number() % LONGEST,
    };
    let with = input.byte();
    // Not all the same, so that an order that was broken is seen.
    let payload = (0..length).map(|at| with.wrapping_add((at % 251) as u8));
    (
        vec![0xee; usize::from(kind / 16 % 10)],
        payload.collect(),
        account,
    )
}

impl List {
    fn push(&mut self, prefix: &[u8], payload: &[u8], account: Account, token: Option<u32>) {
        self.next += 1;
        self.wire.extend(prefix.iter().chain(payload));
        self.pushed += prefix.len() + payload.len();
        self.waiting.push_back(Operation {
            end: self.pushed,
            bytes: payload.len(),
            account,
            token,
        });
    }

    fn advance(&mut self, count: usize) {
        self.wire.drain(..count);
        self.written += count;
        while let Some(operation) = self
            .waiting
            .pop_front_if(|operation| operation.end <= self.written)
        {
            self.release(&operation);
            self.completed
                .extend(operation.token.map(|token| (token, operation.bytes)));
        }
    }

    fn release(&mut self, operation: &Operation) {
        if operation.account == Account::Remote {
            self.released.0 += operation.bytes;
            self.released.1 += 1;
        }
    }
}
