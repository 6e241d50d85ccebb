//! The handle by which everything on the owner's thread reaches the owner.

use std::fmt::Display;
use std::future::Future;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::core::{Core, State};
use super::drain::Drained;
use super::error::{RejectReason, Rejected};
use super::group::{Group, GroupJoin};
use super::groups::GroupRef;
use super::join::{Ending, Shared, Task};
use super::label::Label;
use super::missed::{self, Missed};
use super::posts::Poster;
use super::timers::{Action, Sleep, Timer};

/// The owner, seen from its own thread: from tasks, callbacks, and the host. What is made by it belongs to its group, if it
/// has one, and ends with that.
///
/// It is not `Send`; from other threads there is [`Poster`]. It may outlive the owner, and then refuses everything.
pub struct Cx<W> {
    pub(crate) core: Rc<Core<W>>,
    pub(crate) group: Option<GroupRef>,
}

impl<W> Clone for Cx<W> {
    fn clone(&self) -> Self {
        Self {
            core: self.core.clone(),
            group: self.group,
        }
    }
}

impl<W> std::fmt::Debug for Cx<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cx")
            .field("owner", &self.core.id)
            .field("group", &self.group)
            .finish()
    }
}

impl<W: 'static> Cx<W> {
    /// Lends the world to a closure, from a task.
    ///
    /// # Panics
    ///
    /// Where there is no world to lend: outside of an update, and inside of a callback or another `with`, which have it
    /// already. [`try_with`](Self::try_with) does not.
    #[track_caller]
    pub fn with<R>(&self, with: impl FnOnce(&mut W) -> R) -> R {
        match self.core.loan.with(with) {
            Some(output) => output,
            None => panic!(
                "no world to lend: Cx::with belongs in a task, inside of an update, and not into a callback or another with"
            ),
        }
    }

    /// As [`with`](Self::with); `None` where there is no world to lend.
    pub fn try_with<R>(&self, with: impl FnOnce(&mut W) -> R) -> Option<R> {
        self.core.loan.with(with)
    }

    /// The owner's clock: the moment at which the update began.
    pub fn now(&self) -> Instant {
        self.core.clock.get()
    }

    /// How many updates there have been, this one included.
    pub fn tick(&self) -> u64 {
        self.core.tick.get()
    }

    /// Runs a task on the owner's thread. Its first poll is in the next update; it may hold what is not `Send`.
    ///
    /// ```
    /// # use arknet::owner::{Budget, Io, Owner};
    /// let mut owner = Owner::<Vec<u32>>::builder().io(Io::inline()).build()?;
    /// owner.spawn(async move |cx| cx.with(|world| world.push(1)))?;
    /// let mut world = Vec::new();
    /// owner.update(&mut world, Budget::default())?;
    /// assert_eq!(world, [1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The function comes back where there are too many tasks, the group has been cancelled, or the owner has ended.
    #[track_caller]
    pub fn spawn<F, Fut>(&self, task: F) -> Result<Task<W, Fut::Output>, Rejected<F>>
    where
        F: FnOnce(Self) -> Fut + 'static,
        Fut: Future + 'static,
    {
        self.spawn_as(Label::here(), false, task)
    }

    /// As [`spawn`](Self::spawn), with a name for reports.
    ///
    /// # Errors
    ///
    /// As [`spawn`](Self::spawn).
    #[track_caller]
    pub fn spawn_named<F, Fut>(
        &self,
        name: &'static str,
        task: F,
    ) -> Result<Task<W, Fut::Output>, Rejected<F>>
    where
        F: FnOnce(Self) -> Fut + 'static,
        Fut: Future + 'static,
    {
        self.spawn_as(Label::here().named(name), false, task)
    }

    /// As [`spawn`](Self::spawn), for a task that never ends by itself: a drain cancels it when it begins, and does not
    /// wait for it.
    ///
    /// # Errors
    ///
    /// As [`spawn`](Self::spawn).
    #[track_caller]
    pub fn spawn_background<F, Fut>(&self, task: F) -> Result<Task<W, Fut::Output>, Rejected<F>>
    where
        F: FnOnce(Self) -> Fut + 'static,
        Fut: Future + 'static,
    {
        self.spawn_as(Label::here(), true, task)
    }

    /// As [`spawn`](Self::spawn), for a task that may fail. The failure is noted in the report of its group, and ends a
    /// group that [fails fast](Self::group_failing_fast); in no group it is logged.
    ///
    /// # Errors
    ///
    /// As [`spawn`](Self::spawn).
    #[track_caller]
    pub fn try_spawn<F, Fut, T, E>(&self, task: F) -> Result<Task<W, Result<T, E>>, Rejected<F>>
    where
        F: FnOnce(Self) -> Fut + 'static,
        Fut: Future<Output = Result<T, E>> + 'static,
        T: 'static,
        E: Display + 'static,
    {
        let label = Label::here();
        let cx = self.clone();
        // The function comes back unchanged, so it is wrapped only on its way into the task.
        self.spawn_with(label, false, task, move |task, inside| {
            let future = task(inside);
            async move {
                let output = future.await;
                if let Err(error) = &output {
                    if cx.group.is_none() {
                        tracing::warn!(label = %label, %error, "a task of an owner failed");
                    }
                    cx.core.failure.set(Some(error.to_string()));
                }
                output
            }
        })
    }

    pub(crate) fn spawn_as<F, Fut>(
        &self,
        label: Label,
        background: bool,
        task: F,
    ) -> Result<Task<W, Fut::Output>, Rejected<F>>
    where
        F: FnOnce(Self) -> Fut + 'static,
        Fut: Future + 'static,
    {
        self.spawn_with(label, background, task, |task, cx| task(cx))
    }

    fn spawn_with<F, Fut>(
        &self,
        label: Label,
        background: bool,
        task: F,
        begin: impl FnOnce(F, Self) -> Fut,
    ) -> Result<Task<W, Fut::Output>, Rejected<F>>
    where
        Fut: Future + 'static,
    {
        if let Err(reason) = self.can_spawn() {
            self.core.count_rejection();
            return Err(Rejected::new(task, reason));
        }
        let shared = Shared::new();
        let ending = Ending::new(shared.clone());
        let future = begin(task, self.clone());
        let future = Box::pin(async move {
            let output = future.await;
            ending.done(output);
        });
        match self
            .core
            .tasks
            .spawn(&self.core, future, self.group, label, background)
        {
            Ok(task) => Ok(Task::new(self.core.clone(), task, shared)),
            // Room was looked for above, and nothing ran since but the function itself, which may have used it up.
            Err((reason, future)) => {
                drop(future);
                self.core.count_rejection();
                tracing::warn!(label = %label, %reason, "a task was refused after its function had begun");
                Ok(Task::new(self.core.clone(), NEVER, shared))
            }
        }
    }

    fn can_spawn(&self) -> Result<(), RejectReason> {
        self.check_open()?;
        let most = self.core.limits.tasks;
        if self.core.tasks.len() >= most {
            return Err(RejectReason::Operations { most, of: "tasks" });
        }
        Ok(())
    }

    /// Whether the owner and the group are there.
    pub(crate) fn check_open(&self) -> Result<(), RejectReason> {
        if self.core.state.get() == State::Ended {
            return Err(RejectReason::Closed { of: "the owner" });
        }
        match self.group {
            Some(group) if !self.core.groups.borrow().is_alive(group) => {
                Err(RejectReason::Closed { of: "the group" })
            }
            _ => Ok(()),
        }
    }

    /// Runs a function with the world in the next update.
    ///
    /// # Errors
    ///
    /// The function comes back where too many are deferred, the group has been cancelled, or the owner has ended.
    #[track_caller]
    pub fn defer<F>(&self, function: F) -> Result<(), Rejected<F>>
    where
        F: FnOnce(&mut W) + 'static,
    {
        let label = Label::here();
        let checked = self.check_open().and_then(|()| self.core.deferred.check());
        if let Err(reason) = checked {
            self.core.count_rejection();
            return Err(Rejected::new(function, reason));
        }
        self.core
            .deferred
            .push(&self.core, self.group, label, Box::new(function));
        Ok(())
    }

    /// What other threads post functions by. They belong to this group.
    pub fn poster(&self) -> Poster<W> {
        self.core.posts.poster(self.group)
    }

    /// Runs a function with the world once the owner's clock has come to `deadline`.
    ///
    /// # Errors
    ///
    /// Where there are too many timers, the group has been cancelled, or the owner has ended.
    #[track_caller]
    pub fn at<F>(&self, deadline: Instant, function: F) -> Result<Timer<W>, RejectReason>
    where
        F: FnOnce(&mut W) + 'static,
    {
        self.set_timer(Label::here(), deadline, Action::Once(Box::new(function)))
    }

    /// As [`at`](Self::at), after a time.
    ///
    /// # Errors
    ///
    /// As [`at`](Self::at).
    #[track_caller]
    pub fn after<F>(&self, time: Duration, function: F) -> Result<Timer<W>, RejectReason>
    where
        F: FnOnce(&mut W) + 'static,
    {
        self.at(missed::add(self.now(), time), function)
    }

    /// Runs a function with the world and the number of missed ticks, each `period` of the owner's clock, from one period
    /// from now. What becomes of ticks that are missed is up to `missed`.
    ///
    /// # Errors
    ///
    /// As [`at`](Self::at).
    #[track_caller]
    pub fn every<F>(
        &self,
        period: Duration,
        missed: Missed,
        function: F,
    ) -> Result<Timer<W>, RejectReason>
    where
        F: FnMut(&mut W, u64) + 'static,
    {
        let action = Action::Every {
            function: Some(Box::new(function)),
            period,
            missed,
        };
        self.set_timer(Label::here(), missed::add(self.now(), period), action)
    }

    fn set_timer(
        &self,
        label: Label,
        deadline: Instant,
        action: Action<W>,
    ) -> Result<Timer<W>, RejectReason> {
        let set = self.check_open().and_then(|()| {
            self.core
                .timers
                .set(&self.core, deadline, self.group, label, action)
        });
        match set {
            Ok(ticket) => Ok(Timer::new(self.core.clone(), ticket)),
            Err(reason) => {
                self.core.count_rejection();
                Err(reason)
            }
        }
    }

    /// Waits, in a task, until the owner's clock has gone on by `time`. Also a time of nothing waits for the next update.
    ///
    /// # Errors
    ///
    /// The future ends with an error at once where there are too many timers.
    #[track_caller]
    pub fn sleep(&self, time: Duration) -> Sleep<W> {
        self.sleep_until(missed::add(self.now(), time))
    }

    /// Waits, in a task, until the owner's clock has come to `deadline`.
    ///
    /// # Errors
    ///
    /// As [`sleep`](Self::sleep).
    #[track_caller]
    pub fn sleep_until(&self, deadline: Instant) -> Sleep<W> {
        Sleep::new(self.core.clone(), deadline, Label::here())
    }

    /// Lets everything else that is ready have its turn first: the task goes on in the next update.
    pub async fn yield_now(&self) {
        let mut yielded = false;
        std::future::poll_fn(|cx| {
            if std::mem::replace(&mut yielded, true) {
                return std::task::Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            std::task::Poll::Pending
        })
        .await;
    }

    /// Ends when a drain begins: for tasks that work in a loop and have something to put in order.
    pub fn drained(&self) -> Drained<W> {
        Drained::new(self.core.clone())
    }

    /// Whether the owner drains or has ended.
    pub fn is_draining(&self) -> bool {
        self.core.state.get() != State::Open
    }

    /// A group within this one. It is cancelled when it is dropped, and when this one is.
    ///
    /// # Errors
    ///
    /// The name comes back where there are too many groups, this group has been cancelled, or the owner has ended.
    pub fn group<'a>(&self, name: &'a str) -> Result<Group<W>, Rejected<&'a str>> {
        self.new_group(name, false)
    }

    /// As [`group`](Self::group); it is cancelled when one of its tasks fails or panics.
    ///
    /// # Errors
    ///
    /// As [`group`](Self::group).
    pub fn group_failing_fast<'a>(&self, name: &'a str) -> Result<Group<W>, Rejected<&'a str>> {
        self.new_group(name, true)
    }

    fn new_group<'a>(
        &self,
        name: &'a str,
        fails_fast: bool,
    ) -> Result<Group<W>, Rejected<&'a str>> {
        let most = self.core.limits.groups;
        let added = self.check_open().and_then(|()| {
            let mut groups = self.core.groups.borrow_mut();
            if groups.len() >= most {
                return Err(RejectReason::Operations { most, of: "groups" });
            }
            groups
                .add(self.group, Rc::from(name), fails_fast)
                .ok_or(RejectReason::Closed { of: "the group" })
        });
        match added {
            Ok(group) => Ok(Group::new(Self {
                core: self.core.clone(),
                group: Some(group),
            })),
            Err(reason) => {
                self.core.count_rejection();
                Err(Rejected::new(name, reason))
            }
        }
    }

    /// The name of the group, if there is one.
    pub fn group_name(&self) -> Option<Rc<str>> {
        self.core.groups.borrow().name(self.group?)
    }

    /// Cancels the group that this belongs to, if there is one: see [`Group::cancel`].
    pub fn cancel_group(&self) -> usize {
        self.group
            .map(|group| self.core.cancel_group(group))
            .unwrap_or_default()
    }

    /// Waits until no task, operation or timer of `group` and the groups below it is left. For a task outside of it.
    pub fn join(&self, group: &Group<W>) -> GroupJoin<W> {
        group.join()
    }

    /// Runs an async function when the owner drains, after everything that was accepted has been delivered. Finalisers run
    /// one after the other, the last one registered first. What they submit is waited for.
    #[track_caller]
    pub fn on_drain<F, Fut>(&self, name: &'static str, finaliser: F)
    where
        F: FnOnce(Self) -> Fut + 'static,
        Fut: Future<Output = ()> + 'static,
    {
        let label = Label::here().named(name);
        let finaliser = super::drain::Finaliser::new(label, self.clone(), finaliser);
        self.core.finalisers.borrow_mut().push_front(finaliser);
    }

    /// What has happened so far.
    pub fn stats(&self) -> super::Stats {
        super::stats::snapshot(&self.core)
    }
}

/// A task that there never was.
const NEVER: super::tasks::TaskRef = super::tasks::TaskRef {
    index: u32::MAX,
    generation: 0,
};
