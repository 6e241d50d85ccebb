//! The future of a request.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use super::finish::{finish, refuse, with_scratch};
use super::ledger::Ticket;
use super::shareable;
use super::shared::Shared;
use crate::redis::batch::Batch;
use crate::redis::error::Error;

/// A request, by [`Client::run`](super::Client::run).
///
/// It is sent when it is first polled: dropped before that, it was never there. Dropped later, it is taken out of the
/// queue if it was not yet handed to the connection; otherwise its reply is read to the end and thrown away.
#[must_use = "a request that is not awaited is not sent"]
pub struct Run<'a, B: Batch> {
    shared: &'a Shared,
    within: Option<Duration>,
    /// Until the result has been handed over.
    batch: Option<B>,
    /// Since it was taken in.
    ticket: Option<Ticket>,
}

impl<'a, B: Batch> Run<'a, B> {
    pub(super) fn new(shared: &'a Shared, within: Option<Duration>, batch: B) -> Self {
        Self {
            shared,
            within,
            batch: Some(batch),
            ticket: None,
        }
    }

    #[inline]
    fn start(&mut self, cx: &Context<'_>) -> Poll<B::Output> {
        let Some(batch) = &mut self.batch else {
            // Polled after it was done.
            return Poll::Pending;
        };
        let taken_in =
            shareable(batch).and_then(|()| self.shared.submit(batch, self.within, cx.waker()));
        match taken_in {
            Ok(ticket) => {
                self.ticket = Some(ticket);
                Poll::Pending
            }
            Err(error) => self.refuse(&error),
        }
    }

    #[cold]
    fn refuse(&mut self, error: &Error) -> Poll<B::Output> {
        match self.batch.take() {
            Some(batch) => Poll::Ready(refuse(batch, error)),
            None => Poll::Pending,
        }
    }

    #[inline]
    fn fetch(&mut self, cx: &Context<'_>, ticket: Ticket) -> Poll<B::Output> {
        with_scratch(|scratch| {
            let fetched = self.shared.poll_fetch(ticket, cx.waker(), scratch);
            let Poll::Ready(failure) = fetched else {
                return Poll::Pending;
            };
            // The place is somebody else's from here on, even if decoding panics.
            self.ticket = None;
            let Some(batch) = self.batch.take() else {
                return Poll::Pending;
            };
            let around = self.shared.around(self.within);
            Poll::Ready(finish(batch, scratch, failure.as_ref(), around))
        })
    }
}

impl<B: Batch> std::fmt::Debug for Run<'_, B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run")
            .field("request", &self.batch.as_ref().map(Batch::name))
            .field("ticket", &self.ticket)
            .finish_non_exhaustive()
    }
}

/// Nothing in it is pinned.
impl<B: Batch> Unpin for Run<'_, B> {}

impl<B: Batch> Future for Run<'_, B> {
    type Output = B::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<B::Output> {
        let this = self.get_mut();
        match this.ticket {
            None => this.start(cx),
            Some(ticket) => this.fetch(cx, ticket),
        }
    }
}

impl<B: Batch> Drop for Run<'_, B> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.shared.abandon(ticket);
        }
    }
}
