//! What the pools of databases have in common: a connection may still owe answers to a user who has gone, and a server may
//! refuse in a way that waiting does not mend.

use std::future::{Future, pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::watch;

use super::{AcquireError, Lease, Manager, Pool};
use crate::link;

/// A manager of connections to a database.
pub(crate) trait Database: Manager {
    /// How connecting goes.
    fn refusals(&self) -> &Refusals<Self::Error>;

    /// Why there is no connection, in the words of a request.
    fn refused(error: AcquireError<Self::Error>) -> Self::Error;

    /// Whether answers that nobody wants are still to come.
    fn is_draining(connection: &Self::Connection) -> bool;

    /// Reads them, until there are no more, or the bounds are reached: then it fails.
    fn poll_drain(
        connection: &mut Self::Connection,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Self::Error>>;
}

/// Whether connects succeed, and why they will not.
#[derive(Debug)]
pub(crate) struct Refusals<E> {
    /// The last connect has succeeded.
    healthy: AtomicBool,
    /// Why connects fail, if waiting does not help.
    reasons: watch::Sender<Option<E>>,
}

impl<E: Clone> Refusals<E> {
    pub(crate) fn new() -> Self {
        Self {
            healthy: AtomicBool::new(false),
            reasons: watch::Sender::new(None),
        }
    }

    /// Lets who waits know of what they need not wait for: an error that `stays`.
    pub(crate) fn note<T>(&self, result: &Result<T, E>, stays: impl FnOnce(&E) -> bool) {
        self.healthy.store(result.is_ok(), Ordering::Relaxed);
        if let Err(error) = result
            && stays(error)
        {
            self.reasons.send_replace(Some(error.clone()));
        }
    }

    /// Whether connects succeed, as far as is known.
    fn is_healthy(&self) -> bool {
        self.healthy.load(Ordering::Relaxed)
    }

    /// The next reason why no connection will be made, from now on.
    async fn next(&self) -> E {
        let mut reasons = self.reasons.subscribe();
        while reasons.changed().await.is_ok() {
            if let Some(error) = reasons.borrow_and_update().clone() {
                return error;
            }
        }
        // The other end is `self`, which is there.
        pending().await
    }
}

/// Waits for a connection that owes nobody an answer.
pub(crate) async fn acquire<M: Database>(
    pool: &Pool<M>,
    within: Option<Duration>,
) -> Result<Lease<M>, M::Error> {
    let lease = wait(pool, within).await?;
    if !M::is_draining(&lease) {
        return Ok(lease);
    }
    settle(pool, within, lease).await
}

/// Reads what an earlier user did not wait for. Where that takes too long, another connection is quicker.
#[cold]
async fn settle<M: Database>(
    pool: &Pool<M>,
    within: Option<Duration>,
    mut lease: Lease<M>,
) -> Result<Lease<M>, M::Error> {
    let began = link::now();
    loop {
        if !M::is_draining(&lease) || poll_fn(|cx| M::poll_drain(&mut lease, cx)).await.is_ok() {
            return Ok(lease);
        }
        lease.discard();
        let left = within.map(|within| within.saturating_sub(began.elapsed()));
        lease = wait(pool, left).await?;
    }
}

/// As [`acquire`], without waiting.
pub(crate) fn try_acquire<M: Database>(pool: &Pool<M>) -> Result<Lease<M>, M::Error> {
    match pool.try_acquire() {
        Ok(lease) if M::is_draining(&lease) => Err(M::refused(AcquireError::NoneIdle)),
        acquired => acquired.map_err(M::refused),
    }
}

/// Waits for a connection, and no longer where it is known that none will come.
async fn wait<M: Database>(pool: &Pool<M>, within: Option<Duration>) -> Result<Lease<M>, M::Error> {
    let mut acquired = pin!(match within {
        Some(within) => pool.acquire_within(within),
        None => pool.acquire(),
    });
    let refusals = pool.manager().refusals();
    let mut refusal: Option<Pin<Box<dyn Future<Output = M::Error> + Send + '_>>> = None;
    poll_fn(|cx: &mut Context<'_>| {
        // Before the connect that it may report has been asked for.
        if refusal.is_none() && !refusals.is_healthy() {
            refusal = Some(Box::pin(refusals.next()));
        }
        if let Some(refusal) = &mut refusal
            && let Poll::Ready(error) = refusal.as_mut().poll(cx)
        {
            return Poll::Ready(Err(error));
        }
        acquired.as_mut().poll(cx).map_err(M::refused)
    })
    .await
}
