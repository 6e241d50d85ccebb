//! The end of an owner in good order: what was accepted is done and delivered, or listed.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::core::{Core, State};
use super::cx::Cx;
use super::label::Label;
use super::missed;
use super::tasks::TaskFuture;
use crate::pool::PoolReport;

/// Kinds of abandoned operations that a report lists; the rest are in its total.
const LISTED: usize = 1024;

/// When a drain gives up.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(pub(crate) Instant);

impl Deadline {
    /// So long from now.
    pub fn in_(time: Duration) -> Self {
        Self(missed::add(crate::io::now(), time))
    }

    /// At this moment.
    pub fn at(moment: Instant) -> Self {
        Self(moment)
    }
}

/// Operations that were accepted and given up.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Abandoned {
    /// What they belonged to: a service, tasks, posts.
    pub source: String,
    /// What they were.
    pub label: Option<Label>,
    /// How many of them.
    pub count: usize,
}

/// The end of a database's pool.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct PoolClosed {
    /// The name of the database.
    pub database: &'static str,
    /// What its pool found when it was closed.
    pub report: PoolReport,
}

/// What a drain did.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct DrainReport {
    /// Whether everything that was accepted has been done and delivered.
    pub finished: bool,
    /// Operations that were delivered during the drain.
    pub done: u64,
    /// Operations and tasks that were given up at the deadline, by label. At most 1,024 labels.
    pub abandoned: Vec<Abandoned>,
    /// How many they are in all.
    pub abandoned_count: usize,
    /// Background tasks and timers that were cancelled when it began.
    pub cancelled: usize,
    /// Finalisers that ran to their end.
    pub finalised: usize,
    /// What was found when the pools of databases were closed, in the order in which they were made. One that the deadline
    /// came before is not here.
    pub pools: Vec<PoolClosed>,
    /// How the sessions of the network ended.
    pub sessions: SessionsReport,
    /// Tasks of the lanes that were cut.
    pub forced: usize,
    /// How long it took.
    pub took: Duration,
}

/// How the sessions of an owner's endpoints ended in a drain.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct SessionsReport {
    /// Those that had handed over all they were sent, and ended with both sides' agreement.
    pub closed: usize,
    /// Those that were cut near the deadline, or had failed by then.
    pub forced: usize,
    /// Messages that sessions had accepted and could not hand over, over the endpoints' whole lives.
    pub dropped_messages: u64,
    /// Bytes of those.
    pub dropped_bytes: u64,
}

#[cfg(feature = "tcp")]
impl SessionsReport {
    pub(crate) fn add(&mut self, report: &crate::endpoint::ShutdownReport) {
        self.closed = self.closed.saturating_add(report.closed);
        self.forced = self
            .forced
            .saturating_add(report.forced.saturating_add(report.stuck));
        self.dropped_messages = self
            .dropped_messages
            .saturating_add(report.dropped_messages);
        self.dropped_bytes = self.dropped_bytes.saturating_add(report.dropped_bytes);
    }
}

impl DrainReport {
    pub(crate) fn abandon(&mut self, source: &str, label: Option<Label>, count: usize) {
        self.abandoned_count = self.abandoned_count.saturating_add(count);
        let listed = self.abandoned.len();
        let known = self
            .abandoned
            .iter_mut()
            .find(|known| known.source == source && known.label == label);
        match known {
            Some(known) => known.count = known.count.saturating_add(count),
            None if listed < LISTED => self.abandoned.push(Abandoned {
                source: source.to_owned(),
                label,
                count,
            }),
            None => {}
        }
    }
}

/// A finaliser that has not run.
pub(crate) struct Finaliser<W> {
    pub(crate) label: Label,
    /// It ends this endpoint.
    #[cfg_attr(
        not(feature = "tcp"),
        allow(dead_code, reason = "there are no endpoints without it")
    )]
    pub(crate) endpoint: Option<u64>,
    begin: Box<dyn FnOnce() -> TaskFuture>,
    _world: std::marker::PhantomData<fn(&mut W)>,
}

impl<W: 'static> Finaliser<W> {
    pub(crate) fn new<F, Fut>(label: Label, cx: Cx<W>, finaliser: F) -> Self
    where
        F: FnOnce(Cx<W>) -> Fut + 'static,
        Fut: Future<Output = ()> + 'static,
    {
        // It outlives its group: it is there to put things in order after that has ended.
        let cx = Cx {
            core: cx.core,
            group: None,
        };
        Self {
            label,
            endpoint: None,
            begin: Box::new(move || Box::pin(finaliser(cx))),
            _world: std::marker::PhantomData,
        }
    }

    /// The same for this endpoint.
    #[cfg(feature = "tcp")]
    pub(crate) fn of(self, endpoint: u64) -> Self {
        Self {
            endpoint: Some(endpoint),
            ..self
        }
    }

    /// Makes it a task.
    pub(crate) fn start(self, core: &Core<W>) -> bool {
        let Some(future) = core.contain(self.label, None, self.begin) else {
            return false;
        };
        core.tasks
            .spawn(core, future, None, self.label, false)
            .is_ok()
    }
}

/// Accepted and not delivered, over all sources.
pub(crate) fn unfinished<W>(core: &Core<W>) -> usize {
    core.sources()
        .iter()
        .map(|(_, node)| node.source.unfinished())
        .sum()
}

/// Refuses new work, tells tasks, and ends what would never end by itself; returns how many of those.
pub(crate) fn begin<W>(core: &Core<W>) -> usize {
    core.state.set(State::Draining);
    for (_, node) in core.sources() {
        node.source.refuse();
    }
    let mut cancelled = core.timers.cancel_callbacks(core);
    for (task, _) in core.tasks.alive(true) {
        if core.tasks.leave_and_cancel(core, task) {
            cancelled += 1;
        }
    }
    let waiters = std::mem::take(&mut *core.drain_waiters.borrow_mut());
    for (_, waker) in waiters {
        waker.wake();
    }
    cancelled
}

/// Ends when a drain begins: see [`Cx::drained`].
pub struct Drained<W> {
    core: Rc<Core<W>>,
    waiter: Option<usize>,
}

impl<W> Drained<W> {
    pub(crate) fn new(core: Rc<Core<W>>) -> Self {
        Self { core, waiter: None }
    }
}

impl<W> Future for Drained<W> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let core = self.core.clone();
        if core.state.get() != State::Open {
            return Poll::Ready(());
        }
        let mut waiters = core.drain_waiters.borrow_mut();
        let known = self.waiter.and_then(|waiter| waiters.get_mut(waiter));
        match known {
            Some(known) => known.clone_from(cx.waker()),
            None => self.waiter = Some(waiters.insert(cx.waker().clone())),
        }
        Poll::Pending
    }
}

impl<W> Drop for Drained<W> {
    fn drop(&mut self) {
        // Once it has begun, all of them have been taken.
        if let Some(waiter) = self.waiter
            && self.core.state.get() == State::Open
        {
            self.core.drain_waiters.borrow_mut().try_remove(waiter);
        }
    }
}

impl<W> std::fmt::Debug for Drained<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Drained").finish_non_exhaustive()
    }
}
