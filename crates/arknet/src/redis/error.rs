//! What can go wrong with a request to a Redis server, who is to blame, and what became of the request.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use arknet_proto::redis::exchange::HandshakeError;
use arknet_proto::redis::{DecodeError, ProtocolError, ServerError};

use crate::error::{Blame, Outcome};
use crate::link::Address;

/// What kind of error it is.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A configuration or a URL cannot work.
    Config,
    /// No connection could be made.
    Connect,
    /// TLS refused the server, or the server refused us.
    Tls,
    /// The server does not accept the user or the password, or wants one (`NOAUTH`, `WRONGPASS`), or does not permit the
    /// user what was asked for (`NOPERM`): at the login and later.
    Auth,
    /// The server refused something else that a connection begins with.
    Handshake,
    /// The server answered with an error.
    Server,
    /// The server broke the protocol, or a limit of what it may send.
    Protocol,
    /// The reply is not of the type that was asked for.
    Decode,
    /// A deadline passed.
    Timeout,
    /// The connection was lost with the request on it.
    Lost,
    /// A queue is full.
    Full,
    /// The client, the pool or the connection is closed.
    Closed,
    /// The command cannot be used here.
    Refused,
}

/// What was being done when a deadline passed.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Doing {
    /// Waiting for a connection of a pool.
    Acquire,
    /// Connecting, from the resolution of the name to the end of the handshakes.
    Connect,
    /// Handing the request over, or waiting for its reply.
    Request,
    /// Closing.
    Close,
}

impl std::fmt::Display for Doing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Acquire => "acquire a connection",
            Self::Connect => "connect",
            Self::Request => "request",
            Self::Close => "close",
        })
    }
}

/// Why a request failed, or a connection could not be made. Cheap to clone, and without any secret.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A configuration or a URL cannot work.
    #[error("redis configuration: {0}")]
    Config(Arc<str>),
    /// None of the server's addresses answered, or its name has none; the error is the last one's.
    #[error("connect to redis at {address}: {source}")]
    Connect {
        /// What was tried.
        address: Arc<Address>,
        /// What the system said.
        source: Arc<io::Error>,
    },
    /// TLS refused the server, or the server refused us. Nothing secret was sent.
    #[cfg(feature = "tls")]
    #[error("tls with redis at {address}: {source}")]
    Tls {
        /// The server.
        address: Arc<Address>,
        /// The reason.
        source: Arc<crate::tls::Error>,
    },
    /// The server does not accept the user or the password, or wants one.
    #[error("authenticate with redis at {address}: {error}")]
    Auth {
        /// The server.
        address: Arc<Address>,
        /// What it said.
        error: Arc<ServerError>,
    },
    /// The server refused something else that a connection begins with.
    #[error("begin a session with redis at {address}: {source}")]
    Handshake {
        /// The server.
        address: Arc<Address>,
        /// What was refused, and what the server said.
        source: Arc<HandshakeError>,
    },
    /// The server answered with an error.
    #[error("redis refused {command}: {source}")]
    Server {
        /// The request.
        command: Arc<str>,
        /// What the server said.
        source: Arc<ServerError>,
    },
    /// The server refused the `MULTI` of what was to be carried out as a whole, and may have carried out what came behind
    /// it, each command by itself. It happens only where it has accepted one on the same connection before: an
    /// administrator has taken the right to it away meanwhile.
    #[error(
        "redis refused MULTI, and may have carried out what was behind it, but not as a whole: {source}"
    )]
    NotAtomic {
        /// What the server said.
        source: Arc<ServerError>,
    },
    /// The server broke the protocol, or a limit of what it may send. The connection is closed.
    #[error("reply of redis at {address}: {source}")]
    Protocol {
        /// The server.
        address: Arc<Address>,
        /// The rule and the limit.
        source: Arc<ProtocolError>,
        /// What became of the request.
        outcome: Outcome,
    },
    /// The reply is not of the type that was asked for. The request was carried out.
    #[error("decode the reply to {command}: {source}")]
    Decode {
        /// The request.
        command: Arc<str>,
        /// What does not fit.
        source: Arc<DecodeError>,
    },
    /// A deadline passed.
    #[error("{doing}: not done within {within:?} ({outcome})")]
    Timeout {
        /// What was being done.
        doing: Doing,
        /// The limit.
        within: Duration,
        /// What became of the request.
        outcome: Outcome,
    },
    /// The connection was lost with the request on it.
    #[error("connection with redis at {address} was lost: {source} ({outcome})")]
    Lost {
        /// The server.
        address: Arc<Address>,
        /// Why.
        source: Arc<io::Error>,
        /// What became of the request.
        outcome: Outcome,
    },
    /// A queue is full. Nothing was sent.
    #[error("{what}: full, {limit} wait already")]
    Full {
        /// Which queue.
        what: &'static str,
        /// Its limit.
        limit: usize,
    },
    /// No connection of the pool is idle, and the caller does not wait for one.
    #[error("acquire a connection: none is idle")]
    NoneIdle,
    /// The client, the pool or the connection is closed. Nothing was sent.
    #[error("redis: closed")]
    Closed,
    /// The command changes the session or blocks it, and the connection is shared: it needs a lease. Nothing was sent.
    #[error("{command} needs a connection of its own: use a lease")]
    NotOnShared {
        /// The command.
        command: Arc<str>,
    },
    /// The command is not answered by one reply of its own, and a lease waits for that: subscriptions have a
    /// [`Subscriber`](super::Subscriber). Nothing was sent.
    #[error("{command} is not answered as others are, and cannot be run with them on a lease")]
    NotOnLease {
        /// The command.
        command: Arc<str>,
    },
}

impl Error {
    /// What kind it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Config(_) => ErrorKind::Config,
            Self::Connect { .. } => ErrorKind::Connect,
            #[cfg(feature = "tls")]
            Self::Tls { .. } => ErrorKind::Tls,
            Self::Auth { .. } => ErrorKind::Auth,
            Self::Handshake { .. } => ErrorKind::Handshake,
            Self::Server { source, .. } | Self::NotAtomic { source } => {
                match is_about_rights(source) {
                    true => ErrorKind::Auth,
                    false => ErrorKind::Server,
                }
            }
            Self::Protocol { .. } => ErrorKind::Protocol,
            Self::Decode { .. } => ErrorKind::Decode,
            Self::Timeout { .. } => ErrorKind::Timeout,
            Self::Lost { .. } => ErrorKind::Lost,
            Self::Full { .. } | Self::NoneIdle => ErrorKind::Full,
            Self::Closed => ErrorKind::Closed,
            Self::NotOnShared { .. } | Self::NotOnLease { .. } => ErrorKind::Refused,
        }
    }

    /// Whom it blames.
    pub fn blame(&self) -> Blame {
        match self.kind() {
            ErrorKind::Config
            | ErrorKind::Auth
            | ErrorKind::Server
            | ErrorKind::Decode
            | ErrorKind::Refused
            | ErrorKind::Full => Blame::Caller,
            ErrorKind::Handshake | ErrorKind::Tls | ErrorKind::Protocol => Blame::Peer,
            ErrorKind::Connect | ErrorKind::Timeout | ErrorKind::Lost | ErrorKind::Closed => {
                Blame::Network
            }
        }
    }

    /// What became of the request.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Server { .. } | Self::Decode { .. } => Outcome::Replied,
            Self::Protocol { outcome, .. }
            | Self::Timeout { outcome, .. }
            | Self::Lost { outcome, .. } => *outcome,
            Self::NotAtomic { .. } => Outcome::Unknown,
            _ => Outcome::NotSent,
        }
    }

    /// Whether a deadline passed.
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::Timeout { .. })
    }

    /// Whether the client, the pool or the connection is closed.
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Closed)
    }

    /// What the server said, if it answered with an error.
    pub fn server(&self) -> Option<&ServerError> {
        match self {
            Self::Server { source, .. } | Self::NotAtomic { source } => Some(source),
            Self::Auth { error, .. } => Some(error),
            Self::Handshake { source, .. } => source.server(),
            _ => None,
        }
    }

    /// The same failure, as another request on the same connection suffered it.
    #[must_use]
    pub(crate) fn with_outcome(mut self, became: Outcome) -> Self {
        if let Self::Protocol { outcome, .. }
        | Self::Timeout { outcome, .. }
        | Self::Lost { outcome, .. } = &mut self
        {
            *outcome = became;
        }
        self
    }

    /// Of a reply to `command` that could not be decoded: the server's own error, if it is one.
    #[cold]
    pub(crate) fn from_decode(command: &str, error: DecodeError) -> Self {
        match error {
            DecodeError::Server(source) => Self::Server {
                command: command.into(),
                source: Arc::new(source),
            },
            source => Self::Decode {
                command: command.into(),
                source: Arc::new(source),
            },
        }
    }

    pub(crate) fn config(reason: impl Into<Arc<str>>) -> Self {
        Self::Config(reason.into())
    }
}

/// Whether an error reply is about who asks, not about what is asked for.
fn is_about_rights(error: &ServerError) -> bool {
    matches!(error.code(), "NOAUTH" | "WRONGPASS" | "NOPERM")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_of_the_user_is_of_one_kind_whenever_it_comes() {
        for said in [
            "NOAUTH Authentication required.",
            "WRONGPASS no",
            "NOPERM no",
        ] {
            let refused = DecodeError::Server(ServerError::new(said.as_bytes()));
            let error = Error::from_decode("GET", refused);
            assert_eq!(
                (error.kind(), error.outcome()),
                (ErrorKind::Auth, Outcome::Replied)
            );
            assert_eq!(error.blame(), Blame::Caller);
        }
        let refused = DecodeError::Server(ServerError::new(b"ERR no such key"));
        assert_eq!(Error::from_decode("GET", refused).kind(), ErrorKind::Server);
    }

    #[test]
    fn an_error_is_small_enough_to_be_returned_with_every_result() {
        assert!(size_of::<Error>() <= 32, "{}", size_of::<Error>());
    }
}
