//! Requests whose result a function gets.

use std::future::poll_fn;
use std::ops::DerefMut;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll};

use super::Error;
use super::connection::{Connection, Limit, Running};
use super::request::Units;
use crate::link::RuntimeEnded;

/// Requests on their way to a function, which is called even where the lanes drop this.
pub(super) struct Call<C: DerefMut<Target = Connection>, U: Units, F: FnOnce(C, U::Output)> {
    stage: Stage<C, U>,
    limit: Limit,
    callback: Option<F>,
}

enum Stage<C: DerefMut<Target = Connection>, U: Units> {
    New(C, U),
    Running(Running<C, U>),
    Ended,
}

impl<C: DerefMut<Target = Connection>, U: Units, F: FnOnce(C, U::Output)> Call<C, U, F> {
    pub(super) fn new(connection: C, units: U, limit: Limit, callback: F) -> Self {
        Self {
            stage: Stage::New(connection, units),
            limit,
            callback: Some(callback),
        }
    }

    pub(super) async fn run(mut self) {
        poll_fn(|cx| self.poll(cx)).await;
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.begin();
        if let Stage::Running(running) = &mut self.stage {
            let Poll::Ready(result) = running.poll(cx) else {
                return Poll::Pending;
            };
            self.end(result);
        }
        Poll::Ready(())
    }

    fn begin(&mut self) {
        self.stage = match std::mem::replace(&mut self.stage, Stage::Ended) {
            Stage::New(connection, units) => {
                Stage::Running(Running::begin(connection, units, self.limit))
            }
            other => other,
        };
    }

    /// A function that panics keeps nothing else from being run, and the lease goes back.
    fn end(&mut self, result: Result<(), Error>) {
        let stage = std::mem::replace(&mut self.stage, Stage::Ended);
        if let (Stage::Running(running), Some(callback)) = (stage, self.callback.take()) {
            let (connection, output) = running.finish(result);
            if catch_unwind(AssertUnwindSafe(|| callback(connection, output))).is_err() {
                tracing::error!("a callback that waited for an answer panicked");
            }
        }
    }
}

/// The lanes have ended.
impl<C: DerefMut<Target = Connection>, U: Units, F: FnOnce(C, U::Output)> Drop for Call<C, U, F> {
    fn drop(&mut self) {
        if let Stage::New(connection, _) = &mut self.stage {
            // Nothing is sent any more: an answer would be waited for in vain.
            let error = connection.node().runtime_ended(&RuntimeEnded);
            connection.fail(error);
        }
        self.begin();
        if let Stage::Running(running) = &mut self.stage {
            let error = match running.refusal() {
                Some(error) => Some(error),
                None => {
                    let node = running.connection().map(Connection::node);
                    node.map(|node| node.runtime_ended(&RuntimeEnded))
                }
            };
            if let Some(error) = error {
                self.end(Err(error));
            }
        }
    }
}
