//! A connection that is its user's own.

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tracing::Instrument;

use super::call::Call;
use super::connection::{Connection, Limit};
use super::digest::Described;
use super::node::Node;
use super::request::Streamable;
use super::{Config, Error, Request, ResetPolicy, Rows, Status, Transaction, TransactionOptions};
use crate::lanes::Lanes;
use crate::link;

/// A connection of its own, for one user: where a [`Pool`](super::Pool) would be too much, and where a session is to be kept.
///
/// It is what a [`Lease`](super::Lease) is, except that nothing is made new, and that it ends when it is dropped.
///
/// ```no_run
/// use arknet::Lanes;
/// use arknet::mysql::{Config, Conn, query};
///
/// let lanes = Lanes::sharded(1)?;
/// lanes.block_on(async {
///     let mut conn = Conn::connect(Config::from_url("mysql://root@localhost/shop")?, &lanes).await?;
///     let version = conn.run(query::<Option<String>>("SELECT VERSION()")).await?;
///     println!("{version:?}");
///     conn.close().await;
///     Ok::<(), arknet::mysql::Error>(())
/// })??;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Conn {
    connection: Box<Connection>,
    limit: Limit,
    lanes: Lanes,
}

impl Conn {
    /// Connects and logs in, on one of the lanes, whose the socket is from then on.
    ///
    /// Dropping this future gives the connection up, at the latest when it is made.
    ///
    /// # Errors
    ///
    /// [`Error::Config`], [`Error::Connect`], [`Error::Tls`], [`Error::Auth`], [`Error::Handshake`], [`Error::Timeout`];
    /// [`Error::Closed`] if the lanes have ended.
    pub async fn connect(config: Config, lanes: &Lanes) -> Result<Self, Error> {
        let node = Arc::new(Node::new(&config, ResetPolicy::default())?);
        let limit = Limit {
            within: node.request_timeout,
            until: None,
        };
        let deadline = link::after(node.connect_timeout);
        let (opened, opening) = oneshot::channel();
        lanes.spawn(async move {
            // Nobody may wait any more.
            let _ = opened.send(Connection::open(&node, deadline).await);
        });
        let connection = opening.await.unwrap_or(Err(Error::Closed))?;
        Ok(Self {
            connection: Box::new(connection),
            limit,
            lanes: lanes.clone(),
        })
    }

    /// How long each request may take from now on, instead of what the configuration says. `None` is no limit.
    pub fn set_request_timeout(&mut self, limit: Option<Duration>) {
        self.limit.within = limit;
    }

    /// When everything that is run from now on has to be done, in addition to the limit of each request. Default: `None`.
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
    /// In the output, for each request: what the server said, rows of another type, [`Timeout`](Error::Timeout),
    /// [`Lost`](Error::Lost), with the [outcome](Error::outcome).
    #[inline]
    pub async fn run<R: Request>(&mut self, request: R) -> R::Output {
        let units = request.into_units();
        let span = tracing::trace_span!("mysql request", statement = %Described(&units));
        if span.is_disabled() {
            return self.connection.run(units, self.limit).await;
        }
        self.connection
            .run(units, self.limit)
            .instrument(span)
            .await
    }

    /// Runs a request, or several, on a lane, and calls a function there with the result, and with the connection to go on
    /// with. The function is called once in any case, as that of [`Lease::run_with`](super::Lease::run_with).
    pub fn run_with<R>(self, request: R, callback: impl FnOnce(Self, R::Output) + Send + 'static)
    where
        R: Request<Units: 'static>,
    {
        let (limit, lanes) = (self.limit, self.lanes);
        let spawner = lanes.clone();
        let callback = move |connection, output| {
            let conn = Self {
                connection,
                limit,
                lanes,
            };
            callback(conn, output);
        };
        let call = Call::new(self.connection, request.into_units(), limit, callback);
        spawner.spawn(call.run());
    }

    /// Runs a statement whose rows are taken one after the other, as they come.
    pub fn stream<'c>(&'c mut self, request: impl Streamable + 'c) -> Rows<'c> {
        Rows::new(&mut self.connection, request, self.limit)
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
        Transaction::begin(&mut self.connection, options, self.limit).await
    }

    /// The state of the server, as of its last answer: whether a transaction is open, and more.
    pub fn status(&self) -> Status {
        self.connection.status()
    }

    /// Says goodbye and ends the connection, within a second: a server that reads no more is left as it is. Dropping it ends
    /// it as well; the server then notes that it was aborted.
    pub async fn close(mut self) {
        let until = link::after(FAREWELL_WITHIN);
        poll_fn(|cx| self.connection.poll_end_by(cx, until)).await;
    }
}

/// A goodbye is a few bytes. What a server has not taken within this time, it most likely never will.
const FAREWELL_WITHIN: Duration = Duration::from_secs(1);

impl fmt::Debug for Conn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conn")
            .field("address", &self.connection.node().address.to_string())
            .finish_non_exhaustive()
    }
}
