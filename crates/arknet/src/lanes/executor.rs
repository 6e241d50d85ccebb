//! The tasks of a lane that polls its own sockets.
//!
//! It runs inside of a tokio runtime, as its main future, so that whatever tasks use of tokio works. As long as there are
//! events it takes them itself; then it lets the runtime sleep on its reactor's descriptor.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use slab::Slab;

use super::{drop_contained, lock};
#[cfg(target_os = "linux")]
use crate::io::direct::Reactor;
use crate::io::direct::{Local, TaskRef};

/// Rounds of taking events and running tasks before the runtime has its turn: for timers, and for tasks that were
/// spawned on tokio itself.
const ROUNDS: usize = 32;

/// The most task turns of one round. What is left runs in the next, so that a task that wakes itself for ever holds
/// nobody.
const TURNS_PER_ROUND: usize = 1024;

/// A round with so many events makes it likely that more have arrived meanwhile: they are looked for at once.
const BUSY_EVENTS: usize = 2;

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The side of a lane that other threads see.
pub(crate) struct Remote {
    /// Something is in the queue.
    news: AtomicBool,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    spawned: Vec<Task>,
    woken: Vec<TaskRef>,
    driver: Option<Waker>,
    ended: bool,
}

impl Remote {
    /// Runs a task on the lane; drops it if the lane has ended.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut queue = lock(&self.queue);
        if queue.ended {
            return;
        }
        queue.spawned.push(Box::pin(task));
        drop(queue);
        self.notify();
    }

    fn wake(&self, task: TaskRef) {
        let mut queue = lock(&self.queue);
        if queue.ended {
            return;
        }
        queue.woken.push(task);
        drop(queue);
        self.notify();
    }

    /// Wakes the lane, once for all that comes before it looks.
    fn notify(&self) {
        if self.news.swap(true, Ordering::AcqRel) {
            return;
        }
        let driver = lock(&self.queue).driver.clone();
        if let Some(driver) = driver {
            driver.wake();
        }
    }

    fn identity(self: &Arc<Self>) -> usize {
        Arc::as_ptr(self).addr()
    }
}

impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Remote")
    }
}

/// Wakes one task, from anywhere.
struct TaskWaker {
    task: TaskRef,
    remote: Arc<Remote>,
    /// It is in a queue because of a waker.
    scheduled: AtomicBool,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.scheduled.swap(true, Ordering::AcqRel) {
            return;
        }
        let lane = self.remote.identity();
        let here = Local::with(|local| {
            let here = local.lane == lane;
            if here {
                local.ready.borrow_mut().push_back(self.task);
            }
            here
        });
        if here != Some(true) {
            self.remote.wake(self.task);
        }
    }
}

struct Entry {
    generation: u64,
    future: Task,
    state: Arc<TaskWaker>,
    waker: Waker,
}

/// The tasks of one lane, and their sockets.
pub(super) struct Executor {
    tasks: Slab<Entry>,
    generation: u64,
    local: Option<Box<Local>>,
    remote: Arc<Remote>,
    driver: Option<Waker>,
    /// Empty storage for what other threads wake.
    woken: Vec<TaskRef>,
    /// Empty storage for what becomes ready in a round.
    ready: VecDeque<TaskRef>,
    /// The reactor's descriptor, on which the runtime sleeps.
    #[cfg(target_os = "linux")]
    watched: tokio::io::unix::AsyncFd<Arc<std::os::fd::OwnedFd>>,
}

impl Executor {
    /// An executor without tasks. It must be made inside of the runtime that it runs in.
    pub(super) fn new() -> io::Result<Self> {
        let remote = Arc::new(Remote {
            news: AtomicBool::new(false),
            queue: Mutex::default(),
        });
        #[cfg(target_os = "linux")]
        let reactor = Reactor::new()?;
        Ok(Self {
            tasks: Slab::new(),
            generation: 0,
            driver: None,
            woken: Vec::new(),
            ready: VecDeque::new(),
            #[cfg(target_os = "linux")]
            watched: crate::io::tokio::watch(reactor.descriptor().clone())?,
            local: Some(Local::new(
                remote.identity(),
                #[cfg(target_os = "linux")]
                reactor,
            )),
            remote,
        })
    }

    pub(super) fn remote(&self) -> &Arc<Remote> {
        &self.remote
    }

    /// Does what is ready. It is never done; the caller is woken when there is more.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) {
        self.remember_driver(cx);
        let mut local = self.local.take();
        Local::enter(&mut local, || self.run(cx));
        self.local = local;
    }

    fn remember_driver(&mut self, cx: &Context<'_>) {
        match &self.driver {
            Some(driver) if driver.will_wake(cx.waker()) => {}
            _ => {
                self.driver = Some(cx.waker().clone());
                lock(&self.remote.queue).driver = Some(cx.waker().clone());
            }
        }
    }

    fn run(&mut self, cx: &mut Context<'_>) {
        for _ in 0..ROUNDS {
            self.watch(cx);
            self.take_news();
            let events = poll_reactor();
            let more = self.run_ready();
            if !more && events < BUSY_EVENTS {
                return;
            }
        }
        cx.waker().wake_by_ref();
    }

    /// Has the runtime wake this executor at the next event. What it knew is forgotten before the events are taken, so
    /// that one that comes later is noticed.
    #[cfg(target_os = "linux")]
    fn watch(&self, cx: &mut Context<'_>) {
        while let Poll::Ready(Ok(mut ready)) = self.watched.poll_read_ready(cx) {
            ready.clear_ready();
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn watch(&self, _: &mut Context<'_>) {}

    /// Takes in what other threads have spawned and woken.
    fn take_news(&mut self) {
        if !self.remote.news.load(Ordering::Acquire) {
            return;
        }
        self.remote.news.swap(false, Ordering::AcqRel);
        // Exchanged for the storage of the last time: being woken allocates nothing.
        let mut woken = std::mem::take(&mut self.woken);
        let spawned = {
            let mut queue = lock(&self.remote.queue);
            std::mem::swap(&mut queue.woken, &mut woken);
            std::mem::take(&mut queue.spawned)
        };
        let spawned = spawned
            .into_iter()
            .map(|task| self.insert(task))
            .collect::<Vec<_>>();
        Local::with(|local| {
            local
                .ready
                .borrow_mut()
                .extend(spawned.into_iter().chain(woken.drain(..)));
        });
        self.woken = woken;
    }

    fn insert(&mut self, future: Task) -> TaskRef {
        self.generation += 1;
        let generation = self.generation;
        let slot = self.tasks.vacant_entry();
        let task = TaskRef {
            key: slot.key(),
            generation,
        };
        let remote = self.remote.clone();
        let state = Arc::new(TaskWaker {
            task,
            remote,
            scheduled: AtomicBool::new(false),
        });
        let waker = Waker::from(state.clone());
        slot.insert(Entry {
            generation,
            future,
            state,
            waker,
        });
        task
    }

    /// Runs what was ready when it began; says whether more is. The queue is taken as a whole, so that a turn does not
    /// look for the thread's slot more often than it must.
    fn run_ready(&mut self) -> bool {
        // Exchanged for the storage of the last round: waking another task of the lane allocates nothing.
        let mut batch = std::mem::take(&mut self.ready);
        Local::with(|local| std::mem::swap(&mut *local.ready.borrow_mut(), &mut batch));
        for _ in 0..TURNS_PER_ROUND {
            let Some(task) = batch.pop_front() else { break };
            self.run_task(task);
        }
        let more = Local::with(|local| {
            local.current.set(None);
            let mut ready = local.ready.borrow_mut();
            if !batch.is_empty() {
                // What was not run comes before what has become ready meanwhile.
                batch.append(&mut ready);
                std::mem::swap(&mut *ready, &mut batch);
            }
            !ready.is_empty()
        });
        self.ready = batch;
        more.unwrap_or(false)
    }

    #[inline]
    fn run_task(&mut self, task: TaskRef) {
        let Some(entry) = self
            .tasks
            .get_mut(task.key)
            .filter(|entry| entry.generation == task.generation)
        else {
            return;
        };
        // Cleared before the poll, by an exchange, so that whoever finds it set is seen by the poll.
        if entry.state.scheduled.load(Ordering::Relaxed) {
            entry.state.scheduled.swap(false, Ordering::AcqRel);
        }
        Local::with(|local| local.current.set(Some(task)));
        let mut cx = Context::from_waker(&entry.waker);
        let polled = catch_unwind(AssertUnwindSafe(|| entry.future.as_mut().poll(&mut cx)));
        if !matches!(polled, Ok(Poll::Pending)) {
            self.finish(task.key, polled.is_err());
        }
    }

    #[cold]
    fn finish(&mut self, key: usize, panicked: bool) {
        if panicked {
            tracing::error!("a task of a lane panicked");
        }
        let entry = self.tasks.remove(key);
        drop_contained(entry, "a task of a lane panicked when it was dropped");
    }
}

/// The runtime's reactor has all sockets.
#[cfg(not(target_os = "linux"))]
fn poll_reactor() -> usize {
    0
}

/// Puts the tasks that events are for into the ready queue; returns how many events there were.
#[cfg(target_os = "linux")]
fn poll_reactor() -> usize {
    let polled = Local::with(|local| {
        let mut ready = local.ready.borrow_mut();
        local.reactor.poll(|task| ready.push_back(task))
    });
    match polled {
        Some(Ok(events)) => events,
        Some(Err(error)) => {
            tracing::error!(%error, "a lane cannot poll its sockets");
            0
        }
        None => 0,
    }
}

impl Executor {
    /// Drops all tasks, and those to come.
    pub(super) fn end(&mut self) {
        let spawned = {
            let mut queue = lock(&self.remote.queue);
            queue.ended = true;
            queue.driver = None;
            queue.woken.clear();
            std::mem::take(&mut queue.spawned)
        };
        // Dropped without the lock: what they drop may spawn.
        drop(spawned);
        let mut local = self.local.take();
        let tasks = std::mem::take(&mut self.tasks);
        for (_, entry) in tasks {
            let dropped = catch_unwind(AssertUnwindSafe(|| {
                Local::enter(&mut local, || drop(entry));
            }));
            if dropped.is_err() {
                tracing::error!("a task of a lane panicked when it was dropped");
            }
        }
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        self.end();
    }
}
