//! A connection, lent to one user.

mod call;

use std::fmt;
use std::time::{Duration, Instant};

use tracing::Instrument;

use self::call::Call;
use super::connection::{Connection, Limit};
use super::pool::Manager;
use super::{Batch, Transaction};
use crate::pool;

/// A connection of a [`Pool`](super::Pool), for one user until it is dropped.
///
/// Everything can be run on it: also what blocks, and what changes the session, which is made new before the next user gets
/// it. Requests go from the caller's task to the socket and back; several at once are a pipeline.
///
/// It may be dropped on any thread, in any state. What it still waits for then is read and thrown away, within 100 ms and
/// 1 MiB, or the connection is closed.
pub struct Lease {
    lease: pool::Lease<Manager>,
    limit: Limit,
}

impl Lease {
    #[inline]
    pub(super) fn new(lease: pool::Lease<Manager>) -> Self {
        let limit = Limit {
            within: lease.node().request_timeout,
            until: None,
        };
        Self { lease, limit }
    }

    /// How long each request may take from now on, instead of what the configuration says. `None` is no limit.
    pub fn set_request_timeout(&mut self, limit: Option<Duration>) {
        self.limit.within = limit;
    }

    /// When everything that is run on this lease has to be done, in addition to the limit of each request. Default: `None`.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.limit.until = deadline;
    }

    /// Runs a command or a pipeline, and waits for its result.
    ///
    /// Dropping this future cancels the delivery: before the first byte has left, nothing happens; later the request may be
    /// carried out, and its reply is thrown away when it comes. A command that blocks takes the connection with it: what
    /// else is run on this lease is [`Closed`](super::Error::Closed).
    ///
    /// # Errors
    ///
    /// In the output, for each request: what the server said, a reply of another type,
    /// [`Timeout`](super::Error::Timeout), [`Lost`](super::Error::Lost), with the
    /// [outcome](super::Error::outcome); [`NotOnLease`](super::Error::NotOnLease) for what has no reply of its own.
    #[inline]
    pub async fn run<B: Batch>(&mut self, batch: B) -> B::Output {
        self.run_until(batch, self.limit).await
    }

    #[inline]
    pub(super) async fn run_until<B: Batch>(&mut self, batch: B, limit: Limit) -> B::Output {
        let span = tracing::trace_span!("redis request", command = batch.name());
        if span.is_disabled() {
            return self.lease.run(batch, limit).await;
        }
        self.lease.run(batch, limit).instrument(span).await
    }

    /// Runs a command or a pipeline on a lane, and calls a function there with its result, and with the lease to go on with.
    /// Dropped, the lease goes back to its pool.
    ///
    /// The function is called once in any case. Where the lanes have ended, it is called on the thread that finds that out,
    /// and what it gets says whether the requests may have been carried out.
    pub fn run_with<B>(self, batch: B, callback: impl FnOnce(Self, B::Output) + Send + 'static)
    where
        B: Batch + 'static,
    {
        let lanes = self.lease.manager().lanes().clone();
        let call = Call::new(self, batch, callback);
        lanes.spawn(call.run());
    }

    /// Begins a transaction: watches keys, reads them, and then changes them together, or not at all if somebody else has
    /// changed them meanwhile.
    pub fn transaction(&mut self) -> Transaction<'_> {
        Transaction::new(self)
    }

    /// Whether what was run on this lease has changed the session, as far as is known.
    pub fn is_dirty(&self) -> bool {
        !self.lease.dirt().is_clean()
    }

    /// Closes the connection instead of giving it back.
    pub fn discard(self) {
        self.lease.discard();
    }

    pub(super) fn connection(&mut self) -> &mut Connection {
        &mut self.lease
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("address", &self.lease.node().address.to_string())
            .field("dirty", &self.is_dirty())
            .finish_non_exhaustive()
    }
}
