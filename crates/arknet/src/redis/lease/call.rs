//! A batch whose result a function gets.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll};

use super::Lease;
use crate::link::RuntimeEnded;
use crate::pool;
use crate::redis::connection::{Connection, Limit, Running};
use crate::redis::pool::Manager;
use crate::redis::{Batch, Error};

/// A batch on its way to a function, which is called even where the lanes drop this.
pub(super) struct Call<B: Batch, F: FnOnce(Lease, B::Output)> {
    stage: Stage<B>,
    limit: Limit,
    callback: Option<F>,
}

enum Stage<B: Batch> {
    New(Lease, B),
    Running(Running<pool::Lease<Manager>, B>),
    Ended,
}

impl<B: Batch, F: FnOnce(Lease, B::Output)> Call<B, F> {
    pub(super) fn new(lease: Lease, batch: B, callback: F) -> Self {
        Self {
            limit: lease.limit,
            stage: Stage::New(lease, batch),
            callback: Some(callback),
        }
    }

    pub(super) async fn run(mut self) {
        poll_fn(|cx| self.poll(cx)).await;
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if matches!(self.stage, Stage::New(..)) {
            self.begin();
        }
        if let Stage::Running(running) = &mut self.stage {
            let Poll::Ready(result) = running.poll(cx) else {
                return Poll::Pending;
            };
            self.end(result);
        }
        Poll::Ready(())
    }

    fn begin(&mut self) {
        let Stage::New(lease, batch) = std::mem::replace(&mut self.stage, Stage::Ended) else {
            return;
        };
        match Running::begin(lease.lease, batch, self.limit) {
            Ok(running) => self.stage = Stage::Running(running),
            Err((lease, output)) => self.call(lease, output),
        }
    }

    fn end(&mut self, result: Result<(), Error>) {
        if let Stage::Running(running) = std::mem::replace(&mut self.stage, Stage::Ended) {
            let (lease, output) = running.finish(result);
            self.call(lease, output);
        }
    }

    /// A function that panics keeps nothing else from being run, and the lease goes back.
    fn call(&mut self, lease: pool::Lease<Manager>, output: B::Output) {
        let Some(callback) = self.callback.take() else {
            return;
        };
        let lease = Lease {
            lease,
            limit: self.limit,
        };
        if catch_unwind(AssertUnwindSafe(|| callback(lease, output))).is_err() {
            tracing::error!("a callback that waited for a reply panicked");
        }
    }
}

/// The lanes have ended.
impl<B: Batch, F: FnOnce(Lease, B::Output)> Drop for Call<B, F> {
    fn drop(&mut self) {
        match &mut self.stage {
            Stage::Ended => {}
            Stage::New(lease, _) => {
                // Nothing is sent any more: a reply would be waited for in vain.
                let error = lease.lease.node().runtime_ended(&RuntimeEnded);
                lease.lease.fail(error);
                self.begin();
            }
            Stage::Running(running) => {
                let node = running.connection().map(Connection::node);
                let error = node.map(|node| node.runtime_ended(&RuntimeEnded));
                if let Some(error) = error {
                    self.end(Err(error));
                }
            }
        }
    }
}
