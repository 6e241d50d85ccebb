//! What a subscriber's handles and its task have in common.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Waker;
use std::time::{Duration, Instant};

use arknet_proto::redis::DecodeError;
use arknet_proto::redis::exchange::{SubscriptionEvent, SubscriptionKind, Subscriptions};
use bytes::Bytes;
use tokio::sync::{Notify, oneshot};

use super::SubscriberConfig;
use super::event::{GapReason, SubscriberEvent};
use crate::error::Outcome;
use crate::lanes::{Tenant, lock};
use crate::link::{self, Address};
use crate::redis::client::Report;
use crate::redis::error::{Doing, Error};
use crate::redis::meters::Access;
use crate::redis::node::{Node, ResetPolicy};

/// What is to be done with names.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Verb {
    Subscribe,
    Unsubscribe,
}

/// Who waits for a confirmation.
#[derive(Debug)]
pub(super) struct Waiter {
    /// None once it has been told.
    sender: Option<oneshot::Sender<Result<(), Error>>>,
    command: &'static str,
    within: Duration,
    deadline: Option<Instant>,
}

/// What lies under the lock.
pub(super) struct State {
    pub(super) machine: Subscriptions<Waiter>,
    /// What is to be sent.
    pub(super) wire: Vec<u8>,
    driver: Option<Waker>,
    pub(super) connected: bool,
    pub(super) closing: Option<Instant>,
    /// Nothing happens any more; this is what callers are told.
    pub(super) ended: Option<Error>,
    pub(super) report: Option<Report>,
}

/// See the [module](self).
pub(super) struct Shared {
    state: Mutex<State>,
    pub(super) config: SubscriberConfig,
    pub(super) node: Node,
    /// Handles, and whether the subscriber lives by them.
    handles: AtomicUsize,
    kept_by_handles: AtomicBool,
    pub(super) changed: Notify,
}

impl Shared {
    /// # Errors
    ///
    /// [`Error::Config`] for what cannot work.
    pub(super) fn new(config: SubscriberConfig) -> Result<Arc<Self>, Error> {
        Ok(Arc::new(Self {
            state: Mutex::new(State {
                machine: Subscriptions::new(),
                wire: Vec::new(),
                driver: None,
                connected: false,
                closing: None,
                ended: None,
                report: None,
            }),
            node: Node::new(&config.config, Access::Subscriber, ResetPolicy::default())?,
            config,
            handles: AtomicUsize::new(1),
            kept_by_handles: AtomicBool::new(false),
            changed: Notify::new(),
        }))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    pub(super) fn address(&self) -> &Address {
        &self.node.address
    }

    /// Asks for something; what comes of it can be awaited.
    pub(super) fn call(
        &self,
        verb: Verb,
        kind: SubscriptionKind,
        names: Vec<Bytes>,
    ) -> Result<oneshot::Receiver<Result<(), Error>>, Error> {
        let (sender, receiver) = oneshot::channel();
        let limit = self.config.config.request_timeout;
        let waiter = Waiter {
            sender: Some(sender),
            command: name(verb, kind),
            within: limit.unwrap_or_default(),
            deadline: limit.map(link::after),
        };
        let mut state = self.lock();
        if let Some(error) = &state.ended {
            return Err(error.clone());
        }
        if state.closing.is_some() {
            return Err(Error::Closed);
        }
        let State { machine, wire, .. } = &mut *state;
        match verb {
            Verb::Subscribe => {
                let asked = machine.subscribe(kind, names, waiter, wire);
                asked.map_err(|too_many| Error::Full {
                    what: "subscriptions",
                    limit: too_many.limit,
                })?;
            }
            Verb::Unsubscribe => machine.unsubscribe(kind, names, waiter, wire),
        }
        drop(state);
        self.wake_driver();
        Ok(receiver)
    }

    pub(super) fn subscriptions(&self) -> usize {
        self.lock().machine.len()
    }

    pub(super) fn is_connected(&self) -> bool {
        self.lock().connected
    }

    /// The subscriber ends with its last handle.
    pub(super) fn keep_by_handles(&self) {
        self.kept_by_handles.store(true, Ordering::Release);
    }

    pub(super) fn add_handle(&self) {
        self.handles.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn drop_handle(&self) {
        let last = self.handles.fetch_sub(1, Ordering::AcqRel) == 1;
        if last && self.kept_by_handles.load(Ordering::Acquire) {
            self.close(link::now());
        }
    }

    /// Ends the connection, by `deadline` at the latest.
    pub(super) fn close(&self, deadline: Instant) {
        let mut state = self.lock();
        if state.closing.is_none_or(|closing| deadline < closing) {
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

    /// Waits for the end.
    pub(super) async fn end(&self) -> Report {
        loop {
            let changed = self.changed.notified();
            if let Some(report) = self.lock().report {
                return report;
            }
            changed.await;
        }
    }
}

impl Tenant for Shared {
    fn end(&self, deadline: Instant) {
        self.close(deadline);
    }
}

impl State {
    /// The driver waits, until something is asked or the first deadline of a call has come.
    pub(super) fn park(&mut self, waker: &Waker) -> Option<Instant> {
        match &mut self.driver {
            Some(driver) => driver.clone_from(waker),
            None => self.driver = Some(waker.clone()),
        }
        let waiting = self.machine.tokens_mut();
        let deadlines = waiting.filter_map(|(waiter, _)| waiter.deadline);
        deadlines.chain(self.closing).min()
    }

    /// Tells those whose deadline has passed.
    pub(super) fn expire(&mut self, now: Instant) {
        for (waiter, sent) in self.machine.tokens_mut() {
            if waiter.deadline.is_none_or(|deadline| deadline > now) {
                continue;
            }
            waiter.deadline = None;
            let (doing, outcome) = if sent {
                (Doing::Request, Outcome::Unknown)
            } else {
                (Doing::Connect, Outcome::NotSent)
            };
            let within = waiter.within;
            waiter.tell(Err(Error::Timeout {
                doing,
                within,
                outcome,
            }));
        }
    }

    /// What has happened, to be told when the lock has been released.
    pub(super) fn poll_event(&mut self) -> Option<Happened> {
        Some(match self.machine.poll_event()? {
            SubscriptionEvent::Confirmed(waiter) => Happened::Answered(waiter, Ok(())),
            SubscriptionEvent::Refused(waiter, error) => {
                let error = Error::from_decode(waiter.command, DecodeError::Server(error));
                Happened::Answered(waiter, Err(error))
            }
            SubscriptionEvent::Restored => Happened::Restored,
            SubscriptionEvent::Resumed(kind, name) => {
                Happened::Event(SubscriberEvent::Gap(GapReason::Moved { kind, name }))
            }
            SubscriptionEvent::Withdrawn(kind, name, error) => {
                Happened::Event(SubscriberEvent::Withdrawn { kind, name, error })
            }
            _ => Happened::Nothing,
        })
    }
}

/// What has happened.
#[derive(Debug)]
pub(super) enum Happened {
    Nothing,
    /// Somebody is to be told.
    Answered(Waiter, Result<(), Error>),
    /// The application is.
    Event(SubscriberEvent),
    /// Everything is subscribed to again.
    Restored,
}

impl Waiter {
    pub(super) fn tell(&mut self, result: Result<(), Error>) {
        if let Some(sender) = self.sender.take() {
            // Nobody may be waiting any more.
            let _ = sender.send(result);
        }
    }
}

fn name(verb: Verb, kind: SubscriptionKind) -> &'static str {
    match (verb, kind) {
        (Verb::Subscribe, SubscriptionKind::Pattern) => "PSUBSCRIBE",
        (Verb::Subscribe, SubscriptionKind::Shard) => "SSUBSCRIBE",
        (Verb::Subscribe, _) => "SUBSCRIBE",
        (Verb::Unsubscribe, SubscriptionKind::Pattern) => "PUNSUBSCRIBE",
        (Verb::Unsubscribe, SubscriptionKind::Shard) => "SUNSUBSCRIBE",
        (Verb::Unsubscribe, _) => "UNSUBSCRIBE",
    }
}
