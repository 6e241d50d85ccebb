//! What a subscriber does beside connecting.

use std::time::Duration;

use crate::redis::backlog::{Bounds, Overflow};
use crate::redis::config::Config;

/// How a subscriber listens. Made of a [`Config`], which is all that most need.
///
/// ```
/// use std::time::Duration;
/// use arknet::redis::{Config, Overflow, SubscriberConfig};
///
/// let config = SubscriberConfig::from(Config::new("127.0.0.1:6379")?)
///     .queue(1_000)
///     .overflow(Overflow::Disconnect)
///     .ping_interval(Duration::from_secs(5));
/// # Ok::<(), arknet::redis::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SubscriberConfig {
    pub(super) config: Config,
    messages: usize,
    bytes: usize,
    overflow: Overflow,
    pub(super) ping_interval: Duration,
}

/// With the defaults, which are on each setting.
impl From<Config> for SubscriberConfig {
    fn from(config: Config) -> Self {
        Self {
            config,
            messages: 16 * 1024,
            bytes: 16 * 1024 * 1024,
            overflow: Overflow::default(),
            ping_interval: Duration::from_secs(15),
        }
    }
}

impl SubscriberConfig {
    /// How many events may wait for the consumer. Default 16,384.
    #[must_use]
    pub fn queue(mut self, messages: usize) -> Self {
        self.messages = messages.max(1);
        self
    }

    /// How many bytes they may have together; a single one may have more. Default 16 MiB.
    #[must_use]
    pub fn queue_bytes(mut self, bytes: usize) -> Self {
        self.bytes = bytes;
        self
    }

    /// What happens when there is no room. Default [`Overflow::DropOldest`], and the consumer is told of the gap.
    #[must_use]
    pub fn overflow(mut self, policy: Overflow) -> Self {
        self.overflow = policy;
        self
    }

    /// After how much silence the server is asked whether it is there; it has
    /// [`Config::request_timeout`](Config::request_timeout) to answer, 5 s where there is none. Default 15 s.
    #[must_use]
    pub fn ping_interval(mut self, interval: Duration) -> Self {
        self.ping_interval = interval.max(Duration::from_millis(1));
        self
    }

    pub(super) fn bounds(&self) -> Bounds {
        Bounds {
            items: self.messages,
            bytes: self.bytes,
            overflow: self.overflow,
        }
    }
}
