//! Waiting for a connection, as a future and with a callback.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use arknet_proto::pool::{Refusal, Turn, WaiterId};

use super::shared::{Held, Shared, Sleeper};
use super::{AcquireError, Lease, Manager};
use crate::io::{after, coarse_now, now};

/// What is called with a lease.
pub(super) type Callback<M> =
    Box<dyn FnOnce(Result<Lease<M>, AcquireError<<M as Manager>::Error>>) + Send>;

/// A connection to come, from [`Pool::acquire`](super::Pool::acquire).
///
/// Dropping it gives up the place in the queue; a connection that had been granted already goes to the next.
///
/// # Panics
///
/// When it is polled after it has given its result.
#[must_use = "futures do nothing unless they are awaited"]
pub struct Acquire<'a, M: Manager> {
    pool: &'a Arc<Shared<M>>,
    within: Duration,
    stage: Stage,
}

#[derive(Clone, Copy)]
enum Stage {
    New,
    Waiting(WaiterId, Instant),
    Ended,
}

impl<'a, M: Manager> Acquire<'a, M> {
    #[inline]
    pub(super) fn new(pool: &'a Arc<Shared<M>>, within: Duration) -> Self {
        Self {
            pool,
            within,
            stage: Stage::New,
        }
    }

    /// Takes a place in the queue.
    #[cold]
    fn queue(&mut self, cx: &Context<'_>, again: Option<Instant>) -> Result<(), Refusal> {
        let deadline = again.unwrap_or_else(|| after(self.within));
        let sleeper = Sleeper::Task(cx.waker().clone());
        let mut state = self.pool.lock();
        let waiter = match again {
            None => state.engine.wait(now(), deadline),
            Some(_) => state.engine.wait_first(now(), deadline),
        };
        let waiter = match waiter {
            Ok(waiter) => waiter,
            Err(refusal) => {
                self.stage = Stage::Ended;
                drop(state);
                return Err(refusal);
            }
        };
        let old = state.sleep(waiter, sleeper);
        self.stage = Stage::Waiting(waiter, deadline);
        self.pool.settle(state);
        if again.is_none() {
            self.pool.meters.waits.add(1);
        }
        drop(old);
        Ok(())
    }

    #[cold]
    fn poll_waiting(
        &mut self,
        cx: &Context<'_>,
        waiter: WaiterId,
        deadline: Instant,
    ) -> Poll<Result<Lease<M>, Refusal>> {
        let sleeper = Sleeper::Task(cx.waker().clone());
        let mut state = self.pool.lock();
        let turn = state.engine.take(waiter);
        let lent = match turn.unwrap_or(Turn::Refused(Refusal::Closed)) {
            Turn::Waiting => {
                let old = state.sleep(waiter, sleeper);
                drop(state);
                drop(old);
                return Poll::Pending;
            }
            Turn::Refused(refusal) => Err(refusal),
            Turn::Lent(slot) => Ok(state.take(slot)),
        };
        self.stage = Stage::Ended;
        // It may not have been used, where somebody else had this polled.
        let waker = state.forget(waiter);
        state.count();
        drop(state);
        drop(waker);
        let held = match lent {
            Ok(held) => held,
            Err(refusal) => return Poll::Ready(Err(refusal)),
        };
        match self.pool.check(held, coarse_now()) {
            Some(lease) => {
                self.pool.note_wait(self.within, deadline);
                Poll::Ready(Ok(lease))
            }
            None => match self.queue(cx, Some(deadline)) {
                Ok(()) => Poll::Pending,
                Err(refusal) => Poll::Ready(Err(refusal)),
            },
        }
    }

    #[cold]
    fn error(&self, refusal: Refusal) -> AcquireError<M::Error> {
        self.pool.error(refusal, self.within)
    }
}

impl<M: Manager> Future for Acquire<'_, M> {
    type Output = Result<Lease<M>, AcquireError<M::Error>>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = match self.stage {
            Stage::New => match self.pool.lease() {
                Ok(lease) => {
                    self.stage = Stage::Ended;
                    Poll::Ready(Ok(lease))
                }
                Err(Refusal::NoneIdle) => match self.queue(cx, None) {
                    Ok(()) => Poll::Pending,
                    Err(refusal) => Poll::Ready(Err(refusal)),
                },
                Err(refusal) => {
                    self.stage = Stage::Ended;
                    Poll::Ready(Err(refusal))
                }
            },
            Stage::Waiting(waiter, deadline) => self.poll_waiting(cx, waiter, deadline),
            Stage::Ended => panic!("an acquire was polled after its end"),
        };
        polled.map_err(|refusal| self.error(refusal))
    }
}

impl<M: Manager> Drop for Acquire<'_, M> {
    #[inline]
    fn drop(&mut self) {
        if let Stage::Waiting(waiter, _) = self.stage {
            let mut state = self.pool.lock();
            state.engine.cancel(waiter, now());
            let waker = state.forget(waiter);
            self.pool.settle(state);
            drop(waker);
        }
    }
}

/// Has a function called with a lease.
pub(super) fn acquire_with<M: Manager>(
    pool: &Arc<Shared<M>>,
    within: Duration,
    callback: Callback<M>,
) {
    let call = Call::new(pool, callback, within);
    match pool.lease() {
        Ok(lease) => call.deliver(Ok(lease)),
        Err(Refusal::NoneIdle) => call.queue(after(within), false),
        Err(refusal) => call.refuse(refusal),
    }
}

/// A callback on its way. It is called in any case: with [`AcquireError::Closed`] if the lanes drop it.
pub(super) struct Call<M: Manager> {
    pool: Arc<Shared<M>>,
    callback: Option<Callback<M>>,
    within: Duration,
}

impl<M: Manager> Call<M> {
    pub(super) fn new(pool: &Arc<Shared<M>>, callback: Callback<M>, within: Duration) -> Self {
        Self {
            pool: pool.clone(),
            callback: Some(callback),
            within,
        }
    }

    /// Its turn has come, or it is refused.
    pub(super) fn go_on(self, deadline: Instant, turn: Turn, held: Option<Box<Held<M>>>) {
        match turn {
            Turn::Refused(refusal) => self.refuse(refusal),
            Turn::Waiting | Turn::Lent(_) => match self.pool.check(held, coarse_now()) {
                Some(lease) => {
                    self.pool.note_wait(self.within, deadline);
                    self.deliver(Ok(lease));
                }
                None => self.queue(deadline, true),
            },
        }
    }

    fn queue(mut self, deadline: Instant, again: bool) {
        let mut state = self.pool.lock();
        let waiter = match again {
            false => state.engine.wait(now(), deadline),
            true => state.engine.wait_first(now(), deadline),
        };
        match (waiter, self.callback.take()) {
            (Ok(waiter), Some(callback)) => {
                let sleeper = Sleeper::Callback(callback, self.within, deadline);
                let old = state.sleep(waiter, sleeper);
                self.pool.settle(state);
                if !again {
                    self.pool.meters.waits.add(1);
                }
                drop(old);
            }
            (Ok(_), None) => {}
            (Err(refusal), callback) => {
                drop(state);
                self.callback = callback;
                self.refuse(refusal);
            }
        }
    }

    fn refuse(self, refusal: Refusal) {
        let error = self.pool.error(refusal, self.within);
        self.deliver(Err(error));
    }

    fn deliver(mut self, result: Result<Lease<M>, AcquireError<M::Error>>) {
        let lane = self.pool.lanes().next();
        lane.spawn(async move { self.call(result) });
    }

    fn call(&mut self, result: Result<Lease<M>, AcquireError<M::Error>>) {
        if let Some(callback) = self.callback.take()
            && catch_unwind(AssertUnwindSafe(|| callback(result))).is_err()
        {
            tracing::error!("a callback that waited for a connection panicked");
        }
    }
}

impl<M: Manager> Drop for Call<M> {
    fn drop(&mut self) {
        self.call(Err(AcquireError::Closed));
    }
}
