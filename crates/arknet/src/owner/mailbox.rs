//! Where other threads put what is for the owner: a queue per source, bounded by count and bytes.
//!
//! The owner takes all of it at once, so that a thread that posts and the owner meet at a lock for the time of a swap.
//! What has been taken and not yet been delivered still counts against the bounds: an owner that has stalled holds
//! no more than they say.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use super::signal::{Signal, SourceId};
use crate::sync::{Mutex, lock};

/// How many threads or tasks may wait for room in one mailbox; whoever comes later is refused.
const WAITERS: usize = 1024;

#[derive(Debug)]
pub(crate) struct Mailbox<T> {
    inner: Mutex<Inner<T>>,
    signal: Arc<Signal>,
    source: SourceId,
    most_items: usize,
    most_bytes: usize,
}

#[derive(Debug)]
struct Inner<T> {
    items: VecDeque<T>,
    /// Posted and not yet delivered.
    count: usize,
    bytes: usize,
    /// The owner has been told and has not looked yet.
    listed: bool,
    closed: bool,
    dropped: u64,
    refused: u64,
    waiters: Vec<Waker>,
}

impl<T> Inner<T> {
    fn add(&mut self, item: T, bytes: usize) {
        self.count = self.count.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes);
        self.items.push_back(item);
    }
}

/// Why a mailbox did not take something.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Refusal {
    Items,
    Bytes,
    Closed,
}

impl<T> Mailbox<T> {
    pub(crate) fn new(
        signal: Arc<Signal>,
        source: SourceId,
        most_items: usize,
        most_bytes: usize,
    ) -> Self {
        Self {
            inner: Mutex::new(Inner {
                items: VecDeque::new(),
                count: 0,
                bytes: 0,
                listed: false,
                closed: false,
                dropped: 0,
                refused: 0,
                waiters: Vec::new(),
            }),
            signal,
            source,
            most_items,
            most_bytes,
        }
    }

    /// Adds an item of `bytes`, or gives it back. One item always finds room in an empty mailbox, whatever its size.
    pub(crate) fn post(&self, item: T, bytes: usize) -> Result<(), (Refusal, T)> {
        self.post_with(bytes, item, |item| item)
    }

    /// As [`post`](Self::post), of what `make` makes of `seed` once there is room for it.
    pub(crate) fn post_with<S>(
        &self,
        bytes: usize,
        seed: S,
        make: impl FnOnce(S) -> T,
    ) -> Result<(), (Refusal, S)> {
        let mut inner = lock(&self.inner);
        if let Some(refusal) = self.refusal(&inner, bytes) {
            inner.refused = inner.refused.saturating_add(1);
            return Err((refusal, seed));
        }
        inner.add(make(seed), bytes);
        self.tell(inner);
        Ok(())
    }

    /// Adds items of `bytes` in all, whose room was reserved when they were asked for. After the end they are dropped.
    pub(crate) fn post_reserved(&self, items: &mut Vec<T>, bytes: usize) {
        if items.is_empty() {
            return;
        }
        let mut inner = lock(&self.inner);
        if inner.closed {
            drop(inner);
            items.clear();
            return;
        }
        inner.count = inner.count.saturating_add(items.len());
        inner.bytes = inner.bytes.saturating_add(bytes);
        inner.items.extend(items.drain(..));
        self.tell(inner);
    }

    /// Adds an item, and pushes out the oldest ones that the owner has not taken to make room for it; returns how many.
    pub(crate) fn post_newest(
        &self,
        item: T,
        bytes: usize,
        size: impl Fn(&T) -> usize,
    ) -> Result<u64, (Refusal, T)> {
        let mut inner = lock(&self.inner);
        let mut pushed_out = Vec::new();
        let refused = loop {
            match self.refusal(&inner, bytes) {
                None => break None,
                Some(Refusal::Closed) => break Some(Refusal::Closed),
                Some(refusal) => match inner.items.pop_front() {
                    Some(old) => {
                        inner.count = inner.count.saturating_sub(1);
                        inner.bytes = inner.bytes.saturating_sub(size(&old));
                        pushed_out.push(old);
                    }
                    None => break Some(refusal),
                },
            }
        };
        let count = pushed_out.len() as u64;
        inner.dropped = inner.dropped.saturating_add(count);
        if let Some(refusal) = refused {
            inner.refused = inner.refused.saturating_add(1);
            return Err((refusal, item));
        }
        inner.add(item, bytes);
        self.tell(inner);
        // Dropped without the lock: they may be anything.
        drop(pushed_out);
        Ok(count)
    }

    fn tell(&self, mut inner: crate::sync::MutexGuard<'_, Inner<T>>) {
        let first = !std::mem::replace(&mut inner.listed, true);
        drop(inner);
        if first {
            self.signal.notify(self.source);
        }
    }

    fn refusal(&self, inner: &Inner<T>, bytes: usize) -> Option<Refusal> {
        if inner.closed {
            Some(Refusal::Closed)
        } else if inner.count >= self.most_items {
            Some(Refusal::Items)
        } else if inner.count > 0 && inner.bytes.saturating_add(bytes) > self.most_bytes {
            Some(Refusal::Bytes)
        } else {
            None
        }
    }

    /// Ready where `bytes` would be taken, or never will be; otherwise the waker is kept until something was delivered.
    pub(crate) fn poll_room(&self, bytes: usize, cx: &Context<'_>) -> Poll<Result<(), Refusal>> {
        let mut inner = lock(&self.inner);
        match self.refusal(&inner, bytes) {
            None => Poll::Ready(Ok(())),
            Some(Refusal::Closed) => Poll::Ready(Err(Refusal::Closed)),
            Some(refusal) if inner.waiters.len() >= WAITERS => Poll::Ready(Err(refusal)),
            Some(_) => {
                if !inner
                    .waiters
                    .iter()
                    .any(|waker| waker.will_wake(cx.waker()))
                {
                    inner.waiters.push(cx.waker().clone());
                }
                Poll::Pending
            }
        }
    }

    /// Moves all items behind those in `taken`; returns how many came.
    pub(crate) fn take(&self, taken: &mut VecDeque<T>) -> usize {
        let mut inner = lock(&self.inner);
        inner.listed = false;
        let count = inner.items.len();
        if taken.is_empty() {
            std::mem::swap(&mut inner.items, taken);
        } else {
            taken.append(&mut inner.items);
        }
        count
    }

    /// Gives back the room of what has been delivered.
    pub(crate) fn release(&self, count: usize, bytes: usize) {
        if count == 0 {
            return;
        }
        let mut inner = lock(&self.inner);
        inner.count = inner.count.saturating_sub(count);
        inner.bytes = inner.bytes.saturating_sub(bytes);
        let waiters = std::mem::take(&mut inner.waiters);
        drop(inner);
        for waiter in waiters {
            waiter.wake();
        }
    }

    /// Takes nothing more. What is in it stays until it is taken.
    pub(crate) fn close(&self) {
        let mut inner = lock(&self.inner);
        inner.closed = true;
        let waiters = std::mem::take(&mut inner.waiters);
        drop(inner);
        for waiter in waiters {
            waiter.wake();
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        lock(&self.inner).closed
    }

    /// Whether everything that was posted has been taken.
    pub(crate) fn is_drained(&self) -> bool {
        lock(&self.inner).items.is_empty()
    }

    /// How often something was refused.
    pub(crate) fn refused(&self) -> u64 {
        lock(&self.inner).refused
    }

    pub(crate) fn limits(&self) -> (usize, usize) {
        (self.most_items, self.most_bytes)
    }

    /// How many items were pushed out by newer ones.
    pub(crate) fn dropped(&self) -> u64 {
        lock(&self.inner).dropped
    }

    /// How many wait or have been taken and not been delivered.
    pub(crate) fn count(&self) -> usize {
        lock(&self.inner).count
    }
}
