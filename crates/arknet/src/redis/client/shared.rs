//! What a client's handles and its driver have in common: one lock, and what lies under it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::finish::{Callback, Circumstances, Failure};
use super::ledger::{Ledger, Ticket};
use super::pushes::Receivers;
use super::report::Report;
use super::slot::{Collected, Owner};
use super::stats::Counts;
use crate::lanes::lock;
use crate::link;
use crate::redis::batch::Batch;
use crate::redis::config::Config;
use crate::redis::error::Error;
use crate::redis::meters::Access;
use crate::redis::node::{Node, ResetPolicy};

/// Where the connection stands.
#[derive(Clone, Debug)]
pub(super) enum Phase {
    /// There is none; requests wait for one. The error is that of the last attempt, if one has failed.
    Connecting(Option<Error>),
    /// There is one.
    Open,
    /// There will be none any more; this is what requests are told.
    Ended(Error),
}

/// What lies under the lock.
pub(super) struct State {
    pub(super) ledger: Ledger,
    pub(super) phase: Phase,
    driver: Option<Waker>,
    /// The driver waits for requests.
    wanted: bool,
    /// A time that was read since the driver was woken: requests that come before its turn need not read it again,
    /// which costs as much as everything else of them.
    stamp: Option<Instant>,
    /// When the driver looks at the deadlines, at the latest.
    alarm: Option<Instant>,
    /// Nothing new is taken in; the end comes then at the latest.
    pub(super) closing: Option<Instant>,
    pub(super) counts: Counts,
    /// Requests in flight that the close has cut.
    pub(super) cut: usize,
    pub(super) report: Option<Report>,
}

/// See the [module](self).
pub(super) struct Shared {
    state: Mutex<State>,
    pub(super) node: Node,
    pub(super) config: Config,
    /// Handles that can submit.
    handles: AtomicUsize,
    /// The server has accepted a `MULTI` on the present connection.
    accepts_multi: AtomicBool,
    /// The phase has changed.
    pub(super) changed: Notify,
    pub(super) receivers: Receivers,
}

impl Shared {
    /// # Errors
    ///
    /// [`Error::Config`] for what cannot work.
    pub(super) fn new(config: Config) -> Result<Arc<Self>, Error> {
        Ok(Arc::new(Self {
            state: Mutex::new(State {
                ledger: Ledger::default(),
                phase: Phase::Connecting(None),
                driver: None,
                wanted: false,
                stamp: None,
                alarm: None,
                closing: None,
                counts: Counts::default(),
                cut: 0,
                report: None,
            }),
            node: Node::new(&config, Access::Shared, ResetPolicy::default())?,
            config,
            handles: AtomicUsize::new(1),
            accepts_multi: AtomicBool::new(false),
            changed: Notify::new(),
            receivers: Receivers::default(),
        }))
    }

    #[inline]
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Takes a batch in, to be sent with the next write. `waker` is woken when there is a result to
    /// [fetch](Self::poll_fetch).
    ///
    /// # Errors
    ///
    /// Nothing of it was taken in.
    #[inline]
    pub(super) fn submit<B: Batch>(
        &self,
        batch: &mut B,
        within: Option<Duration>,
        waker: &Waker,
    ) -> Result<Ticket, Error> {
        let size = (batch.requests(), batch.wire_len());
        let ticket = self.take_in(size, within, |wire| {
            batch.encode(wire);
            Owner::Future(waker.clone())
        })?;
        tracing::trace!(request = batch.name(), "redis: taken in");
        batch.release();
        Ok(ticket)
    }

    /// The same with a function that gets the output, on the connection's lane.
    ///
    /// # Errors
    ///
    /// Nothing of it was taken in; what was given comes back.
    pub(super) fn submit_with<B, F>(
        &self,
        callback: Callback<B, F>,
    ) -> Result<(), (Error, Callback<B, F>)>
    where
        B: Batch + 'static,
        F: FnOnce(B::Output) + Send + 'static,
    {
        let (batch, within) = (&callback.batch, callback.within);
        tracing::trace!(request = batch.name(), "redis: taken in");
        let size = (batch.requests(), batch.wire_len());
        let mut callback = Some(Box::new(callback));
        let taken_in = self.take_in(size, within, |wire| match callback.take() {
            Some(mut callback) => {
                callback.batch.encode(wire);
                callback.batch.release();
                Owner::Callback(callback)
            }
            None => Owner::Nobody,
        });
        match (taken_in, callback) {
            (Err(error), Some(callback)) => Err((error, *callback)),
            _ => Ok(()),
        }
    }

    #[inline]
    fn take_in(
        &self,
        (requests, bytes): (usize, usize),
        within: Option<Duration>,
        encode: impl FnOnce(&mut Vec<u8>) -> Owner,
    ) -> Result<Ticket, Error> {
        let mut state = self.lock();
        if let Err(error) = state.admit(&self.config, requests, bytes) {
            state.counts.refused += requests as u64;
            return Err(error);
        }
        let now = within.map(|_| state.now());
        let deadline = now
            .zip(within)
            .and_then(|(now, within)| now.checked_add(within));
        let ticket = state.ledger.submit(requests, deadline, encode);
        state.counts.submitted += requests as u64;
        let driver = state.rouse(now, deadline);
        drop(state);
        self.node.meters.requests.add(requests);
        if let Some(driver) = driver {
            driver.wake();
        }
        Ok(ticket)
    }

    /// Fetches what has come for a batch; `waker` is woken when there is something.
    #[inline]
    pub(super) fn poll_fetch(
        &self,
        ticket: Ticket,
        waker: &Waker,
        into: &mut Collected,
    ) -> Poll<Option<Failure>> {
        self.lock().ledger.fetch(ticket, waker, into)
    }

    /// What errors of requests with this limit say.
    #[inline]
    pub(super) fn around(&self, within: Option<Duration>) -> Circumstances<'_> {
        Circumstances {
            address: &self.node.address,
            within,
        }
    }

    /// Nobody wants the result of a batch any more.
    pub(super) fn abandon(&self, ticket: Ticket) {
        let mut state = self.lock();
        state.counts.abandoned += 1;
        state.ledger.abandon(ticket);
    }

    /// Whether the server is known to accept a `MULTI`, without which nothing that is atomic is sent.
    pub(super) fn accepts_multi(&self) -> bool {
        self.accepts_multi.load(Ordering::Relaxed)
    }

    pub(super) fn note_multi(&self) {
        self.accepts_multi.store(true, Ordering::Relaxed);
    }

    pub(super) fn forget_multi(&self) {
        self.accepts_multi.store(false, Ordering::Relaxed);
    }

    pub(super) fn add_handle(&self) {
        self.handles.fetch_add(1, Ordering::Relaxed);
    }

    /// One handle less. After the last one the driver ends, as soon as everything has been answered.
    pub(super) fn drop_handle(&self) {
        if self.handles.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.wake_driver();
        }
    }

    pub(super) fn has_handles(&self) -> bool {
        self.handles.load(Ordering::Acquire) > 0
    }

    /// Takes in nothing new; what was taken in may finish until `deadline`.
    pub(super) fn close(&self, deadline: Instant) {
        let mut state = self.lock();
        let sooner = state.closing.is_none_or(|closing| deadline < closing);
        if sooner {
            state.closing = Some(deadline);
        }
        drop(state);
        self.wake_driver();
    }

    fn wake_driver(&self) {
        let driver = self.lock().driver.take();
        if let Some(driver) = driver {
            driver.wake();
        }
    }
}

impl State {
    /// Whether a batch of this size may be taken in. One that is larger than a limit is, where nothing else waits.
    #[inline]
    fn admit(&self, config: &Config, requests: usize, bytes: usize) -> Result<(), Error> {
        if let Phase::Ended(error) = &self.phase {
            return Err(error.clone());
        }
        if self.closing.is_some() {
            return Err(Error::Closed);
        }
        let waiting = self.ledger.requests();
        if waiting > 0 && waiting.saturating_add(requests) > config.max_requests {
            return Err(full("requests that wait for replies", config.max_requests));
        }
        let queued = self.ledger.queued_bytes();
        if queued > 0 && queued.saturating_add(bytes) > config.max_queued_bytes {
            return Err(full("bytes that wait to be sent", config.max_queued_bytes));
        }
        Ok(())
    }

    #[inline]
    fn now(&self) -> Instant {
        self.stamp.unwrap_or_else(link::now)
    }

    /// There is something to send, or to look at by `deadline`: names the driver if it must be woken for it.
    #[inline]
    fn rouse(&mut self, now: Option<Instant>, deadline: Option<Instant>) -> Option<Waker> {
        let mut wake = false;
        if let Some(deadline) = deadline
            && self.alarm.is_none_or(|alarm| deadline < alarm)
        {
            self.alarm = Some(deadline);
            wake = true;
        }
        if self.wanted {
            self.wanted = false;
            self.stamp = now;
            wake = true;
        }
        if wake { self.driver.take() } else { None }
    }

    /// The driver waits, for the alarm and, if `wanted`, for requests.
    pub(super) fn park(&mut self, waker: &Waker, wanted: bool) -> Option<Instant> {
        match &mut self.driver {
            Some(driver) => driver.clone_from(waker),
            None => self.driver = Some(waker.clone()),
        }
        self.wanted = wanted;
        self.stamp = None;
        self.next_alarm()
    }

    /// When the driver is to look at the clock.
    pub(super) fn next_alarm(&self) -> Option<Instant> {
        match (self.alarm, self.closing) {
            (Some(alarm), Some(closing)) => Some(alarm.min(closing)),
            (alarm, closing) => alarm.or(closing),
        }
    }

    /// How long ago the time was read by which the queued requests went: their deadlines are too early by so much, at
    /// most. A single one has read the clock itself.
    #[inline]
    pub(super) fn lag(&mut self, several: bool) -> Option<Duration> {
        let stamp = self.stamp.take().filter(|_| several)?;
        Some(link::now().saturating_duration_since(stamp))
    }

    pub(super) fn set_alarm(&mut self, alarm: Option<Instant>) {
        self.alarm = alarm;
    }
}

#[cold]
fn full(what: &'static str, limit: usize) -> Error {
    Error::Full { what, limit }
}

/// What a batch is told that was never sent.
pub(super) fn unsent(error: &Error) -> impl Fn() -> Failure {
    let error = error.clone();
    move || Failure::Unsent(error.clone())
}
