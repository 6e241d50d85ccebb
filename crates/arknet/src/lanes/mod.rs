//! Where work runs. [`Lanes`] is a value that the application makes and passes in; there is no hidden runtime.
//!
//! | | schedulers | threads | for |
//! |---|---|---|---|
//! | [`Lanes::shared(n)`](Lanes::shared) | one | n | uneven connections |
//! | [`Lanes::sharded(n)`](Lanes::sharded) | n | one each | many alike connections: each stays on its lane |
//! | [`Lanes::current()`](Lanes::current) | the caller's tokio runtime | its own | programs that have one |
//! | [`Lanes::manual()`](Lanes::manual) | one | none: [`Lanes::poll`] runs it | programs with a loop |
//!
//! Whatever the model, the work of one connection is serialised: its callbacks never run concurrently with themselves.

mod error;
mod executor;
mod manual;
mod mark;
mod spin;
mod tasks;
mod threads;

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

pub use error::LanesError;
use manual::Manual;
#[cfg(feature = "owner")]
pub(crate) use mark::Marked;
pub(crate) use spin::worked;
pub use tasks::LanesReport;
use tasks::Tasks;
use threads::Threads;

/// The most threads that one `Lanes` may have: more is a mistake in a configuration.
const MAX_THREADS: usize = 1024;

/// Something that runs on lanes and is asked to end before they do.
pub(crate) trait Tenant: Send + Sync {
    /// Starts to end, to be done by `deadline`.
    fn end(&self, deadline: Instant);
}

/// Where connections, timers and tasks run. Clones share the same lanes.
///
/// Dropping the last clone ends the threads in the background, wherever it happens; it neither waits nor panics. Use
/// [`shutdown`](Self::shutdown) to end in good order.
///
/// ```
/// use std::time::Duration;
/// use arknet::Lanes;
///
/// let lanes = Lanes::sharded(2)?;
/// lanes.spawn(async { /* a task on a lane */ });
/// let report = lanes.block_on(lanes.shutdown(Duration::from_secs(5)))?;
/// assert!(report.finished);
/// # Ok::<(), arknet::LanesError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Lanes {
    inner: Arc<Inner>,
}

struct Inner {
    model: Model,
    next: AtomicUsize,
    tasks: Arc<Tasks>,
    tenants: Mutex<Vec<Weak<dyn Tenant>>>,
}

enum Model {
    Threads(Threads),
    Current(tokio::runtime::Handle),
    Manual(Manual),
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let model = match &self.model {
            Model::Threads(threads) => threads.name(),
            Model::Current(_) => "current",
            Model::Manual(_) => "manual",
        };
        f.debug_struct("Lanes")
            .field("model", &model)
            .field("count", &self.count())
            .finish()
    }
}

impl Inner {
    fn count(&self) -> usize {
        match &self.model {
            Model::Threads(threads) => threads.schedulers(),
            Model::Current(_) | Model::Manual(_) => 1,
        }
    }
}

impl Lanes {
    /// One scheduler with `threads` threads.
    ///
    /// ```
    /// let lanes = arknet::Lanes::shared(4)?;
    /// assert_eq!(lanes.count(), 1);
    /// # Ok::<(), arknet::LanesError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`LanesError::Threads`] where `threads` is not in 1..=1,024, [`LanesError::Start`] where the system refuses.
    pub fn shared(threads: usize) -> Result<Self, LanesError> {
        Self::threads(threads, Threads::shared)
    }

    /// `threads` schedulers with one thread each. A connection stays on the lane that it was given.
    ///
    /// ```
    /// let lanes = arknet::Lanes::sharded(4)?;
    /// assert_eq!(lanes.count(), 4);
    /// # Ok::<(), arknet::LanesError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`LanesError::Threads`] where `threads` is not in 1..=1,024, [`LanesError::Start`] where the system refuses.
    pub fn sharded(threads: usize) -> Result<Self, LanesError> {
        Self::threads(threads, Threads::sharded)
    }

    fn threads(
        threads: usize,
        start: impl FnOnce(usize) -> Result<Threads, LanesError>,
    ) -> Result<Self, LanesError> {
        if threads == 0 || threads > MAX_THREADS {
            return Err(LanesError::Threads {
                asked: threads,
                most: MAX_THREADS,
            });
        }
        Ok(Self::of(Model::Threads(start(threads)?)))
    }

    /// The tokio runtime that the caller runs in. It must have IO and time enabled.
    ///
    /// ```
    /// use arknet::{Lanes, LanesError};
    ///
    /// assert!(matches!(Lanes::current(), Err(LanesError::NoRuntime)));
    ///
    /// let runtime = tokio::runtime::Runtime::new()?;
    /// runtime.block_on(async {
    ///     let lanes = Lanes::current()?;
    ///     // Inside of a runtime nothing may wait by blocking: await instead.
    ///     assert!(matches!(lanes.block_on(async {}), Err(LanesError::InsideRuntime)));
    ///     Ok::<(), LanesError>(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`LanesError::NoRuntime`] outside of a runtime.
    pub fn current() -> Result<Self, LanesError> {
        let handle = tokio::runtime::Handle::try_current().map_err(|_| LanesError::NoRuntime)?;
        Ok(Self::of(Model::Current(handle)))
    }

    /// No thread at all: nothing runs until [`poll`](Self::poll) or [`poll_until`](Self::poll_until) is called.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicBool, Ordering};
    /// use std::sync::Arc;
    /// use std::time::{Duration, Instant};
    /// use arknet::Lanes;
    ///
    /// let lanes = Lanes::manual()?;
    /// let done = Arc::new(AtomicBool::new(false));
    /// let seen = done.clone();
    /// lanes.post(move || seen.store(true, Ordering::Relaxed));
    /// assert!(!done.load(Ordering::Relaxed));
    ///
    /// // The loop of a server with a tick sleeps in here until its next one.
    /// lanes.poll_until(Instant::now() + Duration::from_millis(1))?;
    /// assert!(done.load(Ordering::Relaxed));
    /// # Ok::<(), arknet::LanesError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`LanesError::Start`] where the system refuses.
    pub fn manual() -> Result<Self, LanesError> {
        Ok(Self::of(Model::Manual(Manual::new()?)))
    }

    fn of(model: Model) -> Self {
        let inner = Inner {
            model,
            next: AtomicUsize::new(0),
            tasks: Arc::default(),
            tenants: Mutex::default(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Lets each lane look for work for `duration` after the last work before it sleeps.
    ///
    /// Sleeping and being woken is what costs in a request-response exchange: 50 to 100 µs of spin make one three times
    /// as fast, at the price of a core that is busy for as long.
    ///
    /// ```
    /// use std::time::Duration;
    /// use arknet::Lanes;
    ///
    /// let lanes = Lanes::sharded(1)?.spin(Duration::from_micros(50))?;
    /// # Ok::<(), arknet::LanesError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`LanesError::Spin`] on lanes that do not have a thread of their own each: `shared` with several threads,
    /// `current` and `manual`.
    pub fn spin(self, duration: Duration) -> Result<Self, LanesError> {
        match &self.inner.model {
            Model::Threads(threads) if threads.can_spin() => {
                threads.spin(duration);
                Ok(self)
            }
            _ => Err(LanesError::Spin),
        }
    }

    /// How many lanes there are: schedulers, not threads.
    pub fn count(&self) -> usize {
        self.inner.count()
    }

    /// Runs a future on a lane. Lanes are taken in turn.
    pub fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        self.next().spawn(future);
    }

    /// Runs a function once on a lane. Lanes are taken in turn.
    pub fn post(&self, function: impl FnOnce() + Send + 'static) {
        self.spawn(async move { function() });
    }

    /// The lane whose turn it is.
    pub(crate) fn next(&self) -> Lane {
        self.at(self.inner.next.fetch_add(1, Ordering::Relaxed))
    }

    /// The lane with this index, modulo their number.
    pub(crate) fn at(&self, index: usize) -> Lane {
        let place = match &self.inner.model {
            Model::Threads(threads) => threads.place(index),
            Model::Current(handle) => Place::Runtime(handle.clone()),
            Model::Manual(manual) => Place::Executor(manual.remote().clone()),
        };
        Lane {
            place,
            tasks: self.inner.tasks.clone(),
        }
    }

    /// Does what is ready on a manual lane, without waiting.
    ///
    /// What arrived before the call is delivered in it, not one call later.
    ///
    /// # Errors
    ///
    /// [`LanesError::NotManual`] on lanes with threads, [`LanesError::InsideRuntime`] inside of a runtime, a callback
    /// or a task, [`LanesError::OnOwner`] inside of an owner's update, and [`LanesError::Busy`] while another thread polls.
    pub fn poll(&self) -> Result<(), LanesError> {
        Self::may_wait()?;
        self.manual_lane()?.poll()
    }

    /// As [`poll`](Self::poll), for an owner that does it for its own update.
    #[cfg(feature = "owner")]
    pub(crate) fn poll_owned(&self) -> Result<(), LanesError> {
        self.manual_lane()?.poll()
    }

    /// Drops all tasks of a manual lane, whose owner has ended.
    #[cfg(feature = "owner")]
    pub(crate) fn end_owned(&self) {
        if let Ok(manual) = self.manual_lane() {
            manual.end();
        }
    }

    /// Does what becomes ready on a manual lane until `until` says so or the deadline has passed, sleeping in between.
    /// `until` is asked after each round; what it waits for must wake the context.
    #[cfg(feature = "owner")]
    pub(crate) fn wait(
        &self,
        deadline: Option<Instant>,
        until: impl FnMut(&mut std::task::Context<'_>) -> bool,
    ) -> Result<(), LanesError> {
        self.manual_lane()?.wait(deadline, until)
    }

    /// An error inside of an owner's update, where a wait would hold the world.
    fn may_wait() -> Result<(), LanesError> {
        if mark::is_set() {
            return Err(LanesError::OnOwner);
        }
        Ok(())
    }

    /// Does what becomes ready on a manual lane until `deadline`, sleeping in between.
    ///
    /// This is what a loop with a fixed cadence should sleep in: messages are taken in when they arrive. It returns at
    /// the deadline, with the precision of the system's timers.
    ///
    /// # Errors
    ///
    /// As [`poll`](Self::poll).
    pub fn poll_until(&self, deadline: Instant) -> Result<(), LanesError> {
        Self::may_wait()?;
        self.manual_lane()?.poll_until(deadline)
    }

    fn manual_lane(&self) -> Result<&Manual, LanesError> {
        match &self.inner.model {
            Model::Manual(manual) => Ok(manual),
            _ => Err(LanesError::NotManual),
        }
    }

    /// Whether these lanes are run by [`poll`](Self::poll).
    pub fn is_manual(&self) -> bool {
        matches!(self.inner.model, Model::Manual(_))
    }

    /// Runs a future on the calling thread until it is done; manual lanes are driven meanwhile.
    ///
    /// # Errors
    ///
    /// [`LanesError::InsideRuntime`] inside of a runtime, a callback or a task, where waiting would block others, and
    /// [`LanesError::OnOwner`] inside of an owner's update.
    pub fn block_on<F: Future>(&self, future: F) -> Result<F::Output, LanesError> {
        Self::may_wait()?;
        match &self.inner.model {
            Model::Manual(manual) => manual.block_on(future),
            _ if tokio::runtime::Handle::try_current().is_ok() => Err(LanesError::InsideRuntime),
            Model::Threads(threads) => Ok(threads.block_on(future)),
            Model::Current(handle) => Ok(handle.block_on(future)),
        }
    }

    /// Takes note of something to end before the lanes do.
    pub(crate) fn admit(&self, tenant: Weak<dyn Tenant>) {
        let mut tenants = lock(&self.inner.tenants);
        tenants.retain(|tenant| tenant.strong_count() != 0);
        tenants.push(tenant);
    }

    /// The runtime whose timers a wait goes by: the caller's where there is one, so that a lane that is blocked does not
    /// stop its own deadline, otherwise one of these lanes.
    pub(crate) fn clock(&self) -> tokio::runtime::Handle {
        tokio::runtime::Handle::try_current().unwrap_or_else(|_| match &self.inner.model {
            Model::Threads(threads) => threads.handle().clone(),
            Model::Current(handle) => handle.clone(),
            Model::Manual(manual) => manual.handle().clone(),
        })
    }

    /// Ends everything: servers and clients are shut down with this deadline, their tasks and all others are waited for
    /// until then, and the threads end in the background.
    ///
    /// The lanes are of no use afterwards; what is spawned on them is dropped. Threads of `current` lanes are not ours
    /// and stay. On manual lanes this future must be run by [`block_on`](Self::block_on), or polled between calls of
    /// [`poll`](Self::poll).
    ///
    /// Dropping this future leaves the shutdown half done: endpoints go on ending, threads stay.
    pub async fn shutdown(&self, within: Duration) -> LanesReport {
        let deadline = crate::io::after(within);
        let tenants = std::mem::take(&mut *lock(&self.inner.tenants));
        for tenant in tenants.iter().filter_map(Weak::upgrade) {
            tenant.end(deadline);
        }
        let left = self.inner.tasks.wait(deadline, &self.clock()).await;
        if let Model::Threads(threads) = &self.inner.model {
            threads.stop();
        }
        LanesReport {
            finished: left == 0,
            tasks_left: left,
        }
    }
}

/// One lane: a place to run tasks that belong together.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    place: Place,
    tasks: Arc<Tasks>,
}

#[derive(Clone, Debug)]
enum Place {
    Runtime(tokio::runtime::Handle),
    Executor(Arc<executor::Remote>),
}

impl Lane {
    /// Runs a future on the lane.
    pub(crate) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        let counted = self.tasks.count(future);
        match &self.place {
            Place::Runtime(handle) => drop(handle.spawn(counted)),
            Place::Executor(remote) => remote.spawn(counted),
        }
    }
}

/// Locks a mutex whose data stay whole whatever happens while it is held.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Drops what is not ours; if that panics, nobody else notices, and the log says what it was.
pub(crate) fn drop_contained<T>(value: T, told: &'static str) {
    if catch_unwind(AssertUnwindSafe(|| drop(value))).is_err() {
        tracing::error!("{told}");
    }
}
