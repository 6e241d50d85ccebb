//! One re-armable timer for a connection.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Instant;

use tokio::time::Sleep;

/// Fires once the deadline that it was last given has passed. An unused one holds nothing.
#[derive(Debug, Default)]
pub(crate) struct Deadline {
    sleep: Option<Pin<Box<Sleep>>>,
    armed: Option<Instant>,
}

impl Deadline {
    /// Arms the timer for `wanted`, and says whether the armed time has come.
    ///
    /// A deadline that moved later leaves the timer where it is: it fires early, the engine finds nothing due, and the
    /// timer is armed anew. So a deadline that moves with every message costs a comparison. The caller's waker is
    /// registered only when the timer is (re-)armed; it must be the same for every call.
    #[inline]
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, wanted: Option<Instant>) -> Poll<()> {
        let Some(wanted) = wanted else {
            return Poll::Pending;
        };
        match self.armed {
            Some(armed) if armed <= wanted => self.check(cx),
            _ => self.arm(cx, wanted),
        }
    }

    #[inline]
    fn check(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.sleep {
            Some(sleep) if sleep.is_elapsed() => self.fire(cx),
            _ => Poll::Pending,
        }
    }

    #[cold]
    fn arm(&mut self, cx: &mut Context<'_>, wanted: Instant) -> Poll<()> {
        self.armed = Some(wanted);
        let wanted = wanted.into();
        match &mut self.sleep {
            Some(sleep) => sleep.as_mut().reset(wanted),
            None => self.sleep = Some(Box::pin(tokio::time::sleep_until(wanted))),
        }
        self.fire(cx)
    }

    #[cold]
    fn fire(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(sleep) = &mut self.sleep else {
            return Poll::Pending;
        };
        // Where the task's budget is used up, the sleep would put off registering itself, and nobody would ask it again.
        match pin!(tokio::task::unconstrained(sleep.as_mut())).poll(cx) {
            Poll::Ready(()) => {
                self.armed = None;
                Poll::Ready(())
            }
            Poll::Pending => Poll::Pending,
        }
    }
}
