//! Counting the tasks of lanes, so that a shutdown can wait for them.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use futures_util::FutureExt;
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

    /// Waits until no task is left, or the deadline has passed; returns how many are left.
    pub(super) async fn wait(&self, deadline: Instant) -> usize {
        loop {
            let ended = self.ended.notified();
            let left = self.running.load(Ordering::Acquire);
            if left == 0 || tokio_timeout(deadline, ended).await.is_err() {
                return self.running.load(Ordering::Acquire);
            }
        }
    }
}

/// A timeout that needs no runtime of the caller's: where there is none, the future is simply awaited.
async fn tokio_timeout<F: Future>(deadline: Instant, future: F) -> Result<F::Output, ()> {
    if tokio::runtime::Handle::try_current().is_err() {
        return Ok(future.await);
    }
    tokio::time::timeout_at(deadline.into(), future)
        .await
        .map_err(|_| ())
}

struct Guard(Arc<Tasks>);

impl Drop for Guard {
    fn drop(&mut self) {
        if self.0.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.ended.notify_waiters();
        }
    }
}
