//! Which requests wait for what: the order of the stream, the replies that are to come, and who wants them.
//!
//! All of it is looked at under the client's one lock, and none of it does anything but keep account: no clock, no
//! socket, and whoever is to be woken is only named. Storage is used again, so that a request allocates nothing.

use std::collections::VecDeque;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use super::finish::{Completion, Failure, Lost};
use super::slot::{Collected, Owner, Slot, Stage, Wave};

/// Slots whose storage is kept after a burst.
const KEPT_SLOTS: usize = 1024;

/// A buffer that has grown above this is given back to the system when a write has taken what was in it.
const KEPT_WIRE: usize = 256 * 1024;

/// A place in the ledger. It belongs to whoever submitted, until the result has been fetched or abandoned.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Ticket(u32);

/// Whom a change concerns, to be told when the lock has been released.
#[derive(Default)]
pub(super) struct Ready {
    pub(super) wakers: Vec<Waker>,
    pub(super) callbacks: Vec<Ticket>,
}

/// A reply that answers no request: the stream cannot be trusted any more.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Unasked;

/// What [`Ledger::expire`] leaves.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Expired {
    /// Requests whose deadline has passed.
    pub(super) requests: usize,
    /// The earliest deadline that is to come.
    pub(super) next: Option<Instant>,
}

/// See the [module](self).
#[derive(Default)]
pub(super) struct Ledger {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// In the order of the stream: first those in flight, then those that are queued or withdrawn.
    order: VecDeque<u32>,
    in_flight: usize,
    /// Requests of batches that are queued or in flight.
    requests: usize,
    /// The batches that are queued, encoded.
    wire: Vec<u8>,
    /// Bytes of `wire` that are withdrawn.
    withdrawn: usize,
    /// Where `wire` begins in the stream.
    begin: u64,
}

impl Ledger {
    /// Requests that are queued or in flight.
    pub(super) fn requests(&self) -> usize {
        self.requests
    }

    /// Bytes that are queued.
    pub(super) fn queued_bytes(&self) -> usize {
        self.wire.len() - self.withdrawn
    }

    /// Whether a write has something to take.
    pub(super) fn has_queued(&self) -> bool {
        self.queued_bytes() > 0
    }

    /// Bytes of the stream that writes have taken.
    pub(super) fn taken(&self) -> u64 {
        self.begin
    }

    /// Batches that are in flight or queued.
    pub(super) fn batches(&self) -> usize {
        self.order.len()
    }

    /// Batches that are in flight.
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// The deadline of the first batch in flight, whether or not anybody still waits for it.
    pub(super) fn first_deadline(&self) -> Option<Instant> {
        if self.in_flight == 0 {
            return None;
        }
        let first = self.order.front()?;
        self.slots.get(*first as usize)?.deadline
    }

    /// Takes in a batch of so many requests. `encode` appends them to the stream, and says who waits for them.
    #[inline]
    pub(super) fn submit(
        &mut self,
        requests: usize,
        deadline: Option<Instant>,
        encode: impl FnOnce(&mut Vec<u8>) -> Owner,
    ) -> Ticket {
        let before = self.wire.len();
        let owner = encode(&mut self.wire);
        let place = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::new());
            // The bound on requests keeps it far below.
            u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
        });
        if let Some(slot) = self.slots.get_mut(place as usize) {
            slot.owner = owner;
            slot.stage = Stage::Queued;
            slot.to_come = requests;
            slot.single = requests == 1;
            slot.ready = false;
            slot.deadline = deadline;
            slot.begin = self.begin + before as u64;
            slot.len = self.wire.len() - before;
        }
        self.order.push_back(place);
        self.requests += requests;
        Ticket(place)
    }

    /// Fetches the result. If there is none yet, `waker` is woken when there is. `into` gets what has come, and what
    /// was in it is used for another batch.
    #[inline]
    pub(super) fn fetch(
        &mut self,
        ticket: Ticket,
        waker: &Waker,
        into: &mut Collected,
    ) -> Poll<Option<Failure>> {
        let Some(slot) = self.slots.get_mut(ticket.0 as usize) else {
            return Poll::Pending;
        };
        if !slot.ready {
            match &mut slot.owner {
                Owner::Future(known) => known.clone_from(waker),
                owner => *owner = Owner::Future(waker.clone()),
            }
            return Poll::Pending;
        }
        into.take(&mut slot.collected);
        let failure = slot.failure.take();
        self.disown(ticket);
        Poll::Ready(failure)
    }

    /// Fetches a callback with its result.
    pub(super) fn fetch_callback(
        &mut self,
        ticket: Ticket,
        into: &mut Collected,
    ) -> Option<(Box<dyn Completion>, Option<Failure>)> {
        let slot = self.slots.get_mut(ticket.0 as usize)?;
        let Owner::Callback(callback) = std::mem::replace(&mut slot.owner, Owner::Nobody) else {
            return None;
        };
        into.take(&mut slot.collected);
        let failure = slot.failure.take();
        self.disown(ticket);
        Some((callback, failure))
    }

    /// Nobody wants the result any more. What is not yet with the connection is taken out of the stream; says whether it
    /// was.
    pub(super) fn abandon(&mut self, ticket: Ticket) -> bool {
        let Some(slot) = self.slots.get(ticket.0 as usize) else {
            return false;
        };
        let queued = slot.stage == Stage::Queued;
        if queued {
            self.withdraw(ticket);
        }
        self.disown(ticket);
        if queued {
            self.compact_if_worth_it();
        }
        queued
    }

    #[inline]
    fn disown(&mut self, ticket: Ticket) {
        if let Some(slot) = self.slots.get_mut(ticket.0 as usize) {
            slot.owner = Owner::Nobody;
            if slot.is_free() {
                self.release(ticket.0);
            }
        }
    }

    #[inline]
    fn release(&mut self, place: u32) {
        if let Some(slot) = self.slots.get_mut(place as usize) {
            slot.failure = None;
            slot.collected.clear();
            if self.free.len() >= KEPT_SLOTS {
                slot.collected = Collected::default();
            }
            self.free.push(place);
        }
    }

    /// Hands the queued batches over to a write: `out`, which is empty, gets their bytes, and its storage is used for
    /// the next ones. Their deadlines are put off by `lag`. Says whether there were any.
    #[inline]
    pub(super) fn take_wire(&mut self, out: &mut Vec<u8>, lag: Option<Duration>) -> bool {
        if self.withdrawn > 0 {
            self.compact();
        }
        if self.wire.is_empty() {
            return false;
        }
        if out.capacity() > KEPT_WIRE && self.wire.len() <= KEPT_WIRE / 4 {
            *out = Vec::new();
        }
        std::mem::swap(&mut self.wire, out);
        self.begin += out.len() as u64;
        for place in self.order.iter().skip(self.in_flight) {
            if let Some(slot) = self.slots.get_mut(*place as usize) {
                slot.stage = Stage::InFlight;
                if let (Some(lag), Some(deadline)) = (lag, &mut slot.deadline) {
                    *deadline += lag;
                }
            }
        }
        self.in_flight = self.order.len();
        true
    }

    /// Replies have arrived.
    ///
    /// # Errors
    ///
    /// [`Unasked`] if there are more than were asked for.
    #[inline]
    pub(super) fn deliver(&mut self, wave: &Wave<'_>, ready: &mut Ready) -> Result<(), Unasked> {
        let mut frames = wave.frames;
        while !frames.is_empty() {
            if self.in_flight == 0 {
                return Err(Unasked);
            }
            let place = *self.order.front().ok_or(Unasked)?;
            let slot = self.slots.get_mut(place as usize).ok_or(Unasked)?;
            let (mine, rest) = frames.split_at(slot.to_come.min(frames.len()));
            slot.receive(wave, mine);
            self.requests -= mine.len();
            frames = rest;
            if slot.to_come > 0 {
                continue;
            }
            slot.stage = Stage::Over;
            announce(slot, Ticket(place), ready);
            let free = slot.is_free();
            self.order.pop_front();
            self.in_flight -= 1;
            if free {
                self.release(place);
            }
        }
        Ok(())
    }

    /// Nothing is to come for a batch any more.
    fn settle(&mut self, place: u32, ready: &mut Ready) {
        if let Some(slot) = self.slots.get_mut(place as usize) {
            slot.stage = Stage::Over;
            announce(slot, Ticket(place), ready);
            if slot.is_free() {
                self.release(place);
            }
        }
    }

    /// Fails the batches whose deadline has passed. What is queued leaves the stream, and is told if that was for want of
    /// a connection; the replies to the rest are thrown away when they come.
    pub(super) fn expire(&mut self, now: Instant, connecting: bool, ready: &mut Ready) -> Expired {
        let mut expired = Expired::default();
        for index in 0..self.order.len() {
            let Some(place) = self.order.get(index).copied() else {
                break;
            };
            let Some(slot) = self.slots.get_mut(place as usize) else {
                continue;
            };
            let Some(deadline) = slot.deadline.filter(|_| waits(slot)) else {
                continue;
            };
            if deadline > now {
                expired.next = Some(expired.next.map_or(deadline, |next| next.min(deadline)));
                continue;
            }
            expired.requests += slot.to_come;
            let queued = slot.stage == Stage::Queued;
            slot.failure = Some(match (queued, connecting) {
                (false, _) => Failure::Overdue,
                (true, false) => Failure::NotWritten,
                (true, true) => Failure::NotConnected,
            });
            if queued {
                self.withdraw(Ticket(place));
            }
            if let Some(slot) = self.slots.get_mut(place as usize) {
                announce(slot, Ticket(place), ready);
            }
        }
        self.compact_if_worth_it();
        expired
    }

    /// The connection is gone; the system was given the stream up to `written`, and `pending` is the last that was taken.
    /// Those in flight fail; those that are queued stay. Returns how many requests failed.
    pub(super) fn lose(
        &mut self,
        written: u64,
        pending: &[u8],
        cause: &Lost,
        ready: &mut Ready,
    ) -> usize {
        let mut requests = 0;
        for _ in 0..std::mem::take(&mut self.in_flight) {
            let Some(place) = self.order.pop_front() else {
                break;
            };
            if let Some(slot) = self.slots.get_mut(place as usize) {
                let open = std::mem::take(&mut slot.to_come);
                self.requests -= open;
                requests += open;
                if waits(slot) {
                    slot.failure = Some(Failure::Lost {
                        cause: cause.clone(),
                        begun: slot.begun(written, pending, self.begin),
                    });
                }
            }
            self.settle(place, ready);
        }
        requests
    }

    /// Fails those that are queued, of which nothing was sent. Returns how many requests failed.
    pub(super) fn fail_queued(
        &mut self,
        ready: &mut Ready,
        failure: impl Fn() -> Failure,
    ) -> usize {
        let mut requests = 0;
        for place in self.order.split_off(self.in_flight) {
            if let Some(slot) = self.slots.get_mut(place as usize) {
                let open = std::mem::take(&mut slot.to_come);
                self.requests -= open;
                requests += open;
                if waits(slot) {
                    slot.failure = Some(failure());
                }
            }
            self.settle(place, ready);
        }
        self.wire = Vec::new();
        self.withdrawn = 0;
        requests
    }

    /// Marks a queued batch to be taken out of the stream.
    fn withdraw(&mut self, ticket: Ticket) {
        if let Some(slot) = self.slots.get_mut(ticket.0 as usize) {
            slot.stage = Stage::Withdrawn;
            self.requests -= std::mem::take(&mut slot.to_come);
            self.withdrawn += slot.len;
        }
    }

    /// Keeps what is withdrawn below what is not, so that neither memory nor work grows with it.
    fn compact_if_worth_it(&mut self) {
        if self.withdrawn > self.wire.len() / 2 {
            self.compact();
        }
    }

    /// Takes out what is withdrawn.
    #[cold]
    fn compact(&mut self) {
        let (mut kept, mut end) = (0, 0);
        for index in self.in_flight..self.order.len() {
            let Some(place) = self.order.get(index).copied() else {
                break;
            };
            let Some(slot) = self.slots.get_mut(place as usize) else {
                continue;
            };
            let from = end;
            end = from + slot.len;
            if slot.stage == Stage::Withdrawn {
                continue;
            }
            self.wire.copy_within(from..end, kept);
            slot.begin = self.begin + kept as u64;
            kept += slot.len;
        }
        self.wire.truncate(kept);
        self.withdrawn = 0;
        self.forget_withdrawn();
    }

    fn forget_withdrawn(&mut self) {
        let mut kept = self.in_flight;
        for index in self.in_flight..self.order.len() {
            let Some(place) = self.order.get(index).copied() else {
                break;
            };
            let Some(slot) = self.slots.get_mut(place as usize) else {
                continue;
            };
            if slot.stage != Stage::Withdrawn {
                self.order.swap(kept, index);
                kept += 1;
                continue;
            }
            slot.stage = Stage::Over;
            if slot.is_free() {
                self.release(place);
            }
        }
        self.order.truncate(kept);
    }
}

/// Whether somebody waits for the result, and there is none.
#[inline]
fn waits(slot: &Slot) -> bool {
    !slot.ready && !matches!(slot.owner, Owner::Nobody)
}

/// The result is there: names who wants it.
#[inline]
fn announce(slot: &mut Slot, ticket: Ticket, ready: &mut Ready) {
    if slot.ready {
        return;
    }
    match &mut slot.owner {
        Owner::Nobody => return,
        Owner::Future(waker) => {
            // The future is not asked again before it has polled, so its waker is not needed any more.
            ready
                .wakers
                .push(std::mem::replace(waker, Waker::noop().clone()));
        }
        Owner::Callback(_) => ready.callbacks.push(ticket),
    }
    slot.ready = true;
}

#[cfg(test)]
mod tests;
