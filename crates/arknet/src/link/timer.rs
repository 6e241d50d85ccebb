//! A deadline for whoever holds a connection at the moment, on any thread.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use tokio::runtime::Handle;

use crate::io::now;
use crate::lanes::lock;

/// One timer that serves the deadlines of one connection, one after the other. An unused one holds nothing.
///
/// It belongs to the runtime of the connection's socket, so that a caller in no runtime, or in one without timers, has
/// deadlines all the same. The runtime's own timer is polled by a task there and nowhere else: polled from outside while
/// its runtime ends, it panics.
#[derive(Debug)]
pub(crate) struct Timer {
    runtime: Handle,
    watch: Arc<Watch>,
    /// When it will fire; `None` if it has, or was never wanted.
    armed: Option<Instant>,
    /// Whom it will wake.
    waker: Option<Waker>,
}

/// The runtime has ended, and with it the socket.
#[derive(Debug)]
pub(crate) struct RuntimeEnded;

/// What the timer and its task share.
#[derive(Debug, Default)]
struct Watch {
    /// What the task has to say: [`QUIET`], [`FIRED`] or [`ENDED`]. Changed under the lock.
    news: AtomicU8,
    state: Mutex<State>,
}

const QUIET: u8 = 0;
/// The armed time has come.
const FIRED: u8 = 1;
/// The runtime has dropped the task.
const ENDED: u8 = 2;

#[derive(Debug, Default)]
struct State {
    /// When to fire; `None` once the timer is gone.
    deadline: Option<Instant>,
    waiter: Option<Waker>,
    /// The task, where there is one.
    task: Option<Waker>,
    is_running: bool,
}

impl Timer {
    /// A timer of the runtime that the caller runs in; `None` outside of one.
    pub(crate) fn here() -> Option<Self> {
        Some(Self {
            runtime: Handle::try_current().ok()?,
            watch: Arc::default(),
            armed: None,
            waker: None,
        })
    }

    /// Runs something in the runtime, for whoever is in none. Where it has ended, nothing is run.
    #[cfg(feature = "mysql")]
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        drop(self.runtime.spawn(task));
    }

    /// Ready when `wanted` has passed; wakes the caller then, whoever called before.
    ///
    /// A timer that is armed for an earlier deadline, of a request that has been answered, stays as it is: when it fires
    /// it is armed anew. So a request that is answered costs no change of the runtime's timers, and no lock where the
    /// same task waits again.
    #[inline]
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        wanted: Instant,
    ) -> Poll<Result<(), RuntimeEnded>> {
        let is_armed = self.armed.is_some_and(|armed| armed <= wanted);
        let is_known = self
            .waker
            .as_ref()
            .is_some_and(|waker| waker.will_wake(cx.waker()));
        if is_armed && is_known && self.watch.news.load(Ordering::Acquire) == QUIET {
            return Poll::Pending;
        }
        self.poll_news(cx, wanted)
    }

    #[cold]
    fn poll_news(
        &mut self,
        cx: &mut Context<'_>,
        wanted: Instant,
    ) -> Poll<Result<(), RuntimeEnded>> {
        let mut state = lock(&self.watch.state);
        match self.watch.news.load(Ordering::Acquire) {
            ENDED => return Poll::Ready(Err(RuntimeEnded)),
            FIRED => {
                self.watch.news.store(QUIET, Ordering::Release);
                self.armed = None;
                if now() >= wanted {
                    return Poll::Ready(Ok(()));
                }
            }
            _ => {}
        }
        self.waker = Some(cx.waker().clone());
        let former = state.waiter.replace(cx.waker().clone());
        if self.armed.is_none_or(|armed| armed > wanted) {
            self.armed = Some(wanted);
            self.arm(state, wanted);
        } else {
            drop(state);
        }
        // A waker of somebody else's is not dropped under the lock.
        drop(former);
        Poll::Pending
    }

    fn arm(&self, mut state: MutexGuard<'_, State>, wanted: Instant) {
        state.deadline = Some(wanted);
        let is_running = std::mem::replace(&mut state.is_running, true);
        let task = state.task.take();
        drop(state);
        if let Some(task) = task {
            task.wake();
        } else if !is_running {
            let watching = Watching {
                watch: self.watch.clone(),
                is_over: false,
            };
            drop(self.runtime.spawn(watching.run()));
        }
    }
}

/// The task has nothing to watch any more.
impl Drop for Timer {
    fn drop(&mut self) {
        let mut state = lock(&self.watch.state);
        state.deadline = None;
        let (task, waiter) = (state.task.take(), state.waiter.take());
        drop(state);
        drop(waiter);
        if let Some(task) = task {
            task.wake();
        }
    }
}

/// The task's side. Dropped while it runs, it says that the runtime has ended.
struct Watching {
    watch: Arc<Watch>,
    /// It has done its work. The next task may run already when this one is dropped, and must not be taken for it.
    is_over: bool,
}

impl Watching {
    async fn run(mut self) {
        let mut sleep = pin!(tokio::time::sleep_until(now().into()));
        poll_fn(|cx| {
            let mut state = lock(&self.watch.state);
            let Some(deadline) = state.deadline else {
                self.is_over = true;
                state.is_running = false;
                return Poll::Ready(());
            };
            state.task = Some(cx.waker().clone());
            drop(state);
            if sleep.deadline() != deadline.into() {
                sleep.as_mut().reset(deadline.into());
            }
            // The runtime's budget is no matter: this task does nothing else.
            let slept = pin!(tokio::task::unconstrained(sleep.as_mut())).poll(cx);
            if slept.is_pending() {
                return Poll::Pending;
            }
            let state = lock(&self.watch.state);
            if state.deadline != Some(deadline) {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            self.is_over = true;
            self.watch.end(state, FIRED);
            Poll::Ready(())
        })
        .await;
    }
}

impl Watch {
    fn end(&self, mut state: MutexGuard<'_, State>, news: u8) {
        self.news.store(news, Ordering::Release);
        state.is_running = false;
        let (task, waiter) = (state.task.take(), state.waiter.take());
        drop(state);
        drop(task);
        if let Some(waiter) = waiter {
            waiter.wake();
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        if !self.is_over {
            self.watch.end(lock(&self.watch.state), ENDED);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Waits for a deadline on `timer`.
    async fn wait(timer: &mut Timer, wanted: Instant) -> Result<(), RuntimeEnded> {
        poll_fn(|cx| timer.poll(cx, wanted)).await
    }

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap()
    }

    #[test]
    fn deadlines_pass_in_turn_and_not_early() {
        runtime().block_on(async {
            let mut timer = Timer::here().unwrap();
            for milliseconds in [5, 1, 10, 0] {
                let wanted = now() + Duration::from_millis(milliseconds);
                wait(&mut timer, wanted).await.unwrap();
                assert!(now() >= wanted);
            }
        });
    }

    #[test]
    fn an_earlier_deadline_is_not_hidden_by_a_later_one() {
        runtime().block_on(async {
            let mut timer = Timer::here().unwrap();
            let far = now() + Duration::from_secs(3600);
            let waits = poll_fn(|cx| Poll::Ready(timer.poll(cx, far))).await;
            assert!(waits.is_pending());
            tokio::task::yield_now().await;
            let near = now() + Duration::from_millis(1);
            wait(&mut timer, near).await.unwrap();
        });
    }

    #[test]
    fn the_end_of_the_runtime_is_told_to_who_waits() {
        let runtime = runtime();
        let mut timer = runtime.block_on(async { Timer::here().unwrap() });
        let far = now() + Duration::from_secs(3600);
        let mut cx = Context::from_waker(Waker::noop());
        assert!(timer.poll(&mut cx, far).is_pending());
        drop(runtime);
        assert!(matches!(timer.poll(&mut cx, far), Poll::Ready(Err(_))));
        // And to who comes later.
        assert!(matches!(timer.poll(&mut cx, far), Poll::Ready(Err(_))));
    }

    /// The task of one deadline is dropped beside the next one's start.
    #[test]
    fn deadlines_that_follow_each_other_at_once_are_no_end_of_the_runtime() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_time()
            .build()
            .unwrap();
        let mut timer = runtime.block_on(async { Timer::here().unwrap() });
        for _ in 0..2_000 {
            runtime.block_on(wait(&mut timer, now())).unwrap();
        }
    }

    #[test]
    fn outside_of_a_runtime_there_is_none() {
        assert!(Timer::here().is_none());
    }
}
