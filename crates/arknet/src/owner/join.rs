//! The outputs of tasks.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use super::core::Core;
use super::error::Ended;
use super::tasks::TaskRef;

enum Outcome<T> {
    Running(Option<Waker>),
    Ended(Result<T, Ended>),
    Taken,
}

/// What a task and whoever waits for it share.
pub(crate) struct Shared<T>(RefCell<Outcome<T>>);

impl<T> Shared<T> {
    pub(crate) fn new() -> Rc<Self> {
        Rc::new(Self(RefCell::new(Outcome::Running(None))))
    }

    fn end(&self, output: Result<T, Ended>) {
        let old = self.0.replace(Outcome::Ended(output));
        if let Outcome::Running(Some(waker)) = old {
            waker.wake();
        }
    }
}

/// Runs inside of the task: says how it ended, whichever way that is.
pub(crate) struct Ending<T>(Option<Rc<Shared<T>>>);

impl<T> Ending<T> {
    pub(crate) fn new(shared: Rc<Shared<T>>) -> Self {
        Self(Some(shared))
    }

    pub(crate) fn done(mut self, output: T) {
        if let Some(shared) = self.0.take() {
            shared.end(Ok(output));
        }
    }
}

impl<T> Drop for Ending<T> {
    fn drop(&mut self) {
        if let Some(shared) = self.0.take() {
            shared.end(Err(if std::thread::panicking() {
                Ended::Panicked
            } else {
                Ended::Cancelled
            }));
        }
    }
}

/// The output of a task, to be awaited by another task of the same owner.
///
/// Dropping it lets the task run on; [`cancel`](Self::cancel) ends it.
pub struct Task<W, T> {
    core: Rc<Core<W>>,
    task: TaskRef,
    shared: Rc<Shared<T>>,
}

impl<W, T> Task<W, T> {
    pub(crate) fn new(core: Rc<Core<W>>, task: TaskRef, shared: Rc<Shared<T>>) -> Self {
        Self { core, task, shared }
    }

    /// Ends the task at once: when this returns its future has been dropped. A task that is being polled, which is the
    /// caller itself, ends at its next await. False where it had ended.
    pub fn cancel(&self) -> bool {
        self.core.tasks.leave_and_cancel(&self.core, self.task)
    }

    /// Whether it has ended.
    pub fn is_finished(&self) -> bool {
        !self.core.tasks.is_alive(self.task)
    }

    fn poll_output(&self, cx: &Context<'_>) -> Poll<Result<T, Ended>> {
        let mut outcome = self.shared.0.borrow_mut();
        match &mut *outcome {
            Outcome::Running(waker) => {
                if !waker
                    .as_ref()
                    .is_some_and(|known| known.will_wake(cx.waker()))
                {
                    *waker = Some(cx.waker().clone());
                }
                Poll::Pending
            }
            Outcome::Ended(_) => match std::mem::replace(&mut *outcome, Outcome::Taken) {
                Outcome::Ended(output) => Poll::Ready(output),
                Outcome::Running(_) | Outcome::Taken => Poll::Ready(Err(Ended::Cancelled)),
            },
            // Awaited again: there is nothing more to come.
            Outcome::Taken => Poll::Ready(Err(Ended::Cancelled)),
        }
    }
}

impl<W, T> Future for Task<W, T> {
    type Output = Result<T, Ended>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll_output(cx)
    }
}

impl<W, T> std::fmt::Debug for Task<W, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Task")
            .field("task", &self.task)
            .finish_non_exhaustive()
    }
}

/// Tasks that end with whoever waits for them.
struct Bound<W, T>(Vec<Task<W, T>>);

impl<W, T> Drop for Bound<W, T> {
    fn drop(&mut self) {
        for task in &self.0 {
            task.cancel();
        }
    }
}

/// Waits for all of them; each has an output or a reason why not, in the order given.
///
/// Dropping this future cancels those that run.
pub async fn collect<W, T>(tasks: Vec<Task<W, T>>) -> Vec<Result<T, Ended>> {
    let tasks = Bound(tasks);
    let mut outputs = Vec::with_capacity(tasks.0.len());
    for task in &tasks.0 {
        outputs.push(poll_fn(|cx| task.poll_output(cx)).await);
    }
    outputs
}

/// Waits for the first that has an output, and cancels the others. `None` where all ended without one.
///
/// Of several that have ended by the time this task runs, the first in the order given wins. Dropping this future
/// cancels all.
pub async fn race<W, T>(tasks: Vec<Task<W, T>>) -> Option<T> {
    let tasks = Bound(tasks);
    let mut running = vec![true; tasks.0.len()];
    poll_fn(|cx| {
        let mut left = false;
        for (task, running) in tasks.0.iter().zip(&mut running) {
            if !*running {
                continue;
            }
            match task.poll_output(cx) {
                Poll::Ready(Ok(output)) => return Poll::Ready(Some(output)),
                Poll::Ready(Err(_)) => *running = false,
                Poll::Pending => left = true,
            }
        }
        if left {
            Poll::Pending
        } else {
            Poll::Ready(None)
        }
    })
    .await
}

/// Waits for all of them, up to the first error: then the others are cancelled.
///
/// Dropping this future cancels those that run.
///
/// # Errors
///
/// The first error by time, or what a task that was cancelled or panicked becomes by `E: From<Ended>`.
pub async fn try_join<W, T, E: From<Ended>>(
    tasks: Vec<Task<W, Result<T, E>>>,
) -> Result<Vec<T>, E> {
    let tasks = Bound(tasks);
    let mut outputs: Vec<Option<T>> = tasks.0.iter().map(|_| None).collect();
    poll_fn(|cx| {
        let mut left = false;
        for (task, output) in tasks.0.iter().zip(&mut outputs) {
            if output.is_some() {
                continue;
            }
            match task.poll_output(cx) {
                Poll::Ready(Ok(Ok(value))) => *output = Some(value),
                Poll::Ready(Ok(Err(error))) => return Poll::Ready(Err(error)),
                Poll::Ready(Err(ended)) => return Poll::Ready(Err(E::from(ended))),
                Poll::Pending => left = true,
            }
        }
        if left {
            Poll::Pending
        } else {
            Poll::Ready(Ok(()))
        }
    })
    .await?;
    Ok(outputs.into_iter().flatten().collect())
}
