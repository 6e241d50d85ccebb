//! Waiting for a connection that is fit for its next user.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use super::manager::MysqlManager;
use super::refused;
use crate::link;
use crate::mysql::{Error, Lease};
use crate::pool;

/// Waits for a connection that owes nobody an answer.
pub(super) async fn acquire(
    pool: &pool::Pool<MysqlManager>,
    within: Option<Duration>,
) -> Result<Lease, Error> {
    let lease = wait(pool, within).await?;
    if !lease.is_draining() {
        return Ok(Lease::new(lease));
    }
    settle(pool, within, lease).await
}

/// Reads what an earlier user did not wait for. Where that takes too long, another connection is quicker.
#[cold]
async fn settle(
    pool: &pool::Pool<MysqlManager>,
    within: Option<Duration>,
    mut lease: pool::Lease<MysqlManager>,
) -> Result<Lease, Error> {
    let began = link::now();
    loop {
        if !lease.is_draining() || poll_fn(|cx| lease.poll_drain(cx)).await.is_ok() {
            return Ok(Lease::new(lease));
        }
        lease.discard();
        let left = within.map(|within| within.saturating_sub(began.elapsed()));
        lease = wait(pool, left).await?;
    }
}

/// As [`acquire`], without waiting.
pub(super) fn try_acquire(pool: &pool::Pool<MysqlManager>) -> Result<Lease, Error> {
    let lease = pool.try_acquire().map_err(refused)?;
    if lease.is_draining() {
        return Err(Error::NoneIdle);
    }
    Ok(Lease::new(lease))
}

/// Waits for a connection, and no longer where it is known that none will come.
async fn wait(
    pool: &pool::Pool<MysqlManager>,
    within: Option<Duration>,
) -> Result<pool::Lease<MysqlManager>, Error> {
    let mut acquired = pin!(match within {
        Some(within) => pool.acquire_within(within),
        None => pool.acquire(),
    });
    let mut refusal: Option<Pin<Box<dyn Future<Output = Error> + Send + '_>>> = None;
    poll_fn(|cx: &mut Context<'_>| {
        // Before the connect that it may report has been asked for.
        if refusal.is_none() && !pool.manager().is_healthy() {
            refusal = Some(Box::pin(pool.manager().refusal()));
        }
        if let Some(refusal) = &mut refusal
            && let Poll::Ready(error) = refusal.as_mut().poll(cx)
        {
            return Poll::Ready(Err(error));
        }
        acquired.as_mut().poll(cx).map_err(refused)
    })
    .await
}
