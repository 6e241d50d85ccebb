//! The engine with its connections and waiters, behind one lock.
//!
//! Each operation is a change under the lock and, seldom, something to do after it: waking, spawning, dropping. Nothing of
//! somebody else's runs under the lock, so it is held for nanoseconds, and neither a manager nor a waker can deadlock it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::task::Waker;
use std::time::{Duration, Instant};

use arknet_proto::pool::{Action, ConfigError, Engine, Refusal, SlotId, Turn, WaiterId};
use tokio::sync::Notify;

use super::acquire::{Call, Callback};
use super::errands::{self, Errand};
use super::meters::{Meters, Tallies};
use super::{AcquireError, ConnectFailure, Lease, Manager, PoolConfig, PoolReport, PoolStats};
use crate::io::{coarse_now, now};
use crate::lanes::{Lanes, Tenant, drop_contained, lock};
use crate::link;

/// A connection, in a box of its own, so that lending it moves a pointer.
pub(super) struct Held<M: Manager> {
    pub(super) connection: M::Connection,
    pub(super) slot: SlotId,
    /// Since when nobody uses it.
    pub(super) since: Instant,
}

/// What all clones of a pool, its leases and its background work share.
pub(super) struct Shared<M: Manager> {
    me: Weak<Self>,
    manager: M,
    config: PoolConfig,
    lanes: Lanes,
    /// Clones of the pool.
    handles: AtomicUsize,
    state: Mutex<State<M>>,
    pub(super) meters: Meters,
    /// The pool was closed, or has become empty after that.
    closing: Notify,
}

pub(super) struct State<M: Manager> {
    pub(super) engine: Engine,
    /// By index of slot: those that are with the pool.
    connections: Vec<Option<Box<Held<M>>>>,
    /// By index of waiter.
    sleepers: Vec<Option<(WaiterId, Sleeper<M>)>>,
    /// Why the last connect failed, while they do.
    failure: Option<Arc<ConnectFailure<M::Error>>>,
    alarm: Option<Alarm>,
    /// When all should be over.
    close_by: Option<Instant>,
    lanes_ended: bool,
    tallies: Tallies,
}

/// Who waits.
pub(super) enum Sleeper<M: Manager> {
    Task(Waker),
    Callback(Callback<M>, Duration, Instant),
}

/// The task that waits for the engine's next deadline.
struct Alarm {
    armed: Instant,
    /// `None` until it has run for the first time, when it will look at the deadline anyway.
    waker: Option<Waker>,
}

/// Something to do without the lock.
enum Step<M: Manager> {
    Wake(Waker),
    Call(Callback<M>, Duration, Instant, Turn, Option<Box<Held<M>>>),
    Connect(SlotId),
    End(Option<Box<Held<M>>>, SlotId),
    Drop(Option<Box<Held<M>>>, SlotId),
    Watch,
    Nothing,
}

impl<M: Manager> Shared<M> {
    pub(super) fn start(
        manager: M,
        config: PoolConfig,
        lanes: &Lanes,
    ) -> Result<Arc<Self>, ConfigError> {
        let engine = Engine::new(config.engine, now())?;
        let name = manager.name();
        let labels = [("pool", name.as_str())];
        let state = State {
            engine,
            connections: Vec::new(),
            sleepers: Vec::new(),
            failure: None,
            alarm: None,
            close_by: None,
            lanes_ended: false,
            tallies: Tallies::new(&labels),
        };
        let shared = Arc::new_cyclic(|me: &Weak<Self>| Self {
            me: me.clone(),
            manager,
            config,
            lanes: lanes.clone(),
            handles: AtomicUsize::new(1),
            state: Mutex::new(state),
            meters: Meters::new(&labels),
            closing: Notify::new(),
        });
        let tenant: Weak<dyn Tenant> = shared.me.clone();
        lanes.admit(tenant);
        shared.settle(lock(&shared.state));
        Ok(shared)
    }

    pub(super) fn manager(&self) -> &M {
        &self.manager
    }

    pub(super) fn config(&self) -> &PoolConfig {
        &self.config
    }

    pub(super) fn lanes(&self) -> &Lanes {
        &self.lanes
    }

    pub(super) fn add_handle(&self) {
        self.handles.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether it was the last.
    pub(super) fn remove_handle(&self) -> bool {
        self.handles.fetch_sub(1, Ordering::AcqRel) == 1
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State<M>> {
        lock(&self.state)
    }

    pub(super) fn stats(&self) -> PoolStats {
        PoolStats::of(&self.lock().engine)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().engine.is_closed()
    }

    /// A lease of an idle connection that is fit for use.
    #[inline]
    pub(super) fn lease(self: &Arc<Self>) -> Result<Lease<M>, Refusal> {
        let now = coarse_now();
        loop {
            let mut state = self.lock();
            let lent = state.engine.try_acquire(now);
            let held = lent.map(|slot| state.take(slot));
            self.settle(state);
            if let Some(lease) = self.check(held?, now) {
                return Ok(lease);
            }
        }
    }

    pub(super) fn try_lease(self: &Arc<Self>) -> Result<Lease<M>, AcquireError<M::Error>> {
        self.lease().map_err(|refusal| {
            let mut state = self.lock();
            if refusal == Refusal::NoneIdle {
                state.engine.ask(now());
            }
            self.settle(state);
            self.error(refusal, Duration::ZERO)
        })
    }

    /// A lease of what was lent, if it can still be used; otherwise the connection is dropped.
    #[inline]
    pub(super) fn check(
        self: &Arc<Self>,
        held: Option<Box<Held<M>>>,
        now: Instant,
    ) -> Option<Lease<M>> {
        let held = held?;
        let idle = now.saturating_duration_since(held.since);
        let mut lease = Lease::new(self.clone(), held);
        let check = AssertUnwindSafe(|| self.manager.is_reusable(&mut lease, idle));
        match catch_unwind(check) {
            Ok(true) => return Some(lease),
            Ok(false) => {}
            Err(_) => tracing::error!("a pool's manager panicked while it looked at a connection"),
        }
        lease.discard();
        None
    }

    /// Takes a connection back from its lease.
    #[inline]
    pub(super) fn give_back(&self, mut held: Box<Held<M>>) {
        let reset = catch_unwind(AssertUnwindSafe(|| {
            self.manager.reset(&mut held.connection)
        }));
        match reset {
            Ok(super::Reset::Clean) => {}
            Ok(super::Reset::Sent) => self.meters.resets.add(1),
            Ok(super::Reset::Discard) => return self.discard(held),
            Err(_) => {
                tracing::error!("a pool's manager panicked in a reset");
                return self.discard(held);
            }
        }
        let now = coarse_now();
        let slot = held.slot;
        held.since = now;
        let mut state = self.lock();
        state.put(held);
        state.engine.release(slot, now);
        self.settle(state);
    }

    /// Drops a connection that was lent. It is gone before the engine knows, so that there are never more than it says.
    #[cold]
    pub(super) fn discard(&self, held: Box<Held<M>>) {
        let slot = held.slot;
        drop_quietly(held);
        let mut state = self.lock();
        state.engine.discard(slot, now());
        self.settle(state);
    }

    /// Does what the engine wants done, which is mostly nothing.
    #[inline]
    pub(super) fn settle<'a>(&'a self, mut state: MutexGuard<'a, State<M>>) {
        state.count();
        if !state.is_settled() || state.engine.is_closed() {
            self.act(state);
        }
    }

    #[cold]
    fn act<'a>(&'a self, mut state: MutexGuard<'a, State<M>>) {
        while !state.is_settled() {
            let step = state.next_step();
            drop(state);
            self.perform(step);
            state = self.lock();
        }
        state.count();
        let drained = state.engine.is_drained();
        drop(state);
        if drained {
            self.closing.notify_waiters();
        }
    }

    fn perform(&self, step: Step<M>) {
        // There is nobody left to do anything for where nobody holds the pool.
        let Some(shared) = self.me.upgrade() else {
            return;
        };
        match step {
            Step::Nothing => {}
            Step::Wake(waker) => waker.wake(),
            Step::Call(callback, within, deadline, turn, held) => {
                Call::new(&shared, callback, within).go_on(deadline, turn, held);
            }
            Step::Connect(slot) => errands::connect(Errand::new(shared, Some(slot), None)),
            Step::End(held, slot) => errands::farewell(Errand::new(shared, Some(slot), held)),
            Step::Drop(held, slot) => {
                drop_quietly(held);
                shared.lock().engine.handle_ended(slot, now());
            }
            Step::Watch => errands::watch(Errand::new(shared, None, None)),
        }
    }

    /// A connect has ended.
    pub(super) fn connected(
        &self,
        slot: SlotId,
        result: Result<M::Connection, Option<ConnectFailure<M::Error>>>,
    ) {
        let now = now();
        let held = result.map(|connection| {
            Box::new(Held {
                connection,
                slot,
                since: now,
            })
        });
        let held = held.map_err(|failure| failure.map(Arc::new));
        let mut state = self.lock();
        let random = link::random();
        // Dropped without the lock.
        let _old = match held {
            Ok(held) => {
                state.put(held);
                state.engine.handle_connected(slot, now, random);
                state.failure.take()
            }
            Err(failure) => {
                state.engine.handle_connect_failed(slot, now, random);
                failure.and_then(|failure| state.failure.replace(failure))
            }
        };
        self.settle(state);
    }

    /// An acquire that had to wait has its connection.
    pub(super) fn note_wait(&self, within: Duration, deadline: Instant) {
        self.meters.wait.record(|| {
            let began = deadline.checked_sub(within);
            began.map_or(within, |began| now().saturating_duration_since(began))
        });
    }

    /// What a refusal is to its caller.
    #[cold]
    pub(super) fn error(&self, refusal: Refusal, within: Duration) -> AcquireError<M::Error> {
        match refusal {
            Refusal::NoneIdle => AcquireError::NoneIdle,
            Refusal::QueueFull => AcquireError::QueueFull {
                limit: self.config.engine.queue,
            },
            Refusal::TimedOut => {
                let failure = self.lock().failure.clone();
                AcquireError::Timeout {
                    within,
                    connect: failure.map(|failure| (*failure).clone()),
                }
            }
            Refusal::Closed => AcquireError::Closed,
        }
    }

    /// A connection has said goodbye and is dropped.
    pub(super) fn ended(&self, slot: SlotId) {
        let mut state = self.lock();
        state.engine.handle_ended(slot, now());
        self.settle(state);
    }

    /// The lanes have dropped an errand: they run nothing more, so that nobody will ever be served again.
    pub(super) fn lost(&self, slot: Option<SlotId>, held: Option<Box<Held<M>>>) {
        drop_quietly(held);
        let mut state = self.lock();
        state.lanes_ended = true;
        state.engine.close();
        if let Some(slot) = slot {
            // Whichever of them it was: the other does not know the slot.
            state.engine.handle_connect_failed(slot, now(), 0);
            state.engine.handle_ended(slot, now());
        }
        self.closing.notify_waiters();
        self.settle(state);
    }

    /// Lends nothing more; errands are to end by then.
    pub(super) fn close_by(&self, deadline: Option<Instant>) {
        let mut state = self.lock();
        let sooner = |old: Instant| deadline.map_or(old, |new| new.min(old));
        state.close_by = state.close_by.map(sooner).or(deadline);
        state.engine.close();
        let alarm = state.alarm.as_mut().and_then(|alarm| alarm.waker.take());
        self.closing.notify_waiters();
        self.settle(state);
        // It has nothing to wait for any more.
        if let Some(waker) = alarm {
            waker.wake();
        }
    }

    /// Waits until the pool is closed.
    pub(super) async fn closing(&self) {
        loop {
            let mut news = pin!(self.closing.notified());
            news.as_mut().enable();
            if self.is_closed() {
                return;
            }
            news.await;
        }
    }

    /// Waits until nothing of the closed pool is left, or for the deadline.
    pub(super) async fn drained(&self, deadline: Instant) -> PoolReport {
        let mut late = {
            // Whoever awaits this may be in no runtime, or in one without timers.
            let clock = self.lanes.clock();
            let _inside = clock.enter();
            Box::pin(tokio::time::sleep_until(deadline.into()))
        };
        loop {
            let mut news = pin!(self.closing.notified());
            news.as_mut().enable();
            let report = PoolReport::of(&self.lock().engine);
            if report.finished {
                return report;
            }
            let in_time = futures_util::future::select(news, late.as_mut()).await;
            if matches!(in_time, futures_util::future::Either::Right(_)) {
                return PoolReport::of(&self.lock().engine);
            }
        }
    }

    /// When a farewell that begins now is to be over.
    pub(super) fn farewell_by(&self, within: Duration) -> Instant {
        let own = crate::io::after(within);
        self.lock().close_by.map_or(own, |close| close.min(own))
    }

    /// The alarm's turn: does what is due and says when something is due next; `None` ends it.
    pub(super) fn alarm_turn(&self, waker: &Waker) -> Option<Instant> {
        let mut state = self.lock();
        let now = now();
        if state.engine.next_deadline().is_some_and(|due| due <= now) {
            state.engine.handle_timeout(now);
        }
        let due = state.engine.next_deadline();
        state.alarm = due.map(|armed| Alarm {
            armed,
            waker: Some(waker.clone()),
        });
        self.settle(state);
        due
    }
}

impl<M: Manager> Tenant for Shared<M> {
    fn end(&self, deadline: Instant) {
        self.close_by(Some(deadline));
    }
}

impl<M: Manager> State<M> {
    /// Tells the recorder what has changed.
    #[inline]
    pub(super) fn count(&mut self) {
        self.tallies.follow(&self.engine);
    }

    /// Whether nothing is to be done.
    #[inline]
    fn is_settled(&self) -> bool {
        !self.engine.has_actions() && self.is_watched()
    }

    /// Whether somebody wakes the engine by its deadline.
    #[inline]
    fn is_watched(&self) -> bool {
        match (self.engine.next_deadline(), &self.alarm) {
            (None, _) => true,
            (Some(due), Some(alarm)) => alarm.armed <= due,
            (Some(_), None) => self.lanes_ended,
        }
    }

    fn next_step(&mut self) -> Step<M> {
        match self.engine.poll_action() {
            Some(Action::Connect(slot)) => Step::Connect(slot),
            Some(Action::Wake(waiter)) => self.wake(waiter),
            Some(Action::End(slot)) => {
                let held = self.take(slot);
                if !self.lanes_ended {
                    return Step::End(held, slot);
                }
                // Nobody is left to say goodbye on it.
                Step::Drop(held, slot)
            }
            None => self.watch(),
        }
    }

    fn wake(&mut self, waiter: WaiterId) -> Step<M> {
        let Some(place) = self.sleepers.get_mut(waiter.index()) else {
            return Step::Nothing;
        };
        match place.take_if(|(id, _)| *id == waiter) {
            None => Step::Nothing,
            Some((_, Sleeper::Task(waker))) => Step::Wake(waker),
            Some((_, Sleeper::Callback(callback, within, deadline))) => {
                let turn = self.engine.take(waiter);
                let turn = turn.unwrap_or(Turn::Refused(Refusal::Closed));
                let held = match turn {
                    Turn::Lent(slot) => self.take(slot),
                    _ => None,
                };
                Step::Call(callback, within, deadline, turn, held)
            }
        }
    }

    fn watch(&mut self) -> Step<M> {
        let Some(due) = self.engine.next_deadline() else {
            return Step::Nothing;
        };
        match &mut self.alarm {
            Some(alarm) => {
                alarm.armed = due;
                alarm.waker.take().map_or(Step::Nothing, Step::Wake)
            }
            None => {
                self.alarm = Some(Alarm {
                    armed: due,
                    waker: None,
                });
                Step::Watch
            }
        }
    }

    #[inline]
    pub(super) fn take(&mut self, slot: SlotId) -> Option<Box<Held<M>>> {
        self.connections.get_mut(slot.index())?.take()
    }

    #[inline]
    fn put(&mut self, held: Box<Held<M>>) {
        let index = held.slot.index();
        if index >= self.connections.len() {
            self.connections.resize_with(index + 1, || None);
        }
        if let Some(place) = self.connections.get_mut(index) {
            *place = Some(held);
        }
    }

    /// Says whom to wake for a waiter. What comes back is for the caller to drop, without the lock.
    #[must_use]
    pub(super) fn sleep(
        &mut self,
        waiter: WaiterId,
        sleeper: Sleeper<M>,
    ) -> Option<(WaiterId, Sleeper<M>)> {
        let index = waiter.index();
        if index >= self.sleepers.len() {
            self.sleepers.resize_with(index + 1, || None);
        }
        self.sleepers.get_mut(index)?.replace((waiter, sleeper))
    }

    /// A waiter is gone; what was to be woken for it is for the caller to drop, without the lock.
    pub(super) fn forget(&mut self, waiter: WaiterId) -> Option<Sleeper<M>> {
        let place = self.sleepers.get_mut(waiter.index())?;
        place
            .take_if(|(id, _)| *id == waiter)
            .map(|(_, sleeper)| sleeper)
    }
}

/// A connection whose drop panics must not take the pool with it.
fn drop_quietly<T>(value: T) {
    drop_contained(value, "a pool's connection panicked when it was dropped");
}
