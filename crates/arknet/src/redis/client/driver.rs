//! The task behind a client: it connects, runs the connection, and connects again.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use arknet_proto::reconnect::Reconnect;
use futures_util::future::{Either, select};

use super::connection::{Connection, End, tell};
use super::finish::Lost;
use super::ledger::Ready;
use super::open::{Opened, open};
use super::report::Report;
use super::shared::{Phase, Shared, unsent};
use crate::link::{self, Deadline};
use crate::redis::error::{Error, ErrorKind};

/// Runs a client until it is closed, nobody holds it any more, or its policy says that it connects no more.
pub(super) async fn drive(last: Last) {
    let shared = &*last.0;
    let mut reconnect = Reconnect::new(shared.config.reconnect.clone());
    loop {
        let failed = match select(pin!(open(&shared.node)), pin!(idle(shared))).await {
            Either::Left((Ok(opened), _)) => {
                reconnect.succeeded();
                match run(shared, opened).await {
                    End::Closed => return,
                    // Nothing was lost, and another server may be there already.
                    End::Retired => continue,
                    End::Lost(cause) => {
                        cause.error(&shared.node.address, crate::error::Outcome::NotSent)
                    }
                }
            }
            Either::Left((Err(error), _)) => {
                shared.note_failure(&error);
                error
            }
            Either::Right(((), _)) => return,
        };
        let Some(delay) = reconnect.failed(link::random()) else {
            last.end(failed);
            return;
        };
        tracing::debug!(error = %failed, ?delay, "redis: connects again");
        let pause = pin!(tokio::time::sleep(delay));
        if let Either::Right(_) = select(pause, pin!(idle(shared))).await {
            return;
        }
    }
}

async fn run(shared: &Shared, opened: Opened) -> End {
    shared.forget_multi();
    {
        let mut state = shared.lock();
        state.phase = Phase::Open;
        state.counts.connects += 1;
        shared.node.meters.connects.add(1);
    }
    tracing::debug!("redis: connected");
    shared.changed.notify_waiters();
    let end = Connection::new(shared, opened).run().await;
    shared.lock().phase = Phase::Connecting(None);
    end
}

/// Looks after the deadlines of what is queued while there is no connection; is done when there need not be one any
/// more.
async fn idle(shared: &Shared) {
    let mut timer = Deadline::default();
    poll_fn(|cx| poll_idle(shared, &mut timer, cx)).await;
}

fn poll_idle(shared: &Shared, timer: &mut Deadline, cx: &mut Context<'_>) -> Poll<()> {
    let mut ready = Ready::default();
    loop {
        let mut state = shared.lock();
        let empty = state.ledger.batches() == 0;
        if empty && (state.closing.is_some() || !shared.has_handles()) {
            return Poll::Ready(());
        }
        let alarm = state.park(cx.waker(), false);
        drop(state);
        if timer.poll(cx, alarm).is_pending() {
            return Poll::Pending;
        }
        let now = link::now();
        let mut state = shared.lock();
        let expired = state.ledger.expire(now, true, &mut ready);
        state.counts.timed_out += expired.requests as u64;
        shared.node.meters.timeouts.add(expired.requests);
        state.set_alarm(expired.next);
        let cut = state.closing.is_some_and(|closing| closing <= now);
        drop(state);
        tell(shared, &mut ready);
        if cut {
            return Poll::Ready(());
        }
    }
}

impl Shared {
    /// An attempt to connect has failed. What another attempt will not mend, those who wait are told at once.
    fn note_failure(&self, error: &Error) {
        let hopeless = matches!(
            error.kind(),
            ErrorKind::Auth | ErrorKind::Tls | ErrorKind::Handshake | ErrorKind::Config
        );
        let mut ready = Ready::default();
        let mut state = self.lock();
        state.counts.failed_connects += 1;
        self.node.meters.failed_connects.add(1);
        state.phase = Phase::Connecting(Some(error.clone()));
        if hopeless {
            state.ledger.fail_queued(&mut ready, unsent(error));
        }
        drop(state);
        self.changed.notify_waiters();
        tell(self, &mut ready);
    }
}

/// Ends the client with the task, however that ends: with its lanes too.
pub(super) struct Last(pub(super) Arc<Shared>);

impl Last {
    /// Ends it for this reason.
    fn end(&self, reason: Error) {
        let mut ready = Ready::default();
        let mut state = self.0.lock();
        if matches!(state.phase, Phase::Ended(_)) {
            return;
        }
        // What a connection that was dropped with its task had written is not known.
        let cut = state.ledger.lose(u64::MAX, &[], &Lost::Closed, &mut ready)
            + state.ledger.fail_queued(&mut ready, unsent(&reason));
        state.counts.lost += cut as u64;
        self.0.node.meters.lost.add(cut);
        let cut = cut + std::mem::take(&mut state.cut);
        state.phase = Phase::Ended(reason);
        drop(state);
        self.0.receivers.end();
        tell(&self.0, &mut ready);
        // Who waits for the end finds that everybody has been told.
        self.0.lock().report = Some(Report {
            finished: cut == 0,
            cut,
        });
        self.0.changed.notify_waiters();
    }
}

impl Drop for Last {
    fn drop(&mut self) {
        self.end(Error::Closed);
    }
}
