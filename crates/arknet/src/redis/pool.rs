//! Connections for one user at a time.

mod manager;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;
#[cfg(feature = "owner")]
use std::time::Instant;

use self::manager::RedisManager;
use super::connection::Limit;
use super::meters::Access;
use super::node::Node;
use super::{Answers, Batch, Config, Doing, Error, Lease, ResetPolicy};
use crate::error::Outcome;
use crate::lanes::Lanes;
use crate::link;
use crate::pool::{self, AcquireError, ConnectFailure, PoolConfig, PoolReport, database};

pub(super) use self::manager::RedisManager as Manager;

/// A pool of connections to one server, each lent to one user at a time: for transactions, for commands that block, and
/// for whatever changes a session. What does none of that runs at a lower price on a shared [`Client`](super::Client).
///
/// What a user leaves in a session is undone before the next one sees it, without waiting for it: [`ResetPolicy`].
///
/// Clones share the pool. [`close`](Self::close) ends it in good order; the drop of the last clone closes it as well, and
/// nobody waits for that.
///
/// ```no_run
/// use arknet::Lanes;
/// use arknet::pool::PoolConfig;
/// use arknet::redis::{Config, Pool, cmd};
///
/// let lanes = Lanes::sharded(2)?;
/// let pool = Pool::new(Config::from_url("redis://localhost/2")?, PoolConfig::new(), &lanes)?;
/// lanes.block_on(async {
///     let mut lease = pool.acquire().await?;
///     let greeting: String = lease.run(cmd("ECHO").arg("hello")).await?;
///     assert_eq!(greeting, "hello");
///     Ok::<(), arknet::redis::Error>(())
/// })??;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Pool {
    pool: pool::Pool<RedisManager>,
}

/// A moment of a [`Pool`], and what has happened until then.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct PoolStats {
    /// Connections, leases and waiters.
    pub pool: pool::PoolStats,
    /// Sessions that were reset so far.
    pub resets: u64,
}

impl Pool {
    /// A pool of connections to the server of `config`, whose background work runs on `lanes`. The sessions of its users
    /// are made new by [`ResetPolicy::Automatic`].
    ///
    /// The time to connect is that of `config`.
    ///
    /// # Errors
    ///
    /// [`Error::Config`] says what cannot work. That the server cannot be reached shows when a connection is acquired.
    pub fn new(config: Config, pool: PoolConfig, lanes: &Lanes) -> Result<Self, Error> {
        Self::with_policy(config, pool, ResetPolicy::default(), lanes)
    }

    /// The same, with another policy for what users leave behind.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn with_policy(
        config: Config,
        pool: PoolConfig,
        policy: ResetPolicy,
        lanes: &Lanes,
    ) -> Result<Self, Error> {
        let node = Arc::new(Node::new(&config, Access::Lease, policy)?);
        // The connection's own limit comes first, and says what it was doing.
        let pool = pool.connect_timeout(node.connect_timeout.saturating_add(GRACE));
        let pool = pool::Pool::new(RedisManager::new(node, lanes.clone()), pool, lanes);
        Ok(Self {
            pool: pool.map_err(|error| Error::config(error.to_string()))?,
        })
    }

    /// Waits for a connection, for as long as [`PoolConfig::acquire_timeout`] says, from the first poll.
    ///
    /// Dropping this future gives up the place in the queue.
    ///
    /// # Errors
    ///
    /// [`Error::Full`] and [`Error::Closed`] at once; [`Error::Timeout`] if no connection became free in time. Where none
    /// could be made, the reason for that: at once if it will not go away by itself ([`Error::Auth`], [`Error::Handshake`], [`Error::Tls`]),
    /// otherwise when the time is over, since the server may come back.
    pub async fn acquire(&self) -> Result<Lease, Error> {
        database::acquire(&self.pool, None).await.map(Lease::new)
    }

    /// Waits for a connection for as long as this.
    ///
    /// # Errors
    ///
    /// As [`acquire`](Self::acquire).
    pub async fn acquire_within(&self, within: Duration) -> Result<Lease, Error> {
        database::acquire(&self.pool, Some(within))
            .await
            .map(Lease::new)
    }

    /// Takes a connection that is idle and owes nobody a reply. If there is none, one is made in the background, as far as
    /// there is room.
    ///
    /// # Errors
    ///
    /// [`Error::NoneIdle`], or [`Error::Closed`].
    pub fn try_acquire(&self) -> Result<Lease, Error> {
        database::try_acquire(&self.pool).map(Lease::new)
    }

    /// Calls a function with a connection, or with the reason why there is none, once, on a lane. It waits as
    /// [`acquire`](Self::acquire) does.
    pub fn acquire_with(&self, callback: impl FnOnce(Result<Lease, Error>) + Send + 'static) {
        let pool = self.clone();
        self.pool.manager().lanes().spawn(async move {
            let lease = pool.acquire().await;
            callback(lease);
        });
    }

    /// Runs a batch on a connection that is acquired for it. One deadline, the request's, covers both.
    ///
    /// # Errors
    ///
    /// In the batch's output: those of [`acquire`](Self::acquire) and [`Lease::run`].
    pub async fn run<B: Batch>(&self, batch: B) -> B::Output {
        let within = self.pool.manager().node().request_timeout;
        let until = within.map(link::after);
        match database::acquire(&self.pool, within).await.map(Lease::new) {
            Ok(mut lease) => lease.run_until(batch, Limit { within, until }).await,
            Err(error) => batch.finish(Answers::failed(&error)),
        }
    }

    /// As [`run`](Self::run), of what has been waiting since `asked`, which counts.
    #[cfg(feature = "owner")]
    pub(crate) async fn run_asked<B: Batch>(&self, batch: B, asked: Instant) -> B::Output {
        let own = self.pool.manager().node().request_timeout;
        let within = own.unwrap_or(self.pool.config().acquire);
        let waited = link::now().saturating_duration_since(asked);
        let acquired = if waited < within {
            database::acquire(&self.pool, Some(within.saturating_sub(waited)))
                .await
                .map(Lease::new)
        } else {
            Err(Error::Timeout {
                doing: Doing::Acquire,
                within,
                outcome: Outcome::NotSent,
            })
        };
        match acquired {
            Ok(mut lease) => {
                // Not a moment by which it has to be done: what blocks has its own time in addition.
                let waited = link::now().saturating_duration_since(asked);
                let within = own.map(|own| own.saturating_sub(waited));
                let limit = Limit {
                    within,
                    until: None,
                };
                lease.run_until(batch, limit).await
            }
            Err(error) => batch.finish(Answers::failed(&error)),
        }
    }

    /// How many connections there are at most.
    #[cfg(feature = "owner")]
    pub(crate) fn most(&self) -> usize {
        self.pool.config().most()
    }

    /// The error of a request that was lost on its way, between the caller and the connection.
    #[cfg(feature = "owner")]
    pub(crate) fn loss(&self) -> impl Fn(std::io::Error, Outcome) -> Error + 'static {
        let node = self.pool.manager().node().clone();
        move |source, outcome| Error::Lost {
            address: node.address.clone(),
            source: Arc::new(source),
            outcome,
        }
    }

    /// What the pool looks like now, and what has happened.
    pub fn stats(&self) -> PoolStats {
        PoolStats {
            pool: self.pool.stats(),
            resets: self.pool.manager().node().resets(),
        }
    }

    /// Whether the pool was closed.
    pub fn is_closed(&self) -> bool {
        self.pool.is_closed()
    }

    /// Lends nothing more, refuses who waits, waits until all leases were returned and all connections have said goodbye,
    /// or for as long as this, and reports. A lease that is returned later ends its connection.
    ///
    /// Dropping this future leaves the pool closed.
    pub async fn close(&self, within: Duration) -> PoolReport {
        self.pool.close(within).await
    }
}

/// How much longer the pool waits for a connection attempt than the attempt itself may take.
const GRACE: Duration = Duration::from_secs(1);

/// Why there is no connection, in the words of a request.
fn refused(error: AcquireError<Error>) -> Error {
    match error {
        AcquireError::QueueFull { limit } => Error::Full {
            what: "the queue for a connection",
            limit,
        },
        AcquireError::Timeout {
            connect: Some(ConnectFailure::Error(error)),
            ..
        } => error,
        AcquireError::Timeout { within, .. } => Error::Timeout {
            doing: Doing::Acquire,
            within,
            outcome: Outcome::NotSent,
        },
        AcquireError::NoneIdle => Error::NoneIdle,
        AcquireError::Closed => Error::Closed,
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("address", &self.pool.manager().node().address.to_string())
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}
