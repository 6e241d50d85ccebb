//! What a pool may hold, and for how long.

use std::time::Duration;

use crate::reconnect::Backoff;

/// The bounds of an [`Engine`](super::Engine).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Config {
    /// Connections that are kept even when nobody uses them. Default 0.
    pub min: usize,
    /// Connections that there are at most, counting those that are being made and those that say goodbye. Default 10.
    pub max: usize,
    /// Acquires that wait at most; the next one is refused at once. Default 1,024. One that was granted a connection which
    /// turned out dead keeps its turn and may exceed this, so that there are [`max`](Self::max) more at the very most.
    pub queue: usize,
    /// Connects that run at once. Default 8: a burst does not open everything at once on a server that has just come up.
    /// While connects fail it is one.
    pub connects: usize,
    /// How long a connection is used, counted from its opening, less up to a tenth by chance, so that connections made
    /// together do not end together. It ends when it is idle. Default 30 minutes; `None` is for ever.
    pub max_age: Option<Duration>,
    /// How long a connection above [`min`](Self::min) stays idle. Default 10 minutes; `None` is for ever.
    pub max_idle: Option<Duration>,
    /// Pauses between connects that fail. Default from 50 ms to 2 s, doubling: a server that has come back is found
    /// within two seconds, and one that is down is asked no more than that.
    pub backoff: Backoff,
}

/// The most connections that a pool may have: more is a mistake in a configuration.
const MAX_CONNECTIONS: usize = 65_536;

/// The most acquires that may wait: more is a mistake in a configuration.
const MAX_QUEUE: usize = 1 << 20;

/// Why a configuration cannot work.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The number of connections is out of range.
    #[error("a pool of {asked} connections was asked for, of 1 to {most}")]
    Connections {
        /// What was asked for.
        asked: usize,
        /// The most that is allowed.
        most: usize,
    },
    /// More connections are to be kept than there may be.
    #[error("a pool keeps at least {min} connections and has {max} at most")]
    MinAboveMax {
        /// Connections to keep.
        min: usize,
        /// Connections at most.
        max: usize,
    },
    /// The queue is too long.
    #[error("a queue of {asked} acquires was asked for, of at most {most}")]
    Queue {
        /// What was asked for.
        asked: usize,
        /// The most that is allowed.
        most: usize,
    },
    /// No connect may run.
    #[error("a pool that makes no connects at once never has a connection")]
    NoConnects,
}

impl Config {
    /// Whether a pool can be like this.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if self.max == 0 || self.max > MAX_CONNECTIONS {
            return Err(ConfigError::Connections {
                asked: self.max,
                most: MAX_CONNECTIONS,
            });
        }
        if self.min > self.max {
            return Err(ConfigError::MinAboveMax {
                min: self.min,
                max: self.max,
            });
        }
        if self.queue > MAX_QUEUE {
            return Err(ConfigError::Queue {
                asked: self.queue,
                most: MAX_QUEUE,
            });
        }
        if self.connects == 0 {
            return Err(ConfigError::NoConnects);
        }
        Ok(())
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            min: 0,
            max: 10,
            queue: 1024,
            connects: 8,
            max_age: Some(Duration::from_secs(30 * 60)),
            max_idle: Some(Duration::from_secs(10 * 60)),
            backoff: Backoff {
                first: Duration::from_millis(50),
                max: Duration::from_secs(2),
                ..Backoff::default()
            },
        }
    }
}
