//! The owner's tasks: futures that live and die on its thread, and wakers that go anywhere.
//!
//! A waker is a slot, a generation, and the queue that it writes them to. It reaches no future, so it may be woken or
//! dropped on any thread, before and after the end of the owner.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Instant;

use slab::Slab;

use super::core::Core;
use super::error::RejectReason;
use super::groups::{GroupRef, Kind, NONE, TaskEnd};
use super::here;
use super::label::Label;
use super::mailbox::Mailbox;
use super::source::{Class, Source, Ticket};

/// Wakers of tasks that have ended and that nobody else holds, kept for the next ones.
const SPARE_WAKERS: usize = 1024;

pub(crate) type TaskFuture = Pin<Box<dyn Future<Output = ()>>>;

/// A task, by its slot and generation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct TaskRef {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

/// What a task's waker is made of.
struct TaskWaker {
    task: TaskRef,
    owner: u64,
    /// It is in a queue, or on its way into one.
    scheduled: AtomicBool,
    queue: Arc<Mailbox<TaskRef>>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.scheduled.swap(true, Ordering::AcqRel) {
            return;
        }
        if !here::woken(self.owner, self.task) {
            // As many as there are tasks at most. Refused only after the end of the owner, when there is nothing to wake.
            let _ = self.queue.post(self.task, 0);
        }
    }
}

struct Entry {
    generation: u32,
    /// The order in which tasks were spawned; what the journal knows them by.
    serial: u64,
    /// Taken out while it is polled.
    body: Option<Body>,
    state: Arc<TaskWaker>,
    group: Option<GroupRef>,
    member: u32,
    label: Label,
    background: bool,
}

struct Body {
    future: TaskFuture,
    waker: Waker,
}

pub(crate) struct Tasks {
    owner: u64,
    most: usize,
    slab: RefCell<Slab<Entry>>,
    ready: RefCell<VecDeque<TaskRef>>,
    /// Woken during the update; ready in the next.
    next: RefCell<VecDeque<TaskRef>>,
    queue: Arc<Mailbox<TaskRef>>,
    spare: RefCell<Vec<Arc<TaskWaker>>>,
    generation: Cell<u32>,
    serial: Cell<u64>,
}

impl Tasks {
    pub(crate) fn new(owner: u64, queue: Arc<Mailbox<TaskRef>>, most: usize) -> Self {
        Self {
            owner,
            most,
            slab: RefCell::default(),
            ready: RefCell::default(),
            next: RefCell::default(),
            queue,
            spare: RefCell::default(),
            generation: Cell::new(0),
            serial: Cell::new(0),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.slab.borrow().len()
    }

    /// Takes in a future. Its first poll is an ordinary operation of the next update.
    pub(crate) fn spawn<W>(
        &self,
        core: &Core<W>,
        future: TaskFuture,
        group: Option<GroupRef>,
        label: Label,
        background: bool,
    ) -> Result<TaskRef, (RejectReason, TaskFuture)> {
        let mut slab = self.slab.borrow_mut();
        if slab.len() >= self.most {
            let reason = RejectReason::Operations {
                most: self.most,
                of: "tasks",
            };
            return Err((reason, future));
        }
        let slot = slab.vacant_entry();
        let Ok(index) = u32::try_from(slot.key()) else {
            let reason = RejectReason::Operations {
                most: u32::MAX as usize,
                of: "tasks",
            };
            return Err((reason, future));
        };
        let generation = self.generation.get().wrapping_add(1);
        self.generation.set(generation);
        let task = TaskRef { index, generation };
        let member = match group {
            None => NONE,
            Some(group) => match core.groups.borrow_mut().join(group, Kind::Task(task)) {
                Some(member) => member,
                None => return Err((RejectReason::Closed { of: "the group" }, future)),
            },
        };
        let serial = self.serial.get();
        self.serial.set(serial + 1);
        let state = self.waker_of(task);
        slot.insert(Entry {
            generation,
            serial,
            body: Some(Body {
                future,
                waker: Waker::from(state.clone()),
            }),
            state,
            group,
            member,
            label,
            background,
        });
        drop(slab);
        self.next.borrow_mut().push_back(task);
        core.fresh.set(true);
        Ok(task)
    }

    /// A waker's inside, used again where nobody else holds it. It is scheduled already: the task is about to be queued.
    fn waker_of(&self, task: TaskRef) -> Arc<TaskWaker> {
        let mut spare = self.spare.borrow_mut();
        while let Some(mut state) = spare.pop() {
            if let Some(inner) = Arc::get_mut(&mut state) {
                inner.task = task;
                *inner.scheduled.get_mut() = true;
                return state;
            }
        }
        Arc::new(TaskWaker {
            task,
            owner: self.owner,
            scheduled: AtomicBool::new(true),
            queue: self.queue.clone(),
        })
    }

    /// Polls a task now, as part of the operation that runs.
    pub(crate) fn poll<W>(&self, core: &Rc<Core<W>>, task: TaskRef) {
        let (mut body, group, label) = {
            let mut slab = self.slab.borrow_mut();
            let Some(entry) = entry_of(&mut slab, task) else {
                return;
            };
            // Cleared before the poll, by an exchange, so that whoever finds it set is seen by the poll.
            entry.state.scheduled.swap(false, Ordering::AcqRel);
            let Some(body) = entry.body.take() else {
                return;
            };
            (body, entry.group, entry.label)
        };
        let mut cx = Context::from_waker(&body.waker);
        let polled = core.contain(label, group, || body.future.as_mut().poll(&mut cx));
        if let Some(Poll::Pending) = polled {
            let mut slab = self.slab.borrow_mut();
            if let Some(entry) = entry_of(&mut slab, task) {
                entry.body = Some(body);
                return;
            }
        }
        // It has ended, or was cancelled by itself while it ran.
        self.finish(core, task, body, group, label, polled.is_none());
    }

    #[inline(never)]
    fn finish<W>(
        &self,
        core: &Rc<Core<W>>,
        task: TaskRef,
        body: Body,
        group: Option<GroupRef>,
        label: Label,
        panicked: bool,
    ) {
        let entry = {
            let mut slab = self.slab.borrow_mut();
            match entry_of(&mut slab, task) {
                Some(_) => slab.try_remove(task.index as usize),
                None => None,
            }
        };
        if let Some(entry) = &entry {
            core.leave(entry.member);
            let failure = core.failure.take();
            if let Some(group) = group {
                let end = match failure {
                    _ if panicked => TaskEnd::Panicked,
                    Some(text) => TaskEnd::Failed(text),
                    None => TaskEnd::Done,
                };
                let ends = core.groups.borrow_mut().note(group, end);
                if ends {
                    core.cancel_group(group);
                }
            }
        }
        self.discard(core, body, group, label);
        if let Some(entry) = entry {
            self.recycle(entry.state);
        }
    }

    /// Drops a future on the owner; a panic of that is contained like any other.
    fn discard<W>(&self, core: &Core<W>, body: Body, group: Option<GroupRef>, label: Label) {
        let Body { future, waker } = body;
        drop(waker);
        core.contain(label, group, || drop(future));
    }

    fn recycle(&self, state: Arc<TaskWaker>) {
        let mut spare = self.spare.borrow_mut();
        if spare.len() < SPARE_WAKERS {
            spare.push(state);
        }
    }

    /// Ends a task at once; one that is being polled ends with that poll. It has left its group already.
    pub(crate) fn cancel<W>(&self, core: &Core<W>, task: TaskRef) -> bool {
        let entry = {
            let mut slab = self.slab.borrow_mut();
            match entry_of(&mut slab, task) {
                Some(_) => slab.try_remove(task.index as usize),
                None => None,
            }
        };
        let Some(entry) = entry else { return false };
        if let Some(body) = entry.body {
            self.discard(core, body, entry.group, entry.label);
        }
        self.recycle(entry.state);
        true
    }

    /// As [`cancel`](Self::cancel), for a task that is in its group still.
    pub(crate) fn leave_and_cancel<W>(&self, core: &Core<W>, task: TaskRef) -> bool {
        let member = entry_of(&mut self.slab.borrow_mut(), task).map(|entry| entry.member);
        if let Some(member) = member {
            core.leave(member);
        }
        self.cancel(core, task)
    }

    pub(crate) fn is_alive(&self, task: TaskRef) -> bool {
        entry_of(&mut self.slab.borrow_mut(), task).is_some()
    }

    /// The tasks that have not ended, in the order in which they were spawned.
    pub(crate) fn alive(&self, background: bool) -> Vec<(TaskRef, Label)> {
        let slab = self.slab.borrow();
        let mut alive: Vec<_> = slab
            .iter()
            .filter(|(_, entry)| entry.background == background)
            .filter_map(|(index, entry)| {
                let task = TaskRef {
                    index: u32::try_from(index).ok()?,
                    generation: entry.generation,
                };
                Some((entry.serial, task, entry.label))
            })
            .collect();
        alive.sort_unstable_by_key(|(serial, ..)| *serial);
        alive
            .into_iter()
            .map(|(_, task, label)| (task, label))
            .collect()
    }

    /// How many have not ended that a drain waits for.
    pub(crate) fn foreground(&self) -> usize {
        let slab = self.slab.borrow();
        slab.iter().filter(|(_, entry)| !entry.background).count()
    }

    /// How many are ready for the next update already.
    pub(crate) fn woken(&self) -> usize {
        self.next.borrow().len()
    }

    /// What was woken in the update that ends is for the next.
    pub(crate) fn keep_woken<W>(&self, core: &Core<W>) {
        let mut next = self.next.borrow_mut();
        here::take_woken(&mut next);
        if !next.is_empty() {
            core.fresh.set(true);
        }
    }

    fn serial_of(&self, task: TaskRef) -> Option<(u64, Label)> {
        entry_of(&mut self.slab.borrow_mut(), task).map(|entry| (entry.serial, entry.label))
    }
}

fn entry_of(slab: &mut Slab<Entry>, task: TaskRef) -> Option<&mut Entry> {
    slab.get_mut(task.index as usize)
        .filter(|entry| entry.generation == task.generation)
}

impl<W> Source<W> for Tasks {
    fn name(&self) -> &str {
        "tasks"
    }

    fn take_in(&self, _: Instant) -> usize {
        let mut ready = self.ready.borrow_mut();
        let before = ready.len();
        let taken = self.queue.take(&mut ready);
        self.queue.release(taken, 0);
        let mut next = self.next.borrow_mut();
        here::take_woken(&mut next);
        ready.append(&mut next);
        ready.len() - before
    }

    fn ready(&self) -> usize {
        self.ready.borrow().len()
    }

    fn deliver(&self, core: &Rc<Core<W>>) -> bool {
        let Some(task) = self.ready.borrow_mut().pop_front() else {
            return false;
        };
        if core.recording.get()
            && let Some((serial, label)) = self.serial_of(task)
        {
            core.record(Class::Tasks, "tasks", serial, Some(label), None);
        }
        self.poll(core, task);
        true
    }

    fn bring_forward(&self, key: u64, _: Option<&[u8]>) -> bool {
        let found = {
            let ready = self.ready.borrow();
            ready.iter().position(|task| {
                self.serial_of(*task)
                    .is_some_and(|(serial, _)| serial == key)
            })
        };
        let mut ready = self.ready.borrow_mut();
        let task = found.and_then(|at| ready.remove(at));
        if let Some(task) = task {
            ready.push_front(task);
        }
        task.is_some()
    }

    fn unfinished(&self) -> usize {
        self.foreground()
    }

    fn list_unfinished(&self, abandoned: &mut dyn FnMut(&str, Option<Label>, usize)) {
        for (_, label) in self.alive(false) {
            abandoned("tasks", Some(label), 1);
        }
    }

    fn cancel(&self, _: Ticket) {}

    fn end(&self) {
        self.queue.close();
        self.ready.borrow_mut().clear();
        self.next.borrow_mut().clear();
        // Dropped without the borrow: what they drop may come here. Spawning is refused by then.
        let mut entries: Vec<_> = {
            let mut slab = self.slab.borrow_mut();
            std::mem::take(&mut *slab)
                .into_iter()
                .map(|(_, entry)| entry)
                .collect()
        };
        entries.sort_unstable_by_key(|entry| entry.serial);
        for entry in entries {
            let dropped =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(entry.body)));
            if dropped.is_err() {
                tracing::error!(label = %entry.label, "a task panicked when its owner ended");
            }
        }
        self.spare.borrow_mut().clear();
    }
}
