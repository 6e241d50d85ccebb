//! The places of a pool's connections.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::WaiterId;

/// One connection of a pool, from before it is made until after it has gone.
///
/// Its index is below the pool's maximum and is used again; the generation tells its users apart.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct SlotId {
    index: usize,
    generation: u64,
}

impl SlotId {
    /// The place of the connection: below [`Config::max`](super::Config::max), and no other connection's as long as this
    /// one is counted.
    #[must_use]
    pub const fn index(self) -> usize {
        self.index
    }
}

/// How many connections are in which state.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counts {
    /// Being made.
    pub connecting: usize,
    /// Ready, and nobody's.
    pub idle: usize,
    /// Granted to an acquire that has not taken it yet.
    pub granted: usize,
    /// Lent.
    pub leased: usize,
    /// Saying goodbye.
    pub ending: usize,
}

impl Counts {
    /// All of them.
    #[must_use]
    pub const fn total(&self) -> usize {
        self.connecting + self.idle + self.granted + self.leased + self.ending
    }

    /// Those that can be used or are.
    #[must_use]
    pub const fn open(&self) -> usize {
        self.idle + self.granted + self.leased
    }

    fn of(&mut self, state: State) -> Option<&mut usize> {
        match state {
            State::Vacant => None,
            State::Connecting => Some(&mut self.connecting),
            State::Idle => Some(&mut self.idle),
            State::Granted(_) => Some(&mut self.granted),
            State::Leased => Some(&mut self.leased),
            State::Ending => Some(&mut self.ending),
        }
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum State {
    Vacant,
    Connecting,
    Idle,
    Granted(WaiterId),
    Leased,
    Ending,
}

#[derive(Clone, Debug)]
struct Slot {
    generation: u64,
    state: State,
    /// When it is too old.
    expires: Option<Instant>,
    /// Since when it is idle.
    since: Option<Instant>,
}

/// The slots of a pool. There are as many as were ever needed at once.
#[derive(Clone, Debug, Default)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    vacant: Vec<usize>,
    /// The one that became idle last is last, and is lent first: what is needed stays in use, the rest becomes old.
    idle: VecDeque<usize>,
    counts: Counts,
}

impl Slots {
    #[inline]
    pub(super) fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Whether the slot is in this state.
    #[inline]
    pub(super) fn is(&self, id: SlotId, state: State) -> bool {
        self.slots
            .get(id.index)
            .is_some_and(|slot| slot.generation == id.generation && slot.state == state)
    }

    /// A new slot, to be connected.
    pub(super) fn insert(&mut self) -> SlotId {
        let index = self.vacant.pop().unwrap_or_else(|| {
            self.slots.push(Slot {
                generation: 0,
                state: State::Vacant,
                expires: None,
                since: None,
            });
            self.slots.len() - 1
        });
        let id = SlotId {
            index,
            generation: self
                .slots
                .get(index)
                .map_or(0, |slot| slot.generation.wrapping_add(1)),
        };
        if let Some(slot) = self.slots.get_mut(index) {
            slot.generation = id.generation;
            slot.expires = None;
        }
        self.set(id, State::Connecting);
        id
    }

    /// The connection is gone.
    pub(super) fn remove(&mut self, id: SlotId) {
        self.set(id, State::Vacant);
        self.vacant.push(id.index);
    }

    /// The one place where a slot changes its state, so that the counts cannot differ from the slots. An idle slot that
    /// leaves its state must be out of the order of idle ones: see [`pop_idle`](Self::pop_idle) and its like.
    #[inline]
    pub(super) fn set(&mut self, id: SlotId, state: State) {
        let Some(slot) = self.slots.get_mut(id.index) else {
            return;
        };
        let old = std::mem::replace(&mut slot.state, state);
        if let Some(count) = self.counts.of(old) {
            *count = count.saturating_sub(1);
        }
        if let Some(count) = self.counts.of(state) {
            *count = count.saturating_add(1);
        }
    }

    pub(super) fn set_expiry(&mut self, id: SlotId, expires: Option<Instant>) {
        if let Some(slot) = self.slots.get_mut(id.index) {
            slot.expires = expires;
        }
    }

    #[inline]
    pub(super) fn expires(&self, id: SlotId) -> Option<Instant> {
        self.slots.get(id.index).and_then(|slot| slot.expires)
    }

    #[inline]
    pub(super) fn push_idle(&mut self, id: SlotId, now: Instant) {
        if let Some(slot) = self.slots.get_mut(id.index) {
            slot.since = Some(now);
        }
        self.set(id, State::Idle);
        self.idle.push_back(id.index);
    }

    /// Takes the slot that became idle last. It is for the caller to say what becomes of it.
    #[inline]
    pub(super) fn pop_idle(&mut self) -> Option<SlotId> {
        let index = self.idle.pop_back()?;
        self.id(index)
    }

    /// Takes the slot that has been idle for the longest time.
    pub(super) fn pop_longest_idle(&mut self) -> Option<SlotId> {
        let index = self.idle.pop_front()?;
        self.id(index)
    }

    /// When the slot that has been idle for the longest time has been so for `limit`.
    pub(super) fn longest_idle_until(&self, limit: Duration) -> Option<Instant> {
        let slot = self.slots.get(*self.idle.front()?)?;
        slot.since?.checked_add(limit)
    }

    /// Takes the idle slots that are too old.
    pub(super) fn take_expired(&mut self, now: Instant) -> Vec<SlotId> {
        let slots = &self.slots;
        let expired = |index: &usize| {
            slots
                .get(*index)
                .and_then(|slot| slot.expires)
                .is_some_and(|expires| expires <= now)
        };
        if !self.idle.iter().any(expired) {
            return Vec::new();
        }
        let (taken, kept) = self
            .idle
            .iter()
            .copied()
            .partition::<VecDeque<_>, _>(expired);
        self.idle = kept;
        taken
            .into_iter()
            .filter_map(|index| self.id(index))
            .collect()
    }

    /// Slots that were granted and not taken, and to whom.
    pub(super) fn granted(&self) -> Vec<(SlotId, WaiterId)> {
        let granted = |(index, slot): (usize, &Slot)| match slot.state {
            State::Granted(waiter) => {
                let generation = slot.generation;
                Some((SlotId { index, generation }, waiter))
            }
            _ => None,
        };
        self.slots.iter().enumerate().filter_map(granted).collect()
    }

    /// When the next idle slot is too old.
    pub(super) fn next_expiry(&self) -> Option<Instant> {
        self.idle
            .iter()
            .filter_map(|index| self.slots.get(*index)?.expires)
            .min()
    }

    #[inline]
    fn id(&self, index: usize) -> Option<SlotId> {
        let generation = self.slots.get(index)?.generation;
        Some(SlotId { index, generation })
    }

    /// Looks at each slot anew; whether the counts and the order of idle ones say the same.
    #[cfg(test)]
    pub(super) fn is_consistent(&self) -> bool {
        let mut counts = Counts::default();
        for slot in &self.slots {
            if let Some(count) = counts.of(slot.state) {
                *count += 1;
            }
        }
        let idle = |index: &usize| self.slots[*index].state == State::Idle;
        counts == self.counts
            && self.idle.len() == counts.idle
            && self.idle.iter().all(idle)
            && self.vacant.len() + counts.total() == self.slots.len()
    }
}
