//! The future of a request.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use super::finish::{finish, refuse, with_scratch};
use super::ledger::Ticket;
use super::shared::Shared;
use super::{left, shareable};
use crate::error::Outcome;
use crate::link;
use crate::redis::batch::Batch;
use crate::redis::error::Error;
use crate::redis::transaction::probe::Probe;

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
    probing: Option<Probing>,
}

/// What is atomic waits for the reply to a [`Probe`], whose ticket it has until then.
struct Probing {
    until: Option<Instant>,
}

impl<'a, B: Batch> Run<'a, B> {
    pub(super) fn new(shared: &'a Shared, within: Option<Duration>, batch: B) -> Self {
        Self {
            shared,
            within,
            batch: Some(batch),
            ticket: None,
            probing: None,
        }
    }

    #[inline]
    fn start(&mut self, cx: &Context<'_>) -> Poll<B::Output> {
        let Some(batch) = &mut self.batch else {
            // Polled after it was done.
            return Poll::Pending;
        };
        let taken_in = match shareable(batch) {
            Ok(()) if batch.is_atomic() && !self.shared.accepts_multi() => return self.probe(cx),
            Ok(()) => self.shared.submit(batch, self.within, cx.waker()),
            Err(error) => Err(error),
        };
        match taken_in {
            Ok(ticket) => {
                self.ticket = Some(ticket);
                Poll::Pending
            }
            Err(error) => self.refuse(&error),
        }
    }

    /// Asks whether the server accepts a `MULTI`.
    #[cold]
    fn probe(&mut self, cx: &Context<'_>) -> Poll<B::Output> {
        let until = self.within.map(link::after);
        match self.shared.submit(&mut Probe, self.within, cx.waker()) {
            Ok(ticket) => {
                self.ticket = Some(ticket);
                self.probing = Some(Probing { until });
                Poll::Pending
            }
            Err(error) => self.refuse(&error),
        }
    }

    #[cold]
    fn fetch_probe(
        &mut self,
        cx: &Context<'_>,
        ticket: Ticket,
        until: Option<Instant>,
    ) -> Poll<B::Output> {
        let probed = with_scratch(|scratch| {
            let failure = ready!(self.shared.poll_fetch(ticket, cx.waker(), scratch));
            let around = self.shared.around(self.within);
            Poll::Ready(finish(Probe, scratch, failure.as_ref(), around))
        });
        let probed = ready!(probed);
        self.ticket = None;
        self.probing = None;
        let (Ok(()), Some(batch)) = (&probed, &mut self.batch) else {
            let error = probed.err().unwrap_or(Error::Closed);
            return self.refuse(&error.with_outcome(Outcome::NotSent));
        };
        self.shared.note_multi();
        let taken_in = self.shared.submit(batch, left(until), cx.waker());
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
        match (this.ticket, &this.probing) {
            (None, _) => this.start(cx),
            (Some(ticket), None) => this.fetch(cx, ticket),
            (Some(ticket), Some(probing)) => {
                let until = probing.until;
                this.fetch_probe(cx, ticket, until)
            }
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
