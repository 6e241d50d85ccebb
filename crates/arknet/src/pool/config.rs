//! How many connections, how long, how fast.

use std::time::Duration;

use arknet_proto::pool::Config as EngineConfig;
use arknet_proto::reconnect::Backoff;

/// How a [`Pool`](super::Pool) behaves.
///
/// ```
/// use std::time::Duration;
/// use arknet::pool::PoolConfig;
///
/// let config = PoolConfig::new()
///     .max_connections(32)
///     .acquire_timeout(Duration::from_millis(500));
/// # let _ = config;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PoolConfig {
    pub(super) engine: EngineConfig,
    pub(crate) acquire: Duration,
    pub(super) connect: Duration,
}

impl PoolConfig {
    /// The defaults, which are on each setting.
    #[must_use]
    pub fn new() -> Self {
        Self {
            engine: EngineConfig::default(),
            acquire: Duration::from_secs(5),
            connect: Duration::from_secs(10),
        }
    }

    /// Connections that are kept even when nobody uses them. Default 0.
    #[must_use]
    pub fn min_connections(mut self, connections: usize) -> Self {
        self.engine.min = connections;
        self
    }

    /// Connections that there are at most, counting those that are being made and those that say goodbye; 1 to 65,536.
    /// Default 10.
    #[must_use]
    pub fn max_connections(mut self, connections: usize) -> Self {
        self.engine.max = connections;
        self
    }

    /// Acquires that wait at most; one more is refused at once. At most 1,048,576. Default 1,024.
    #[must_use]
    pub fn queue(mut self, acquires: usize) -> Self {
        self.engine.queue = acquires;
        self
    }

    /// How long an acquire may take. Default 5 s.
    #[must_use]
    pub fn acquire_timeout(mut self, limit: Duration) -> Self {
        self.acquire = limit;
        self
    }

    /// How long making a connection may take, from the resolution of its name until it can be used. Default 10 s.
    #[must_use]
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.connect = limit;
        self
    }

    /// Connects that run at once, while they succeed; it is one while they fail. Default 8.
    #[must_use]
    pub fn connects_at_once(mut self, connects: usize) -> Self {
        self.engine.connects = connects;
        self
    }

    /// How long a connection is used, less up to a tenth by chance, so that connections made together do not end together.
    /// A leased one ends when it is returned. Default 30 minutes; `None` is for ever.
    #[must_use]
    pub fn max_age(mut self, limit: Option<Duration>) -> Self {
        self.engine.max_age = limit;
        self
    }

    /// How long a connection above the least number stays idle. Default 10 minutes; `None` is for ever.
    #[must_use]
    pub fn max_idle(mut self, limit: Option<Duration>) -> Self {
        self.engine.max_idle = limit;
        self
    }

    /// Pauses between connects that fail. Default: doubling from 50 ms to 2 s, half of each by chance.
    #[must_use]
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.engine.backoff = backoff;
        self
    }

    /// How many connections there are at most.
    #[cfg(feature = "owner")]
    pub(crate) fn most(&self) -> usize {
        self.engine.max
    }

    /// With room in the queue for so many acquires at least.
    #[cfg(feature = "owner")]
    pub(crate) fn queue_of_at_least(mut self, acquires: usize) -> Self {
        self.engine.queue = self.engine.queue.max(acquires);
        self
    }
}

impl Default for PoolConfig {
    fn default() -> Self {
        Self::new()
    }
}
