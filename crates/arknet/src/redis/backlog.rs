//! A bounded queue from the task of a connection to one consumer, that never makes the connection wait.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use crate::lanes::lock;

/// What happens to a message for which there is no room in a queue.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Overflow {
    /// The oldest ones that wait are dropped for it. The default: what is new matters more.
    #[default]
    DropOldest,
    /// It is dropped, and so are those that come after it until there is room.
    DropNewest,
    /// The queue ends behind what is in it: for consumers that would rather begin anew than miss something.
    Disconnect,
}

/// The bounds of a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) items: usize,
    pub(super) bytes: usize,
    pub(super) overflow: Overflow,
}

/// What has become of an item.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Pushed {
    /// Somebody takes items still.
    pub(super) going_on: bool,
    /// Items, it or others, that there was no room for.
    pub(super) dropped: usize,
}

/// What a consumer gets.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Next<T> {
    Item(T),
    /// At this place so many items were dropped.
    Missed(u64),
}

/// One end of the queue; both are alike.
pub(super) struct Backlog<T> {
    inner: Arc<Mutex<Inner<T>>>,
}

struct Inner<T> {
    items: VecDeque<Entry<T>>,
    bytes: usize,
    bounds: Bounds,
    /// Items that were dropped behind the last one.
    missed: u64,
    consumer: Option<Waker>,
    ended: bool,
}

struct Entry<T> {
    item: T,
    bytes: usize,
    /// Items that were dropped before it.
    missed: u64,
}

impl<T> Clone for Backlog<T> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
        }
    }
}

impl<T> std::fmt::Debug for Backlog<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let inner = lock(&self.inner);
        f.debug_struct("Backlog")
            .field("items", &inner.items.len())
            .field("ended", &inner.ended)
            .finish_non_exhaustive()
    }
}

impl<T> Backlog<T> {
    pub(super) fn new(bounds: Bounds) -> Self {
        let inner = Inner {
            items: VecDeque::new(),
            bytes: 0,
            bounds,
            missed: 0,
            consumer: None,
            ended: false,
        };
        Self {
            inner: Arc::new(Mutex::new(inner)),
        }
    }

    /// Appends an item of so many bytes, or deals with it as the policy says.
    pub(super) fn push(&self, item: T, bytes: usize) -> Pushed {
        let mut inner = lock(&self.inner);
        if inner.ended {
            return Pushed::default();
        }
        let pushed = inner.admit(item, bytes);
        let consumer = inner.consumer.take();
        drop(inner);
        if let Some(consumer) = consumer {
            consumer.wake();
        }
        pushed
    }

    /// Takes the next item; `None` is the end.
    pub(super) fn poll_next(&self, cx: &mut Context<'_>) -> Poll<Option<Next<T>>> {
        let mut inner = lock(&self.inner);
        if let Some(next) = inner.next() {
            return Poll::Ready(Some(next));
        }
        if inner.ended {
            return Poll::Ready(None);
        }
        match &mut inner.consumer {
            Some(consumer) => consumer.clone_from(cx.waker()),
            None => inner.consumer = Some(cx.waker().clone()),
        }
        Poll::Pending
    }

    /// Nothing will come any more behind what is there.
    pub(super) fn end(&self) {
        let mut inner = lock(&self.inner);
        inner.ended = true;
        let consumer = inner.consumer.take();
        drop(inner);
        if let Some(consumer) = consumer {
            consumer.wake();
        }
    }

    /// Nobody takes anything any more.
    pub(super) fn abandon(&self) {
        let mut inner = lock(&self.inner);
        inner.ended = true;
        inner.consumer = None;
        let items = std::mem::take(&mut inner.items);
        drop(inner);
        drop(items);
    }

    pub(super) fn has_ended(&self) -> bool {
        lock(&self.inner).ended
    }
}

impl<T> Inner<T> {
    fn has_room(&self, bytes: usize) -> bool {
        // One item is always let in, however large: the reply limits bound it.
        self.items.is_empty()
            || (self.items.len() < self.bounds.items && self.bytes + bytes <= self.bounds.bytes)
    }

    fn admit(&mut self, item: T, bytes: usize) -> Pushed {
        let mut pushed = Pushed {
            going_on: true,
            dropped: 0,
        };
        while !self.has_room(bytes) {
            match self.bounds.overflow {
                Overflow::DropOldest => self.drop_oldest(),
                Overflow::DropNewest | Overflow::Disconnect => {
                    self.missed += 1;
                    self.ended = self.bounds.overflow == Overflow::Disconnect;
                    pushed.dropped += 1;
                    pushed.going_on = !self.ended;
                    return pushed;
                }
            }
            pushed.dropped += 1;
        }
        self.bytes += bytes;
        self.items.push_back(Entry {
            item,
            bytes,
            missed: std::mem::take(&mut self.missed),
        });
        pushed
    }

    fn drop_oldest(&mut self) {
        let Some(oldest) = self.items.pop_front() else {
            return;
        };
        self.bytes -= oldest.bytes;
        let missed = oldest.missed + 1;
        match self.items.front_mut() {
            Some(next) => next.missed += missed,
            None => self.missed += missed,
        }
    }

    fn next(&mut self) -> Option<Next<T>> {
        let missed = match self.items.front_mut() {
            Some(first) => &mut first.missed,
            None => &mut self.missed,
        };
        if *missed > 0 {
            return Some(Next::Missed(std::mem::take(missed)));
        }
        let first = self.items.pop_front()?;
        self.bytes -= first.bytes;
        Some(Next::Item(first.item))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backlog(overflow: Overflow) -> Backlog<u32> {
        Backlog::new(Bounds {
            items: 3,
            bytes: 30,
            overflow,
        })
    }

    fn drain(backlog: &Backlog<u32>) -> (Vec<Next<u32>>, bool) {
        let mut cx = Context::from_waker(Waker::noop());
        let mut taken = Vec::new();
        loop {
            match backlog.poll_next(&mut cx) {
                Poll::Ready(Some(next)) => taken.push(next),
                Poll::Ready(None) => return (taken, true),
                Poll::Pending => return (taken, false),
            }
        }
    }

    #[test]
    fn the_oldest_make_room_and_their_place_says_so() {
        let backlog = backlog(Overflow::DropOldest);
        for item in 0..5 {
            assert!(backlog.push(item, 1).going_on);
        }
        let taken = drain(&backlog).0;
        let expected = [Next::Missed(2), Next::Item(2), Next::Item(3), Next::Item(4)];
        assert_eq!(taken, expected);
    }

    #[test]
    fn the_newest_are_dropped_and_their_place_says_so() {
        let backlog = backlog(Overflow::DropNewest);
        for item in 0..5 {
            assert!(backlog.push(item, 1).going_on);
        }
        let taken = drain(&backlog).0;
        let expected = [Next::Item(0), Next::Item(1), Next::Item(2), Next::Missed(2)];
        assert_eq!(taken, expected);
        assert!(backlog.push(9, 1).going_on);
        assert_eq!(drain(&backlog).0, [Next::Item(9)]);
    }

    #[test]
    fn a_queue_that_disconnects_gives_what_it_has_and_ends() {
        let backlog = backlog(Overflow::Disconnect);
        assert!(backlog.push(0, 29).going_on);
        assert!(!backlog.push(1, 2).going_on);
        assert!(!backlog.push(2, 1).going_on);
        let expected = vec![Next::Item(0), Next::Missed(1)];
        assert_eq!(drain(&backlog), (expected, true));
    }

    #[test]
    fn bytes_are_bounded_but_one_item_fits_always() {
        let backlog = backlog(Overflow::DropOldest);
        assert!(backlog.push(0, 100).going_on);
        assert!(backlog.push(1, 100).going_on);
        assert_eq!(drain(&backlog).0, [Next::Missed(1), Next::Item(1)]);
    }
}
