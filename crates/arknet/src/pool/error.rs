//! Why there is no connection.

use std::error::Error;
use std::time::Duration;

use crate::error::Blame;

/// Why an acquire got no connection.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AcquireError<E: Error> {
    /// As many acquires wait as may.
    #[error("acquire a connection: {limit} wait for one already")]
    QueueFull {
        /// The limit.
        limit: usize,
    },
    /// None became free in time.
    #[error("acquire a connection: none within {within:?}{}", because(.connect))]
    Timeout {
        /// The limit.
        within: Duration,
        /// Why the last connect failed, if connects fail at present. Without it, all connections are in use.
        connect: Option<ConnectFailure<E>>,
    },
    /// No connection is idle, and the caller does not wait.
    #[error("acquire a connection: none is idle")]
    NoneIdle,
    /// The pool is closed, or its lanes have ended.
    #[error("acquire a connection: the pool is closed")]
    Closed,
}

/// Why a connection could not be made.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectFailure<E: Error> {
    /// The manager said why.
    #[error("{0}")]
    Error(#[source] E),
    /// The manager did not keep its deadline.
    #[error("connect: not connected within {within:?}")]
    Timeout {
        /// The limit.
        within: Duration,
    },
    /// The manager panicked.
    #[error("connect: the pool's manager panicked")]
    Panicked,
}

impl<E: Error> AcquireError<E> {
    /// Whether a deadline passed.
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::Timeout { .. })
    }

    /// Whom it blames: the caller where there are more acquires than the pool is made for, the network where no
    /// connection could be made.
    pub fn blame(&self) -> Blame {
        match self {
            Self::QueueFull { .. } | Self::NoneIdle => Blame::Caller,
            Self::Timeout { connect, .. } => match connect {
                None => Blame::Caller,
                Some(ConnectFailure::Error(_) | ConnectFailure::Timeout { .. }) => Blame::Network,
                Some(ConnectFailure::Panicked) => Blame::Bug,
            },
            Self::Closed => Blame::Network,
        }
    }

    /// Whether the pool is closed.
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Closed)
    }

    /// Why the last connect failed, where that is the reason.
    pub fn connect_failure(&self) -> Option<&ConnectFailure<E>> {
        match self {
            Self::Timeout { connect, .. } => connect.as_ref(),
            _ => None,
        }
    }
}

fn because<E: Error>(connect: &Option<ConnectFailure<E>>) -> String {
    match connect {
        Some(failure) => format!(", the last attempt to make one failed: {failure}"),
        None => ", all are in use".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_blames_who_has_brought_it_about() {
        let timeout = |connect| AcquireError::<std::fmt::Error>::Timeout {
            within: Duration::from_secs(1),
            connect,
        };
        assert_eq!(timeout(None).blame(), Blame::Caller);
        let failed = ConnectFailure::Error(std::fmt::Error);
        assert_eq!(timeout(Some(failed)).blame(), Blame::Network);
        let panicked = ConnectFailure::Panicked;
        assert_eq!(timeout(Some(panicked)).blame(), Blame::Bug);
    }
}
