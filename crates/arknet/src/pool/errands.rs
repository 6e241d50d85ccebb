//! What a pool has its lanes do: connect, say goodbye, watch the clock.

use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use arknet_proto::pool::SlotId;
use futures_util::FutureExt;
use futures_util::future::{Either, select};

use super::shared::{Held, Shared};
use super::{ConnectFailure, Manager};
use crate::io::after;
use crate::io::tokio::Deadline;

/// How much longer than its deadline a connect may take before it is dropped: a manager that keeps the deadline says what
/// it was doing then, which is worth more than that it was cut.
const CONNECT_GRACE: Duration = Duration::from_millis(100);

/// How long a farewell may take. It is a courtesy: a server notices the end of the stream as well.
const FAREWELL: Duration = Duration::from_secs(1);

/// A task of the pool, which tells it if the lanes drop it: then they run nothing more.
pub(super) struct Errand<M: Manager> {
    shared: Arc<Shared<M>>,
    slot: Option<SlotId>,
    held: Option<Box<Held<M>>>,
    done: bool,
}

impl<M: Manager> Errand<M> {
    pub(super) fn new(
        shared: Arc<Shared<M>>,
        slot: Option<SlotId>,
        held: Option<Box<Held<M>>>,
    ) -> Self {
        Self {
            shared,
            slot,
            held,
            done: false,
        }
    }

    fn run<F: Future<Output = ()> + Send + 'static>(self, errand: impl FnOnce(Self) -> F) {
        let lane = self.shared.lanes().next();
        lane.spawn(errand(self));
    }

    fn finish(&mut self) -> Option<SlotId> {
        self.done = true;
        self.slot
    }
}

impl<M: Manager> Drop for Errand<M> {
    fn drop(&mut self) {
        if !self.done {
            self.shared.lost(self.slot, self.held.take());
        }
    }
}

/// Makes a connection.
pub(super) fn connect<M: Manager>(errand: Errand<M>) {
    async fn run<M: Manager>(mut errand: Errand<M>) {
        let result = dial(&errand.shared).await;
        if let Err(Some(error)) = &result {
            tracing::debug!(%error, "a pool cannot connect");
        }
        if let Some(slot) = errand.finish() {
            errand.shared.connected(slot, result);
        }
    }
    errand.run(run);
}

/// An error without a reason: the pool is closed.
async fn dial<M: Manager>(
    shared: &Shared<M>,
) -> Result<M::Connection, Option<ConnectFailure<M::Error>>> {
    let within = shared.config().connect;
    let deadline = after(within);
    // In a block of its own, so that a panic before the first await is caught as well.
    let connecting = async { shared.manager().connect(deadline).await };
    let connecting = pin!(AssertUnwindSafe(connecting).catch_unwind());
    let late = pin!(tokio::time::sleep_until((deadline + CONNECT_GRACE).into()));
    let cut = pin!(async {
        match select(late, pin!(shared.closing())).await {
            Either::Left(_) => Some(ConnectFailure::Timeout { within }),
            Either::Right(_) => None,
        }
    });
    match select(connecting, cut).await {
        Either::Left((Ok(Ok(connection)), _)) => Ok(connection),
        Either::Left((Ok(Err(error)), _)) => Err(Some(ConnectFailure::Error(error))),
        Either::Left((Err(_), _)) => {
            tracing::error!("a pool's manager panicked while it connected");
            Err(Some(ConnectFailure::Panicked))
        }
        Either::Right((cut, _)) => Err(cut),
    }
}

/// Says goodbye.
pub(super) fn farewell<M: Manager>(errand: Errand<M>) {
    async fn run<M: Manager>(mut errand: Errand<M>) {
        if let Some(held) = errand.held.take() {
            part(&errand.shared, *held).await;
        }
        if let Some(slot) = errand.finish() {
            errand.shared.ended(slot);
        }
    }
    errand.run(run);
}

async fn part<M: Manager>(shared: &Shared<M>, held: Held<M>) {
    let deadline = shared.farewell_by(FAREWELL);
    let parting = async { shared.manager().farewell(held.connection).await };
    let parting = AssertUnwindSafe(parting).catch_unwind();
    let parted = tokio::time::timeout_at(deadline.into(), parting).await;
    if matches!(parted, Ok(Err(_))) {
        tracing::error!("a pool's manager panicked in a farewell");
    }
}

/// Tells the engine what time it is, whenever it wants to know, until it does not any more.
pub(super) fn watch<M: Manager>(errand: Errand<M>) {
    async fn run<M: Manager>(mut errand: Errand<M>) {
        let mut deadline = Deadline::default();
        poll_fn(|cx| {
            loop {
                let Some(due) = errand.shared.alarm_turn(cx.waker()) else {
                    return Poll::Ready(());
                };
                if deadline.poll(cx, Some(due)).is_pending() {
                    return Poll::Pending;
                }
            }
        })
        .await;
        errand.finish();
    }
    errand.run(run);
}
