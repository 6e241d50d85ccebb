//! The shared client: one connection for everybody, pipelined by itself.
//!
//! Callers encode their requests into one buffer, and whatever has been encoded when the connection's task has its turn
//! leaves in one write; replies come back in the same order, are copied into storage that is used again, and are decoded
//! by the caller. So hundreds of tasks share a connection at a fraction of what a connection each would cost, and no
//! request waits for another one's reply.

mod connection;
mod driver;
mod finish;
mod incoming;
mod ledger;
mod open;
mod outgoing;
mod probe;
mod pushes;
mod report;
mod run;
mod scan;
mod shared;
mod slot;
mod stats;

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use arknet_proto::redis::FromReply;

pub(super) use self::open::{Opened, open};
pub(super) use self::outgoing::Outgoing;
pub use self::pushes::{Push, PushEvent, Pushes};
pub use self::report::Report;
pub use self::run::Run;
pub use self::scan::Scan;
pub use self::stats::Stats;

use self::driver::{Last, drive};
use self::finish::Callback;
use self::shared::{Phase, Shared};
use super::backlog::Overflow;
use super::batch::{Batch, Shareable};
use super::commands::ScanCommand;
use super::commands::scripts::ScriptCall;
use super::config::Config;
use super::error::Error;
use crate::lanes::{Lanes, Tenant};
use crate::link;

/// A client that many tasks and threads share: one connection, pipelined by itself, made again when it is lost. Clones
/// are the same client.
///
/// Every request has a deadline, [`Config::request_timeout`], from the call to its result; while there is no connection it
/// waits for one until then. When the connection is lost, each request that was on it fails with its own
/// [`outcome`](Error::outcome); none is sent again. What a client does not take, because it would change the connection
/// for everybody or hold it up, is for a lease of a [`Pool`](super::Pool): commands that wait, `MULTI` and `WATCH`,
/// `SELECT`, subscriptions.
///
/// When the last clone is dropped, what was taken in is finished, and the connection is closed; [`close`](Self::close)
/// waits for that.
///
/// ```no_run
/// use arknet::Lanes;
/// use arknet::redis::commands::strings::{get, incr, set};
/// use arknet::redis::{Client, Config, Error, pipeline};
///
/// # async fn run(lanes: &Lanes) -> Result<(), Error> {
/// let client = Client::connect(Config::new("127.0.0.1:6379")?, lanes).await?;
/// client.run(set("greeting", "hello")).await?;
/// let (greeting, visits) = client
///     .run(pipeline().add(get::<String>("greeting")).add(incr("visits")))
///     .await;
/// println!("{} for the {}th time", greeting?, visits?);
///
/// // The same with a function, which is called on the connection's lane.
/// client.run_with(incr("visits"), |visits| println!("{visits:?}"))?;
/// # Ok(())
/// # }
/// ```
///
/// What is not for a shared connection does not compile:
///
/// ```compile_fail
/// use arknet::redis::commands::lists::blpop;
///
/// # async fn run(client: &arknet::redis::Client) {
/// client.run(blpop::<String>("jobs", None)).await;
/// # }
/// ```
pub struct Client {
    shared: Arc<Shared>,
    within: Option<Duration>,
}

impl Client {
    /// A client that connects in the background, on one of these lanes.
    ///
    /// # Errors
    ///
    /// [`Error::Config`], if the configuration cannot work.
    pub fn new(config: Config, lanes: &Lanes) -> Result<Self, Error> {
        let within = config.request_timeout;
        let shared = Shared::new(config)?;
        let tenant: Weak<dyn Tenant> = Arc::downgrade(&(shared.clone() as Arc<dyn Tenant>));
        lanes.admit(tenant);
        lanes.next().spawn(drive(Last(shared.clone())));
        Ok(Self { shared, within })
    }

    /// The same, once it has connected. Dropping this future ends the client.
    ///
    /// # Errors
    ///
    /// Why the first attempt failed; the client has ended then.
    pub async fn connect(config: Config, lanes: &Lanes) -> Result<Self, Error> {
        let client = Self::new(config, lanes)?;
        client.shared.first_connection().await?;
        Ok(client)
    }

    /// The same client with another limit for the requests that are made with this handle. `None` is no limit.
    #[must_use]
    pub fn within(&self, limit: Option<Duration>) -> Self {
        let mut client = self.clone();
        client.within = limit;
        client
    }

    /// Runs a command or a pipeline. The future sends it when it is first polled, and says what came of it.
    ///
    /// Dropped before that, nothing was sent. Dropped later, it is not sent either, if the connection has not yet taken
    /// it; otherwise the server carries it out, and the reply is read to its end and thrown away. Nobody else ever gets
    /// it.
    ///
    /// # Errors
    ///
    /// In the output, of a pipeline for each request: [`Error::Server`] and [`Error::Decode`] for what came;
    /// [`Error::Timeout`], [`Error::Lost`] and [`Error::Protocol`] with the request's outcome; [`Error::Full`],
    /// [`Error::Closed`] and [`Error::NotOnShared`] for what was not taken in.
    #[inline]
    pub fn run<B: Shareable>(&self, batch: B) -> Run<'_, B> {
        Run::new(&self.shared, self.within, batch)
    }

    /// Runs a command or a pipeline, and gives what came of it to a function, on the connection's lane. It is called
    /// exactly once, in the order of the replies; if it panics, nobody else notices. Until it returns, no other reply on
    /// this connection is dealt with.
    ///
    /// # Errors
    ///
    /// What was refused at once, [`Error::Full`], [`Error::Closed`] or [`Error::NotOnShared`]: the function is not
    /// called, and nothing is sent.
    pub fn run_with<B, F>(&self, batch: B, function: F) -> Result<(), Error>
    where
        B: Shareable + 'static,
        F: FnOnce(B::Output) + Send + 'static,
    {
        shareable(&batch)?;
        let callback = Callback {
            within: self.within,
            batch,
            function,
        };
        if callback.batch.is_atomic() && !self.shared.accepts_multi() {
            return probe::submit_with(&self.shared, callback);
        }
        let submitted = self.shared.submit_with(callback);
        submitted.map_err(|(error, _)| error)
    }

    /// Runs a script: by its SHA-1, and with its text once more where the server says that it does not have it and has
    /// run nothing. After any other failure it is not sent again.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub async fn call<T: FromReply + Send>(&self, call: ScriptCall<T>) -> Result<T, Error> {
        match self.run(call.by_sha()).await {
            Err(error) if ScriptCall::<T>::is_missing(&error) => self.run(call.whole()).await,
            done => done,
        }
    }

    /// Goes through what is too much for one reply, such as all keys, element by element.
    ///
    /// ```no_run
    /// use arknet::redis::commands::{ScanOptions, keys};
    /// use arknet::redis::{Client, Error};
    ///
    /// # async fn run(client: &Client) -> Result<(), Error> {
    /// let mut users = client.scan(keys::scan::<String>(ScanOptions::new().matching("user:*")));
    /// while let Some(user) = users.next().await {
    ///     println!("{}", user?);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn scan<T: FromReply + Send + 'static>(&self, scan: ScanCommand<T>) -> Scan<T> {
        Scan::new(self.clone(), scan)
    }

    /// The messages that the server sends unasked, from now on: up to `limit` of them wait for whoever receives them, and
    /// then `overflow` says what happens. Replies are never held up by them. There are none in RESP2.
    ///
    /// # Errors
    ///
    /// [`Error::Full`] with more than 64 receivers, [`Error::Closed`].
    pub fn pushes(&self, limit: usize, overflow: Overflow) -> Result<Pushes, Error> {
        self.shared.receive(limit, overflow)
    }

    /// Whether there is a connection at this moment, and what has been counted.
    pub fn stats(&self) -> Stats {
        self.shared.stats()
    }

    /// Takes in nothing new, lets what was taken in finish, and closes the connection: within this time, then what is
    /// left is cut. Handles that survive refuse everything with [`Error::Closed`].
    ///
    /// Dropping this future leaves the client closing.
    pub async fn close(&self, within: Duration) -> Report {
        self.shared.close(link::after(within));
        self.shared.end().await
    }
}

impl Clone for Client {
    fn clone(&self) -> Self {
        self.shared.add_handle();
        Self {
            shared: self.shared.clone(),
            within: self.within,
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.shared.drop_handle();
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("address", &self.shared.node.address)
            .finish_non_exhaustive()
    }
}

impl Shared {
    /// Waits for the outcome of the first attempt to connect.
    async fn first_connection(&self) -> Result<(), Error> {
        loop {
            let changed = self.changed.notified();
            match &self.lock().phase {
                Phase::Open => return Ok(()),
                Phase::Connecting(Some(error)) | Phase::Ended(error) => return Err(error.clone()),
                Phase::Connecting(None) => {}
            }
            changed.await;
        }
    }

    /// Waits for the end.
    async fn end(&self) -> Report {
        loop {
            let changed = self.changed.notified();
            if let Some(report) = self.lock().report {
                return report;
            }
            changed.await;
        }
    }

    fn receive(&self, limit: usize, overflow: Overflow) -> Result<Pushes, Error> {
        if let Phase::Ended(error) = &self.lock().phase {
            return Err(error.clone());
        }
        self.receivers.add(limit, overflow)
    }

    fn stats(&self) -> Stats {
        let state = self.lock();
        let connected = matches!(state.phase, Phase::Open);
        state.counts.stats(
            connected,
            state.ledger.requests(),
            state.ledger.queued_bytes(),
        )
    }
}

impl Tenant for Shared {
    fn end(&self, deadline: Instant) {
        self.close(deadline);
    }
}

/// What is left of a limit.
fn left(until: Option<Instant>) -> Option<Duration> {
    until.map(|until| until.saturating_duration_since(link::now()))
}

/// Whether a shared connection takes a batch. Typed commands that it does not take do not compile; this is for those
/// that are made by name.
#[inline]
fn shareable<B: Batch>(batch: &B) -> Result<(), Error> {
    let effects = batch.effects();
    if effects.is_blocking() || effects.is_exclusive() || effects.no_reply() {
        return Err(not_shareable(batch.name()));
    }
    Ok(())
}

#[cold]
fn not_shareable(command: &str) -> Error {
    Error::NotOnShared {
        command: command.into(),
    }
}
