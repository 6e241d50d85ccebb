//! What an owner and everything that belongs to it share on the owner's thread.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Waker;
use std::time::{Duration, Instant};

use slab::Slab;

use super::blocking::Blocking;
use super::deferred::Deferred;
use super::drain::{Finaliser, PoolClosed};
use super::error::{PanicPolicy, Panicked, RejectReason, message_of};
use super::groups::{GroupRef, Groups, Kind, NONE};
use super::here;
use super::journal::Recorder;
use super::label::Label;
use super::limits::Limits;
use super::loan::Loan;
use super::mailbox::Mailbox;
use super::network::Network;
use super::posts::Posts;
use super::signal::{Signal, SourceId};
use super::source::{CLASSES, Class, Source, Ticket};
use super::stats::Counters;
use super::tasks::Tasks;
use super::timers::Timers;
use crate::lanes::Lanes;

/// Sources of one owner: its own four, services and inlets. A process has not more connections than this.
pub(crate) const MAX_SOURCES: usize = 1 << 20;

/// Panics whose texts one update reports; the rest are counted.
const PANICS_LISTED: usize = 64;

/// The owner's own sources have fixed places.
pub(crate) const TASKS: SourceId = 0;
pub(crate) const POSTS: SourceId = 1;
pub(crate) const TIMERS: SourceId = 2;
pub(crate) const DEFERRED: SourceId = 3;

/// Each owner of the process has its own number; 0 is none.
static OWNERS: AtomicU64 = AtomicU64::new(1);

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum State {
    Open,
    /// Nothing is taken from outside any more.
    Draining,
    /// The owner is gone, or has been drained.
    Ended,
}

/// A source and its place in its class's ring.
pub(crate) struct Node<W> {
    pub(crate) source: Rc<dyn Source<W>>,
    pub(crate) class: Class,
    /// It is in the ring of its class.
    pub(crate) listed: Cell<bool>,
    /// How much of the ready queue came in when, oldest first.
    pub(crate) batches: RefCell<VecDeque<(usize, Instant)>>,
}

pub(crate) struct Core<W> {
    pub(crate) id: u64,
    pub(crate) signal: Arc<Signal>,
    pub(crate) loan: Loan<W>,
    pub(crate) state: Cell<State>,
    pub(crate) clock: Cell<Instant>,
    pub(crate) began: Instant,
    pub(crate) tick: Cell<u64>,
    /// How much is in the ready queues of all sources.
    pub(crate) waiting: Cell<usize>,
    /// Something became ready here that no queue has taken in yet.
    pub(crate) fresh: Cell<bool>,
    /// When the next timer is due, so that an idle update looks at one cell.
    pub(crate) next_timer: Cell<Option<Instant>>,
    pub(crate) nodes: RefCell<Vec<Option<Rc<Node<W>>>>>,
    free: RefCell<Vec<SourceId>>,
    pub(crate) rings: [RefCell<VecDeque<SourceId>>; CLASSES],
    /// The class that the next update begins with.
    pub(crate) first: Cell<usize>,
    pub(crate) tasks: Rc<Tasks>,
    pub(crate) posts: Rc<Posts<W>>,
    pub(crate) timers: Rc<Timers<W>>,
    pub(crate) deferred: Rc<Deferred<W>>,
    pub(crate) groups: RefCell<Groups>,
    pub(crate) blocking: RefCell<Option<Rc<Blocking<W>>>>,
    pub(crate) limits: Limits,
    pub(crate) policy: PanicPolicy,
    pub(crate) slow: Option<Duration>,
    pub(crate) panics: RefCell<Vec<Panicked>>,
    pub(crate) unwound: RefCell<Option<Box<dyn Any + Send>>>,
    /// The update is to stop after this operation.
    pub(crate) stop: Cell<bool>,
    /// The error of the task that is being polled, if it ends with one.
    pub(crate) failure: Cell<Option<String>>,
    pub(crate) counters: Counters,
    pub(crate) recording: Cell<bool>,
    pub(crate) recorder: RefCell<Recorder>,
    /// Until the end, so that a handle that outlives the owner keeps no thread.
    pub(crate) lanes: RefCell<Option<Lanes>>,
    /// The owner polls the lanes itself.
    pub(crate) inline: bool,
    /// Work was given to the lanes during this update.
    pub(crate) submitted: Cell<bool>,
    pub(crate) finalisers: RefCell<VecDeque<Finaliser<W>>>,
    /// What closes the pools of databases, after everybody who could use them.
    pub(crate) closers: RefCell<VecDeque<Finaliser<W>>>,
    /// What they found.
    pub(crate) closed_pools: RefCell<Vec<PoolClosed>>,
    /// Tasks that wait for a drain to begin.
    pub(crate) drain_waiters: RefCell<Slab<Waker>>,
    pub(crate) network: Network,
    /// How many operations there have been: a task receives one message in each.
    pub(crate) operation: Cell<u64>,
}

pub(crate) struct Settings {
    pub(crate) limits: Limits,
    pub(crate) policy: PanicPolicy,
    pub(crate) slow: Option<Duration>,
    pub(crate) lanes: Lanes,
    pub(crate) inline: bool,
    pub(crate) began: Instant,
    pub(crate) recorder: Recorder,
}

impl<W: 'static> Core<W> {
    pub(crate) fn new(settings: Settings) -> Rc<Self> {
        let Settings {
            limits,
            policy,
            slow,
            lanes,
            inline,
            began,
            recorder,
        } = settings;
        let id = OWNERS.fetch_add(1, Ordering::Relaxed);
        let signal = Arc::new(Signal::new());
        // A task is in the queue once, so that its length is bounded by the number of tasks.
        let wakes = Arc::new(Mailbox::new(signal.clone(), TASKS, usize::MAX, usize::MAX));
        let posts = Arc::new(Mailbox::new(
            signal.clone(),
            POSTS,
            limits.posts,
            limits.bytes,
        ));
        let core = Self {
            id,
            signal,
            loan: Loan::new(),
            state: Cell::new(State::Open),
            clock: Cell::new(began),
            began,
            tick: Cell::new(0),
            waiting: Cell::new(0),
            fresh: Cell::new(recorder.is_replaying()),
            next_timer: Cell::new(None),
            nodes: RefCell::default(),
            free: RefCell::default(),
            rings: Default::default(),
            first: Cell::new(0),
            tasks: Rc::new(Tasks::new(id, wakes, limits.tasks)),
            posts: Rc::new(Posts::new(posts)),
            timers: Rc::new(Timers::new(limits.timers)),
            deferred: Rc::new(Deferred::new(limits.deferred)),
            groups: RefCell::default(),
            blocking: RefCell::default(),
            limits,
            policy,
            slow,
            panics: RefCell::default(),
            unwound: RefCell::default(),
            stop: Cell::new(false),
            failure: Cell::new(None),
            counters: Counters::default(),
            recording: Cell::new(recorder.is_on()),
            recorder: RefCell::new(recorder),
            lanes: RefCell::new(Some(lanes)),
            inline,
            submitted: Cell::new(false),
            finalisers: RefCell::default(),
            closers: RefCell::default(),
            closed_pools: RefCell::default(),
            drain_waiters: RefCell::default(),
            network: Network::default(),
            operation: Cell::new(0),
        };
        let own: [(Class, Rc<dyn Source<W>>); 4] = [
            (Class::Tasks, core.tasks.clone()),
            (Class::Posts, core.posts.clone()),
            (Class::Timers, core.timers.clone()),
            (Class::Posts, core.deferred.clone()),
        ];
        // In the order of `TASKS`, `POSTS`, `TIMERS` and `DEFERRED`, in an empty list.
        for (class, source) in own {
            if let Ok(place) = core.reserve() {
                core.install(place, class, source);
            }
        }
        Rc::new(core)
    }
}

impl<W> Core<W> {
    /// A place for a source.
    pub(crate) fn reserve(&self) -> Result<SourceId, RejectReason> {
        if let Some(place) = self.free.borrow_mut().pop() {
            return Ok(place);
        }
        let mut nodes = self.nodes.borrow_mut();
        let full = RejectReason::Operations {
            most: MAX_SOURCES,
            of: "sources",
        };
        if nodes.len() >= MAX_SOURCES {
            return Err(full);
        }
        nodes.push(None);
        u32::try_from(nodes.len() - 1).map_err(|_| full)
    }

    /// Puts a source in the place that was reserved for it.
    pub(crate) fn install(&self, place: SourceId, class: Class, source: Rc<dyn Source<W>>) {
        let node = Node {
            source,
            class,
            listed: Cell::new(false),
            batches: RefCell::default(),
        };
        if let Some(slot) = self.nodes.borrow_mut().get_mut(place as usize) {
            *slot = Some(Rc::new(node));
        }
    }

    /// Lets a source go that is over.
    pub(crate) fn remove(&self, place: SourceId) {
        let node = self
            .nodes
            .borrow_mut()
            .get_mut(place as usize)
            .and_then(Option::take);
        if node.is_some() {
            self.free.borrow_mut().push(place);
        }
    }

    pub(crate) fn node(&self, place: SourceId) -> Option<Rc<Node<W>>> {
        self.nodes.borrow().get(place as usize)?.clone()
    }

    /// All sources, in the order of their places.
    pub(crate) fn sources(&self) -> Vec<(SourceId, Rc<Node<W>>)> {
        let nodes = self.nodes.borrow();
        nodes
            .iter()
            .enumerate()
            .filter_map(|(place, node)| Some((u32::try_from(place).ok()?, node.clone()?)))
            .collect()
    }

    /// Runs code of the application; a panic of it goes no further than here.
    #[inline]
    pub(crate) fn contain<R>(
        &self,
        label: Label,
        group: Option<GroupRef>,
        run: impl FnOnce() -> R,
    ) -> Option<R> {
        match catch_unwind(AssertUnwindSafe(run)) {
            Ok(output) => Some(output),
            Err(payload) => {
                self.panicked(label, group, payload);
                None
            }
        }
    }

    #[cold]
    fn panicked(&self, label: Label, group: Option<GroupRef>, payload: Box<dyn Any + Send>) {
        let name = group.and_then(|group| self.groups.borrow().name(group));
        let panicked = Panicked {
            group: name.as_deref().unwrap_or_default().to_owned(),
            label,
            tick: self.tick.get(),
            message: message_of(&*payload),
        };
        tracing::error!(
            group = panicked.group,
            label = %label,
            tick = panicked.tick,
            message = panicked.message,
            "a callback or a task of an owner panicked"
        );
        self.counters.panics.set(self.counters.panics.get() + 1);
        let mut panics = self.panics.borrow_mut();
        if panics.len() < PANICS_LISTED {
            panics.push(panicked);
        }
        drop(panics);
        match self.policy {
            PanicPolicy::Report => {}
            PanicPolicy::CancelGroup => {
                if let Some(group) = group {
                    self.cancel_group(group);
                }
            }
            PanicPolicy::Propagate => {
                *self.unwound.borrow_mut() = Some(payload);
                self.stop.set(true);
            }
        }
    }

    /// Runs a callback with the world.
    #[inline]
    pub(crate) fn call(
        &self,
        label: Label,
        group: Option<GroupRef>,
        callback: impl FnOnce(&mut W),
    ) {
        let Some(slow) = self.slow else {
            self.contain(label, group, || self.loan.with(callback));
            return;
        };
        let began = crate::io::now();
        self.contain(label, group, || self.loan.with(callback));
        let took = crate::io::now().saturating_duration_since(began);
        if took >= slow {
            self.counters.slow.set(self.counters.slow.get() + 1);
            tracing::warn!(label = %label, ?took, "an operation held the owner");
        }
    }

    /// Wakes a waker that belongs to the operation that runs; a task of ours that waits for it is resumed at once, as a
    /// part of the same operation. What that wakes in turn is for the next update: a task may wake itself for ever.
    pub(crate) fn wake_now(self: &Rc<Self>, waker: Waker) {
        let floor = here::woken_count();
        waker.wake();
        for _ in floor..here::woken_count() {
            if let Some(task) = here::take_woken_above(floor) {
                self.tasks.poll(self, task);
            }
        }
    }

    /// Lets a member leave its group, and wakes who waited for the last of them.
    pub(crate) fn leave(&self, member: u32) {
        if member == NONE {
            return;
        }
        let mut wake = Vec::new();
        self.groups.borrow_mut().leave(member, &mut wake);
        for waker in wake {
            waker.wake();
        }
    }

    /// Ends a group, its children first. After it nothing of them runs, and their futures have been dropped here.
    pub(crate) fn cancel_group(&self, group: GroupRef) -> usize {
        let mut ended = Vec::new();
        let mut wake = Vec::new();
        self.groups
            .borrow_mut()
            .remove(group, &mut ended, &mut wake);
        let count = ended.len();
        for kind in ended {
            match kind {
                Kind::Task(task) => {
                    self.tasks.cancel(self, task);
                }
                Kind::Operation { source, ticket } => {
                    if let Some(node) = self.node(source) {
                        node.source.cancel(ticket);
                    }
                }
            }
        }
        for waker in wake {
            waker.wake();
        }
        count
    }

    /// Has a source looked at in the next update: something that it has is wanted again.
    #[cfg(feature = "tcp")]
    pub(crate) fn resume(&self, place: SourceId) {
        self.network.resumed.borrow_mut().push(place);
        self.fresh.set(true);
    }

    /// Joins a group, if there is one.
    pub(crate) fn join(
        &self,
        group: Option<GroupRef>,
        source: SourceId,
        ticket: Ticket,
    ) -> Result<u32, RejectReason> {
        let Some(group) = group else { return Ok(NONE) };
        self.groups
            .borrow_mut()
            .join(group, Kind::Operation { source, ticket })
            .ok_or(RejectReason::Closed { of: "the group" })
    }

    pub(crate) fn count_rejection(&self) {
        let rejected = &self.counters.rejected;
        rejected.set(rejected.get() + 1);
    }

    /// Writes a delivery into the journal.
    #[cold]
    pub(crate) fn record(
        &self,
        class: Class,
        source: &str,
        key: u64,
        label: Option<Label>,
        payload: Option<Vec<u8>>,
    ) {
        self.recorder
            .borrow_mut()
            .delivered(self.tick.get(), class, source, key, label, payload);
    }

    /// Ends everything: the owner is gone.
    pub(crate) fn end(&self) {
        self.state.set(State::Ended);
        self.finalisers.borrow_mut().clear();
        self.closers.borrow_mut().clear();
        for (_, node) in self.sources() {
            node.source.end();
        }
        self.blocking.borrow_mut().take();
        self.signal.set_hook(super::hook::Hook::None);
        self.drain_waiters.borrow_mut().clear();
        self.waiting.set(0);
        let lanes = self.lanes.borrow_mut().take();
        drop(lanes);
    }
}
