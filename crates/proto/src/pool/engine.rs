//! The pool itself.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::pace::Pace;
use super::slots::{Slots, State};
use super::waiters::{Fate, Waiters};
use super::{Config, ConfigError, Counts, SlotId, WaiterId};

/// Why an acquire gets no connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Refusal {
    /// No connection is idle.
    NoneIdle,
    /// As many wait as may.
    QueueFull,
    /// Its deadline has passed.
    TimedOut,
    /// The pool is closed.
    Closed,
}

/// Where a waiter stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Turn {
    /// Its turn has not come.
    Waiting,
    /// This connection is lent to it.
    Lent(SlotId),
    /// It gets none.
    Refused(Refusal),
}

/// What the driver is to do.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Action {
    /// Make a connection, and say how it went: [`Engine::handle_connected`] or [`Engine::handle_connect_failed`].
    Connect(SlotId),
    /// Wake a waiter: [`Engine::take`] has something for it.
    Wake(WaiterId),
    /// Say goodbye on a connection, and tell when it is gone: [`Engine::handle_ended`].
    End(SlotId),
}

/// What has happened since the pool was made.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Totals {
    /// Leases.
    pub lent: u64,
    /// Connections that were made.
    pub connected: u64,
    /// Connects that failed.
    pub connects_failed: u64,
    /// Connections that were given up because they could not be used again.
    pub discarded: u64,
    /// Connections that were ended for their age.
    pub expired: u64,
    /// Connections that were ended because they were idle for too long.
    pub idled_out: u64,
    /// Acquires whose deadline passed.
    pub timed_out: u64,
    /// Acquires that were given up by their callers.
    pub cancelled: u64,
    /// Acquires that the queue had no room for.
    pub queue_full: u64,
}

/// Decides who gets which connection of a pool.
///
/// After every `handle_*` and every command, [`poll_action`](Self::poll_action) until `None`, then look at
/// [`next_deadline`](Self::next_deadline). Time may lag: a coarse clock serves for all but
/// [`handle_timeout`](Self::handle_timeout), and a deadline that is set by it is as early as the clock is late.
///
/// Ids that are out of date change nothing.
#[derive(Clone, Debug)]
pub struct Engine {
    config: Config,
    slots: Slots,
    waiters: Waiters,
    pace: Pace,
    /// Somebody who does not wait would like to have a connection.
    asked: bool,
    closed: bool,
    /// Nothing is due earlier. What is due may be later than this: then the driver comes for nothing, once, and each
    /// command is spared the search for the earliest.
    due: Option<Instant>,
    actions: VecDeque<Action>,
    totals: Totals,
}

impl Engine {
    /// A pool without connections. Those that it keeps are asked for at once.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] says what cannot work.
    pub fn new(config: Config, now: Instant) -> Result<Self, ConfigError> {
        config.check()?;
        let mut engine = Self {
            config,
            slots: Slots::default(),
            waiters: Waiters::default(),
            pace: Pace::new(&config),
            asked: false,
            closed: false,
            due: None,
            actions: VecDeque::new(),
            totals: Totals::default(),
        };
        engine.fill(now);
        Ok(engine)
    }

    /// The configuration.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Connections by state.
    #[must_use]
    pub fn counts(&self) -> Counts {
        *self.slots.counts()
    }

    /// Acquires that wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiters.waiting()
    }

    /// What has happened so far.
    #[must_use]
    pub const fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Whether the last connect to end had failed.
    #[must_use]
    pub fn is_failing(&self) -> bool {
        self.pace.is_failing()
    }

    /// Whether the pool was closed.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        self.closed
    }

    /// Whether the pool was closed and nothing of it is left.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.closed && self.slots.counts().total() == 0
    }

    /// A connection was made. `random` is 64 random bits for its age.
    pub fn handle_connected(&mut self, slot: SlotId, now: Instant, random: u64) {
        if !self.slots.is(slot, State::Connecting) {
            return;
        }
        self.totals.connected += 1;
        self.pace.succeeded();
        self.asked = false;
        let age = self.config.max_age.map(|age| jittered(age, random));
        let expires = age.and_then(|age| now.checked_add(age));
        self.slots.set_expiry(slot, expires);
        self.place(slot, now);
        self.fill(now);
    }

    /// A connection could not be made. `random` is 64 random bits for the pause. Waiters go on waiting.
    pub fn handle_connect_failed(&mut self, slot: SlotId, now: Instant, random: u64) {
        if !self.slots.is(slot, State::Connecting) {
            return;
        }
        self.totals.connects_failed += 1;
        self.pace.failed(now, random);
        self.slots.remove(slot);
        self.fill(now);
    }

    /// A connection that was to end is gone.
    pub fn handle_ended(&mut self, slot: SlotId, now: Instant) {
        if self.slots.is(slot, State::Ending) {
            self.slots.remove(slot);
            self.fill(now);
        }
    }

    /// Does what is due at `now`. Calling it early is harmless.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some((waiter, fate)) = self.waiters.expire(now) {
            self.totals.timed_out += 1;
            self.actions.push_back(Action::Wake(waiter));
            if let Fate::Granted(slot) = fate {
                self.place(slot, now);
            }
        }
        for slot in self.slots.take_expired(now) {
            self.totals.expired += 1;
            self.retire(slot);
        }
        while self.idles_too_long(now) {
            let Some(slot) = self.slots.pop_longest_idle() else {
                break;
            };
            self.totals.idled_out += 1;
            self.retire(slot);
        }
        self.due = None;
        self.fill(now);
        self.note_all();
    }

    /// Lends an idle connection, if there is one. If there is none, [`wait`](Self::wait) or [`ask`](Self::ask).
    ///
    /// # Errors
    ///
    /// [`Refusal::NoneIdle`] or [`Refusal::Closed`].
    #[inline]
    pub fn try_acquire(&mut self, now: Instant) -> Result<SlotId, Refusal> {
        if self.closed {
            return Err(Refusal::Closed);
        }
        while let Some(slot) = self.slots.pop_idle() {
            if !self.has_expired(slot, now) {
                self.totals.lent += 1;
                self.slots.set(slot, State::Leased);
                return Ok(slot);
            }
            self.totals.expired += 1;
            self.retire(slot);
        }
        Err(Refusal::NoneIdle)
    }

    /// Waits for a connection behind all others.
    ///
    /// # Errors
    ///
    /// [`Refusal::QueueFull`] or [`Refusal::Closed`].
    pub fn wait(&mut self, now: Instant, deadline: Instant) -> Result<WaiterId, Refusal> {
        if self.closed {
            return Err(Refusal::Closed);
        }
        if self.waiters.waiting() >= self.config.queue {
            self.totals.queue_full += 1;
            return Err(Refusal::QueueFull);
        }
        let waiter = self.waiters.push_back(deadline);
        self.waits(now, deadline);
        Ok(waiter)
    }

    /// Waits before all others: for an acquire whose turn had come, but whose connection was dead.
    ///
    /// # Errors
    ///
    /// [`Refusal::Closed`].
    pub fn wait_first(&mut self, now: Instant, deadline: Instant) -> Result<WaiterId, Refusal> {
        if self.closed {
            return Err(Refusal::Closed);
        }
        let waiter = self.waiters.push_front(deadline);
        self.waits(now, deadline);
        Ok(waiter)
    }

    /// Has a connection made for somebody who does not wait, if there is room for one.
    pub fn ask(&mut self, now: Instant) {
        self.asked = !self.closed;
        self.fill(now);
    }

    /// What became of a waiter. Unless it still waits, it is forgotten. `None` for one that is forgotten already.
    pub fn take(&mut self, waiter: WaiterId) -> Option<Turn> {
        let fate = self.waiters.fate(waiter)?;
        if fate == Fate::Waiting {
            return Some(Turn::Waiting);
        }
        self.waiters.remove(waiter);
        Some(match fate {
            Fate::Waiting => Turn::Waiting,
            Fate::Refused(refusal) => Turn::Refused(refusal),
            Fate::Granted(slot) => {
                self.totals.lent += 1;
                self.slots.set(slot, State::Leased);
                Turn::Lent(slot)
            }
        })
    }

    /// A waiter does not want a connection any more. If it had been granted one, that goes to the next.
    pub fn cancel(&mut self, waiter: WaiterId, now: Instant) {
        match self.waiters.remove(waiter) {
            Some(Fate::Granted(slot)) => {
                self.totals.cancelled += 1;
                self.place(slot, now);
            }
            Some(Fate::Waiting) => self.totals.cancelled += 1,
            // A refusal was counted when it came.
            None | Some(Fate::Refused(_)) => {}
        }
    }

    /// A lease is over, and its connection can be used again. Whether the engine knows the lease.
    #[inline]
    pub fn release(&mut self, slot: SlotId, now: Instant) -> bool {
        let known = self.slots.is(slot, State::Leased);
        if known {
            self.place(slot, now);
        }
        known
    }

    /// A lease is over, and its connection is gone already.
    pub fn discard(&mut self, slot: SlotId, now: Instant) {
        if self.slots.is(slot, State::Leased) {
            self.totals.discarded += 1;
            self.slots.remove(slot);
            self.fill(now);
        }
    }

    /// Lends nothing more. Who waits is refused, what is idle ends, what is lent ends when it is returned. Connects that
    /// run may be given up: [`handle_connect_failed`](Self::handle_connect_failed).
    pub fn close(&mut self) {
        self.closed = true;
        self.asked = false;
        self.due = None;
        while let Some(waiter) = self.waiters.refuse_first(Refusal::Closed) {
            self.actions.push_back(Action::Wake(waiter));
        }
        for (slot, waiter) in self.slots.granted() {
            self.waiters.revoke(waiter, Refusal::Closed);
            self.actions.push_back(Action::Wake(waiter));
            self.retire(slot);
        }
        while let Some(slot) = self.slots.pop_longest_idle() {
            self.retire(slot);
        }
    }

    /// The next thing to do.
    #[inline]
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// Whether [`poll_action`](Self::poll_action) has something.
    #[inline]
    #[must_use]
    pub fn has_actions(&self) -> bool {
        !self.actions.is_empty()
    }

    /// When [`handle_timeout`](Self::handle_timeout) is wanted. It may turn out to have been for nothing; then the
    /// deadline is a later one.
    #[inline]
    #[must_use]
    pub const fn next_deadline(&self) -> Option<Instant> {
        self.due
    }

    /// Somebody new is in the queue.
    fn waits(&mut self, now: Instant, deadline: Instant) {
        self.note(Some(deadline));
        // Nobody waits while something is idle, whoever did not look before waiting.
        while self.waiters.waiting() > 0 {
            let Some(slot) = self.slots.pop_idle() else {
                break;
            };
            self.place(slot, now);
        }
        self.fill(now);
    }

    /// Says where a connection goes that can be used and is nobody's: to who has waited longest, or to rest.
    #[inline]
    fn place(&mut self, slot: SlotId, now: Instant) {
        if self.closed {
            self.retire(slot);
        } else if self.has_expired(slot, now) {
            self.totals.expired += 1;
            self.retire(slot);
        } else if let Some(waiter) = self.waiters.grant_first(slot) {
            self.slots.set(slot, State::Granted(waiter));
            self.actions.push_back(Action::Wake(waiter));
        } else {
            self.slots.push_idle(slot, now);
            self.note(self.slots.expires(slot));
            let idle = self.config.max_idle;
            self.note(idle.and_then(|idle| now.checked_add(idle)));
        }
    }

    fn retire(&mut self, slot: SlotId) {
        self.slots.set(slot, State::Ending);
        self.actions.push_back(Action::End(slot));
    }

    /// Has connections made, as many as are needed and may be.
    fn fill(&mut self, now: Instant) {
        while self.lacks_a_connect() {
            if let Some(retry) = self.pace.paused(now) {
                self.note(Some(retry));
                return;
            }
            let slot = self.slots.insert();
            self.actions.push_back(Action::Connect(slot));
        }
    }

    /// Whether one more connect should run, if this is the time for one.
    fn lacks_a_connect(&self) -> bool {
        let counts = self.slots.counts();
        let wanted = self.waiters.waiting() + usize::from(self.asked);
        let missing = self.config.min.saturating_sub(counts.open());
        !self.closed
            && counts.total() < self.config.max
            && counts.connecting < self.pace.at_once()
            && counts.connecting < wanted.max(missing)
    }

    #[inline]
    fn has_expired(&self, slot: SlotId, now: Instant) -> bool {
        self.slots
            .expires(slot)
            .is_some_and(|expires| expires <= now)
    }

    fn has_more_than_it_keeps(&self) -> bool {
        self.slots.counts().open() > self.config.min
    }

    fn idles_too_long(&self, now: Instant) -> bool {
        self.has_more_than_it_keeps() && self.idle_until().is_some_and(|until| until <= now)
    }

    fn idle_until(&self) -> Option<Instant> {
        self.slots.longest_idle_until(self.config.max_idle?)
    }

    /// Something is due then.
    #[inline]
    fn note(&mut self, at: Option<Instant>) {
        if let Some(at) = at
            && self.due.is_none_or(|due| at < due)
        {
            self.due = Some(at);
        }
    }

    fn note_all(&mut self) {
        self.note(self.waiters.next_deadline());
        self.note(self.slots.next_expiry());
        if self.has_more_than_it_keeps() {
            self.note(self.idle_until());
        }
    }

    /// Whether everything adds up.
    #[cfg(test)]
    pub(super) fn is_consistent(&self) -> bool {
        let counts = self.slots.counts();
        self.slots.is_consistent()
            && self.waiters.is_consistent()
            && counts.total() <= self.config.max
            && (counts.idle == 0 || self.waiters.waiting() == 0)
    }
}

/// An age less up to a tenth of it.
fn jittered(age: Duration, random: u64) -> Duration {
    let tenth = u64::try_from((age / 10).as_nanos()).unwrap_or(u64::MAX);
    // A fraction of 2^64, which random bits are over; the product of two u64 fits.
    let share = (u128::from(tenth) * u128::from(random)) >> u64::BITS;
    age.saturating_sub(Duration::from_nanos(
        u64::try_from(share).unwrap_or(u64::MAX),
    ))
}
