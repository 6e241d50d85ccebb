//! Counting the tasks of lanes, so that a shutdown can wait for them.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use futures_util::FutureExt;
use futures_util::future::{Either, select};
use tokio::runtime::Handle;
use tokio::sync::Notify;

/// What [`Lanes::shutdown`](super::Lanes::shutdown) found.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct LanesReport {
    /// Whether all tasks had ended by the deadline.
    pub finished: bool,
    /// How many had not.
    pub tasks_left: usize,
}

/// How many tasks there are.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    running: AtomicUsize,
    ended: Notify,
}

impl Tasks {
    /// The same future, counted until it ends or is dropped.
    pub(super) fn count<F: Future<Output = ()>>(
        self: &Arc<Self>,
        future: F,
    ) -> impl Future<Output = ()> + use<F> {
        self.running.fetch_add(1, Ordering::Relaxed);
        let guard = Guard(self.clone());
        // An async block would hold the future twice, as what it captured and as what it awaits: half a KiB for each
        // connection.
        future.map(move |()| drop(guard))
    }

    /// Waits until no task is left, or the deadline has passed by the clock of `runtime`; returns how many are left.
    pub(super) async fn wait(&self, deadline: Instant, runtime: &Handle) -> usize {
        let late = {
            // Whoever awaits this may be in no runtime, or in one without timers.
            let _inside = runtime.enter();
            tokio::time::sleep_until(deadline.into())
        };
        let mut late = pin!(late);
        loop {
            let ended = pin!(self.ended.notified());
            if self.running.load(Ordering::Acquire) == 0 {
                return 0;
            }
            if let Either::Right(_) = select(ended, late.as_mut()).await {
                return self.running.load(Ordering::Acquire);
            }
        }
    }
}

struct Guard(Arc<Tasks>);

impl Drop for Guard {
    fn drop(&mut self) {
        if self.0.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.ended.notify_waiters();
        }
    }
}
