//! Who waits for a connection, in which order and until when.

use std::collections::BTreeSet;
use std::time::Instant;

use super::{Refusal, SlotId};

/// One acquire that waits. Its index is used again; the generation tells its users apart.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct WaiterId {
    index: usize,
    generation: u64,
}

impl WaiterId {
    /// The place of the waiter: no other waiter's until this one was taken or cancelled.
    #[must_use]
    pub const fn index(self) -> usize {
        self.index
    }
}

/// What became of a waiter.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Fate {
    /// In the queue.
    Waiting,
    /// It has a connection, which it has not taken.
    Granted(SlotId),
    /// It gets none.
    Refused(Refusal),
}

#[derive(Clone, Debug)]
struct Waiter {
    generation: u64,
    /// `None` where the place is vacant.
    fate: Option<Fate>,
    deadline: Instant,
    before: Option<usize>,
    after: Option<usize>,
}

/// The waiters of a pool: a queue from whose middle one can leave, and an order by deadline.
///
/// A deadline counts until the connection has been taken, so that a future which was granted one and is not polled holds
/// nobody up for longer.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiters {
    waiters: Vec<Waiter>,
    vacant: Vec<usize>,
    first: Option<usize>,
    last: Option<usize>,
    waiting: usize,
    deadlines: BTreeSet<(Instant, usize)>,
}

impl Waiters {
    /// How many are in the queue.
    #[inline]
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// The first deadline of all who have not taken a connection yet.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    pub(super) fn fate(&self, id: WaiterId) -> Option<Fate> {
        let waiter = self.waiters.get(id.index)?;
        waiter.fate.filter(|_| waiter.generation == id.generation)
    }

    pub(super) fn push_back(&mut self, deadline: Instant) -> WaiterId {
        let id = self.insert(deadline);
        let before = self.last.replace(id.index);
        self.link(before, id.index);
        self.first = self.first.or(Some(id.index));
        id
    }

    /// A waiter that has had its turn before, and whom nobody may overtake.
    pub(super) fn push_front(&mut self, deadline: Instant) -> WaiterId {
        let id = self.insert(deadline);
        match self.first.replace(id.index) {
            Some(after) => self.link(Some(id.index), after),
            None => self.last = Some(id.index),
        }
        id
    }

    fn insert(&mut self, deadline: Instant) -> WaiterId {
        let index = self.vacant.pop().unwrap_or(self.waiters.len());
        let generation = self
            .waiters
            .get(index)
            .map_or(0, |waiter| waiter.generation.wrapping_add(1));
        let waiter = Waiter {
            generation,
            fate: Some(Fate::Waiting),
            deadline,
            before: None,
            after: None,
        };
        match self.waiters.get_mut(index) {
            Some(place) => *place = waiter,
            None => self.waiters.push(waiter),
        }
        self.deadlines.insert((deadline, index));
        self.waiting += 1;
        WaiterId { index, generation }
    }

    fn link(&mut self, before: Option<usize>, after: usize) {
        if let Some(before) = before.and_then(|before| self.waiters.get_mut(before)) {
            before.after = Some(after);
        }
        if let Some(after) = self.waiters.get_mut(after) {
            after.before = before;
        }
    }

    /// Gives the first in the queue a connection.
    pub(super) fn grant_first(&mut self, slot: SlotId) -> Option<WaiterId> {
        let index = self.first?;
        self.unlink(index);
        self.settle(index, Fate::Granted(slot))
    }

    /// Refuses the first in the queue; its deadline is of no more interest.
    pub(super) fn refuse_first(&mut self, refusal: Refusal) -> Option<WaiterId> {
        self.refuse(self.first?, refusal)
    }

    /// Refuses the first whose deadline has come, in the queue or not, and says what it had been.
    pub(super) fn expire(&mut self, now: Instant) -> Option<(WaiterId, Fate)> {
        let (_, index) = *self
            .deadlines
            .first()
            .filter(|(deadline, _)| *deadline <= now)?;
        let fate = self.waiters.get(index)?.fate?;
        let id = self.refuse(index, Refusal::TimedOut)?;
        Some((id, fate))
    }

    /// Refuses a waiter that had been granted a connection.
    pub(super) fn revoke(&mut self, id: WaiterId, refusal: Refusal) {
        self.refuse(id.index, refusal);
    }

    fn refuse(&mut self, index: usize, refusal: Refusal) -> Option<WaiterId> {
        let waiter = self.waiters.get(index)?;
        self.deadlines.remove(&(waiter.deadline, index));
        if waiter.fate == Some(Fate::Waiting) {
            self.unlink(index);
        }
        self.settle(index, Fate::Refused(refusal))
    }

    fn settle(&mut self, index: usize, fate: Fate) -> Option<WaiterId> {
        let waiter = self.waiters.get_mut(index)?;
        waiter.fate = Some(fate);
        Some(WaiterId {
            index,
            generation: waiter.generation,
        })
    }

    /// Forgets a waiter, and says what had become of it.
    pub(super) fn remove(&mut self, id: WaiterId) -> Option<Fate> {
        let fate = self.fate(id)?;
        if fate == Fate::Waiting {
            self.unlink(id.index);
        }
        let waiter = self.waiters.get_mut(id.index)?;
        waiter.fate = None;
        self.deadlines.remove(&(waiter.deadline, id.index));
        self.vacant.push(id.index);
        Some(fate)
    }

    /// Takes a waiter out of the queue.
    fn unlink(&mut self, index: usize) {
        let Some(waiter) = self.waiters.get_mut(index) else {
            return;
        };
        let (before, after) = (waiter.before.take(), waiter.after.take());
        match before.and_then(|before| self.waiters.get_mut(before)) {
            Some(before) => before.after = after,
            None => self.first = after,
        }
        match after.and_then(|after| self.waiters.get_mut(after)) {
            Some(after) => after.before = before,
            None => self.last = before,
        }
        self.waiting = self.waiting.saturating_sub(1);
    }

    /// Walks the queue both ways; whether it is as long as it says.
    #[cfg(test)]
    pub(super) fn is_consistent(&self) -> bool {
        let walk = |first: Option<usize>, next: fn(&Waiter) -> Option<usize>| {
            std::iter::successors(first, |index| next(&self.waiters[*index])).collect::<Vec<_>>()
        };
        let forward = walk(self.first, |waiter| waiter.after);
        let mut backward = walk(self.last, |waiter| waiter.before);
        backward.reverse();
        let held = |waiter: &&Waiter| matches!(waiter.fate, Some(Fate::Waiting | Fate::Granted(_)));
        let used = self.waiters.iter().filter(|waiter| waiter.fate.is_some());
        forward == backward
            && forward.len() == self.waiting
            && self.deadlines.len() == self.waiters.iter().filter(held).count()
            && used.count() + self.vacant.len() == self.waiters.len()
    }
}
