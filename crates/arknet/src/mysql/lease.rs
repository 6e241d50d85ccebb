//! A connection, lent to one user.

use std::fmt;
use std::time::{Duration, Instant};

use tracing::Instrument;

use super::call::Call;
use super::connection::Limit;
use super::digest::Described;
use super::pool::Manager;
use super::request::Streamable;
use super::{Error, Request, Rows, Status, Transaction, TransactionOptions};
use crate::pool;

/// A connection of a [`Pool`](super::Pool), for one user until it is dropped.
///
/// Everything can be run on it, also what changes the session, which is made new before the next user gets it. Requests go from
/// the caller's task to the socket and back; several at once leave together.
///
/// It may be dropped on any thread, in any state: an open transaction is rolled back, and what it still waits for is read and
/// thrown away, within 100 ms and 1 MiB, or the connection is closed.
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

    /// Runs a request, or several, and waits for the result.
    ///
    /// Dropping this future cancels the delivery: before the first byte has left, nothing happens; later the request may be
    /// carried out, and its answer is thrown away when it comes, by whatever is run next.
    ///
    /// # Errors
    ///
    /// In the output, for each request: what the server said, rows of another type, [`Timeout`](super::Error::Timeout),
    /// [`Lost`](super::Error::Lost), with the [outcome](super::Error::outcome).
    #[inline]
    pub async fn run<R: Request>(&mut self, request: R) -> R::Output {
        self.run_until(request, self.limit).await
    }

    #[inline]
    pub(super) async fn run_until<R: Request>(&mut self, request: R, limit: Limit) -> R::Output {
        let units = request.into_units();
        let span = tracing::trace_span!("mysql request", statement = %Described(&units));
        if span.is_disabled() {
            return self.lease.run(units, limit).await;
        }
        self.lease.run(units, limit).instrument(span).await
    }

    /// Runs a request, or several, on a lane, and calls a function there with the result, and with the lease to go on with.
    /// Dropped, the lease goes back to its pool.
    ///
    /// The function is called once in any case. Where the lanes have ended, it is called on the thread that finds that out,
    /// and what it gets says whether the requests may have been carried out.
    pub fn run_with<R>(self, request: R, callback: impl FnOnce(Self, R::Output) + Send + 'static)
    where
        R: Request<Units: 'static>,
    {
        let limit = self.limit;
        let lanes = self.lease.manager().lanes().clone();
        let callback = move |lease, output| callback(Self { lease, limit }, output);
        let call = Call::new(self.lease, request.into_units(), limit, callback);
        lanes.spawn(call.run());
    }

    /// Runs a statement whose rows are taken one after the other, as they come.
    pub fn stream<'c>(&'c mut self, request: impl Streamable + 'c) -> Rows<'c> {
        Rows::new(&mut self.lease, request, self.limit)
    }

    /// Begins a transaction, as the session has it.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run); then none has begun.
    pub async fn begin(&mut self) -> Result<Transaction<'_>, Error> {
        self.begin_with(TransactionOptions::new()).await
    }

    /// Begins a transaction with these options.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run); then none has begun.
    pub async fn begin_with(
        &mut self,
        options: TransactionOptions,
    ) -> Result<Transaction<'_>, Error> {
        Transaction::begin(&mut self.lease, options, self.limit).await
    }

    /// Whether what was run on this lease may have changed the session.
    pub fn is_dirty(&self) -> bool {
        self.lease.is_dirty()
    }

    /// The state of the server, as of its last answer: whether a transaction is open, and more.
    pub fn status(&self) -> Status {
        self.lease.status()
    }

    /// Closes the connection instead of giving it back.
    pub fn discard(self) {
        self.lease.discard();
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
