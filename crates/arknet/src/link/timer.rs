//! A deadline for whoever holds a connection at the moment, on any thread.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use tokio::runtime::Handle;
use tokio::time::Sleep;

/// One timer that serves the deadlines of one connection, one after the other. An unused one holds nothing.
///
/// It belongs to the runtime of the connection's socket, so that a caller in no runtime, or in one without timers, has
/// deadlines all the same.
#[derive(Debug)]
pub(crate) struct Timer {
    runtime: Handle,
    sleep: Option<Pin<Box<Sleep>>>,
    /// When it will fire; `None` once it has.
    armed: Option<Instant>,
}

impl Timer {
    /// A timer of the runtime that the caller runs in; `None` outside of one.
    pub(crate) fn here() -> Option<Self> {
        Some(Self {
            runtime: Handle::try_current().ok()?,
            sleep: None,
            armed: None,
        })
    }

    /// Ready when `wanted` has passed; wakes the caller then, whoever called before.
    ///
    /// A timer that is armed for an earlier deadline, of a request that has been answered, stays as it is: when it fires
    /// it is armed anew. So a request that is answered costs no change of the runtime's timers, only the caller's waker.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, wanted: Instant) -> Poll<()> {
        loop {
            let armed = match self.armed {
                Some(armed) if armed <= wanted => armed,
                _ => self.arm(wanted),
            };
            if self.poll_sleep(cx).is_pending() {
                return Poll::Pending;
            }
            self.armed = None;
            if armed >= wanted {
                return Poll::Ready(());
            }
        }
    }

    #[cold]
    fn arm(&mut self, wanted: Instant) -> Instant {
        match &mut self.sleep {
            Some(sleep) => sleep.as_mut().reset(wanted.into()),
            None => {
                let _inside = self.runtime.enter();
                self.sleep = Some(Box::pin(tokio::time::sleep_until(wanted.into())));
            }
        }
        self.armed = Some(wanted);
        wanted
    }

    fn poll_sleep(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(sleep) = &mut self.sleep else {
            return Poll::Ready(());
        };
        // A timer of a runtime that is ending at this moment panics; the socket fails right afterwards. Where the task's
        // budget is used up, the sleep would put off registering the waker, and it need not: the caller has used it up
        // with reads.
        let mut sleep = std::pin::pin!(tokio::task::unconstrained(sleep.as_mut()));
        catch_unwind(AssertUnwindSafe(|| sleep.as_mut().poll(cx))).unwrap_or(Poll::Ready(()))
    }
}
