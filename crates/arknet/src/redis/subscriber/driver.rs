//! The task behind a subscriber: it connects, listens, and connects again.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use arknet_proto::reconnect::Reconnect;
use arknet_proto::redis::exchange::Subscriptions;
use futures_util::future::{Either, select};

use super::connection::{Connection, End};
use super::event::Sink;
use super::shared::Shared;
use crate::error::Outcome;
use crate::link::{self, Deadline};
use crate::redis::client::{Report, open};
use crate::redis::error::{Error, ErrorKind};

/// Runs a subscriber until it is closed, nobody listens any more, or its policy says that it connects no more.
pub(super) async fn drive(mut last: Last) {
    let shared = last.shared.clone();
    let config = &shared.config.config;
    let mut reconnect = Reconnect::new(config.reconnect.clone());
    let mut gap: Option<Instant> = None;
    loop {
        let opening = pin!(open(&shared.node));
        let failed = match select(opening, pin!(idle(&shared))).await {
            Either::Left((Ok(opened), _)) => {
                reconnect.succeeded();
                shared.node.meters.connects.add(1);
                let connection = Connection::new(&shared, &mut last.sink, gap, opened);
                match connection.run().await {
                    End::Closed => return,
                    End::Lost { error, gap: since } => {
                        gap = since;
                        shared.node.lost(error).with_outcome(Outcome::NotSent)
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
        tracing::debug!(error = %failed, ?delay, "redis: a subscriber connects again");
        let pause = pin!(tokio::time::sleep(delay));
        if let Either::Right(_) = select(pause, pin!(idle(&shared))).await {
            return;
        }
    }
}

/// Looks after the deadlines of calls while there is no connection; is done when there need not be one any more.
async fn idle(shared: &Shared) {
    let mut timer = Deadline::default();
    poll_fn(|cx| poll_idle(shared, &mut timer, cx)).await;
}

fn poll_idle(shared: &Shared, timer: &mut Deadline, cx: &mut Context<'_>) -> Poll<()> {
    loop {
        let mut state = shared.lock();
        if state.closing.is_some() {
            return Poll::Ready(());
        }
        let alarm = state.park(cx.waker());
        drop(state);
        if timer.poll(cx, alarm).is_pending() {
            return Poll::Pending;
        }
        shared.lock().expire(link::now());
    }
}

impl Shared {
    /// An attempt to connect has failed. What another attempt will not mend, those who wait are told at once.
    fn note_failure(&self, error: &Error) {
        self.node.meters.failed_connects.add(1);
        let hopeless = matches!(
            error.kind(),
            ErrorKind::Auth | ErrorKind::Tls | ErrorKind::Handshake | ErrorKind::Config
        );
        if hopeless {
            for mut waiter in self.lock().machine.give_up_held() {
                waiter.tell(Err(error.clone()));
            }
        }
    }
}

/// Ends the subscriber with the task, however that ends: with its lanes too.
pub(super) struct Last {
    shared: Arc<Shared>,
    sink: Sink,
}

impl Last {
    pub(super) fn new(shared: Arc<Shared>, sink: Sink) -> Self {
        Self { shared, sink }
    }

    /// Ends it for this reason.
    fn end(&self, reason: Error) {
        let mut state = self.shared.lock();
        if state.ended.is_some() {
            return;
        }
        let mut machine = std::mem::replace(&mut state.machine, Subscriptions::new());
        state.connected = false;
        state.ended = Some(reason.clone());
        let mut cut = 0;
        for (waiter, _) in machine.tokens_mut() {
            waiter.tell(Err(reason.clone()));
            cut += 1;
        }
        state.report = Some(Report {
            finished: cut == 0,
            cut,
        });
        drop(state);
        self.sink.end();
        self.shared.changed.notify_waiters();
    }
}

impl Drop for Last {
    fn drop(&mut self) {
        self.end(Error::Closed);
    }
}
