//! One pool for every client: exclusive leases of connections that are expensive to make.
//!
//! What a connection is, a [`Manager`] says; who gets which one, an engine of arknet-proto decides
//! ([`arknet_proto::pool`]); this is what stands between them. The pool makes connections in the background and lends them
//! in the order in which they were asked for. It never sends a request again and never looks into a connection.
//!
//! ```
//! use std::convert::Infallible;
//! use std::time::{Duration, Instant};
//! use arknet::Lanes;
//! use arknet::pool::{Manager, Pool, PoolConfig, Reset};
//!
//! struct Numbers;
//!
//! impl Manager for Numbers {
//!     type Connection = u32;
//!     type Error = Infallible;
//!
//!     async fn connect(&self, _deadline: Instant) -> Result<u32, Infallible> {
//!         Ok(42)
//!     }
//!     fn reset(&self, _: &mut u32) -> Reset {
//!         Reset::Clean
//!     }
//!     fn is_reusable(&self, _: &mut u32, _idle: Duration) -> bool {
//!         true
//!     }
//!     async fn farewell(&self, _: u32) {}
//! }
//!
//! let lanes = Lanes::sharded(1)?;
//! let pool = Pool::new(Numbers, PoolConfig::new().max_connections(4), &lanes)?;
//! let report = lanes.block_on(async {
//!     let lease = pool.acquire().await?;
//!     assert_eq!(*lease, 42);
//!     // Dropped, it goes back.
//!     drop(lease);
//!     Ok::<_, arknet::pool::AcquireError<Infallible>>(pool.close(Duration::from_secs(1)).await)
//! })??;
//! assert!(report.finished);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod acquire;
mod config;
#[cfg(any(feature = "mysql", feature = "redis"))]
pub(crate) mod database;
mod errands;
mod error;
mod lease;
mod manager;
mod meters;
mod shared;
mod stats;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use acquire::Acquire;
pub use arknet_proto::pool::ConfigError;
pub use arknet_proto::reconnect::Backoff;
pub use config::PoolConfig;
pub use error::{AcquireError, ConnectFailure};
pub use lease::Lease;
pub use manager::{Manager, Reset};
use shared::Shared;
pub use stats::{PoolReport, PoolStats};

use crate::lanes::Lanes;

/// A pool of connections. Clones share it.
///
/// [`close`](Self::close) ends it in good order. When the last clone is dropped, it is closed as well, and nobody waits for
/// that: idle connections say goodbye in the background, and so does each lease when it is dropped.
pub struct Pool<M: Manager> {
    shared: Arc<Shared<M>>,
}

impl<M: Manager> Pool<M> {
    /// A pool whose background work runs on `lanes`. It begins to make the connections that it keeps at once.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] says what cannot work.
    pub fn new(manager: M, config: PoolConfig, lanes: &Lanes) -> Result<Self, ConfigError> {
        Ok(Self {
            shared: Shared::start(manager, config, lanes)?,
        })
    }

    /// Waits for a connection, for as long as [`PoolConfig::acquire_timeout`] says, from the first poll.
    ///
    /// # Errors
    ///
    /// [`AcquireError::QueueFull`] and [`AcquireError::Closed`] at once, [`AcquireError::Timeout`] when it took too long.
    pub fn acquire(&self) -> Acquire<'_, M> {
        self.acquire_within(self.shared.config().acquire)
    }

    /// Waits for a connection for as long as this, from the first poll.
    ///
    /// # Errors
    ///
    /// As [`acquire`](Self::acquire).
    pub fn acquire_within(&self, within: Duration) -> Acquire<'_, M> {
        Acquire::new(&self.shared, within)
    }

    /// Takes a connection that is idle. If none is, one is made in the background, as far as there is room.
    ///
    /// # Errors
    ///
    /// [`AcquireError::NoneIdle`] or [`AcquireError::Closed`].
    #[inline]
    pub fn try_acquire(&self) -> Result<Lease<M>, AcquireError<M::Error>> {
        self.shared.try_lease()
    }

    /// Calls a function with a connection, or with the reason why there is none, once, on a lane. It waits as
    /// [`acquire`](Self::acquire) does, from this call.
    ///
    /// Where the lanes have ended, the function is called with [`AcquireError::Closed`] on the thread that finds that out.
    pub fn acquire_with(
        &self,
        callback: impl FnOnce(Result<Lease<M>, AcquireError<M::Error>>) + Send + 'static,
    ) {
        let within = self.shared.config().acquire;
        acquire::acquire_with(&self.shared, within, Box::new(callback));
    }

    /// What the pool looks like now, and what has happened.
    pub fn stats(&self) -> PoolStats {
        self.shared.stats()
    }

    /// Whether the pool was closed.
    pub fn is_closed(&self) -> bool {
        self.shared.is_closed()
    }

    /// What was given to [`new`](Self::new).
    #[cfg(all(feature = "owner", feature = "redis"))]
    pub(crate) fn config(&self) -> &PoolConfig {
        self.shared.config()
    }

    /// What was given to [`new`](Self::new).
    pub fn manager(&self) -> &M {
        self.shared.manager()
    }

    /// Lends nothing more, refuses who waits, waits until all leases were returned and all connections have said goodbye,
    /// or for as long as this, and reports.
    ///
    /// A lease that is returned later ends its connection. Dropping this future leaves the pool closed.
    pub async fn close(&self, within: Duration) -> PoolReport {
        let deadline = crate::io::after(within);
        self.shared.close_by(Some(deadline));
        self.shared.drained(deadline).await
    }
}

impl<M: Manager> Clone for Pool<M> {
    fn clone(&self) -> Self {
        self.shared.add_handle();
        Self {
            shared: self.shared.clone(),
        }
    }
}

impl<M: Manager> Drop for Pool<M> {
    fn drop(&mut self) {
        if self.shared.remove_handle() {
            self.shared.close_by(None);
        }
    }
}

impl<M: Manager> fmt::Debug for Pool<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}
