//! What can go wrong with a request to a MySQL or MariaDB server, who is to blame, and what became of the request.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use arknet_proto::mysql::command::ExecuteError;
use arknet_proto::mysql::format::FormatError;
use arknet_proto::mysql::handshake::HandshakeError;
use arknet_proto::mysql::packet::TooLarge;
use arknet_proto::mysql::row::DecodeError;
use arknet_proto::mysql::{ProtocolError, ServerError};

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
    /// The server does not accept the account, or asks for a proof that it does not get.
    Auth,
    /// The server refused something else that a connection begins with.
    Handshake,
    /// The server answered with an error.
    Server,
    /// The server broke the protocol, or a limit of what it may send.
    Protocol,
    /// The answer is not of the type that was asked for.
    Decode,
    /// The request cannot be sent as it is: its parameters, its size, a transaction that is over.
    Request,
    /// A deadline passed.
    Timeout,
    /// The connection was lost with the request on it.
    Lost,
    /// A queue is full.
    Full,
    /// The pool or the connection is closed.
    Closed,
}

/// What was being done when a deadline passed.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Doing {
    /// Waiting for a connection of a pool.
    Acquire,
    /// Connecting, from the resolution of the name to the end of the login.
    Connect,
    /// Handing the request over, or waiting for its answer.
    Request,
}

impl std::fmt::Display for Doing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Acquire => "acquire a connection",
            Self::Connect => "connect",
            Self::Request => "request",
        })
    }
}

/// Why a request failed, or a connection could not be made. Cheap to clone.
///
/// It shows no password, no statement and no parameter; what a server writes into its own error text may quote either.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A configuration or a URL cannot work.
    #[error("mysql configuration: {0}")]
    Config(Arc<str>),
    /// None of the server's addresses answered, or its name has none; the error is the last one's.
    #[error("connect to mysql at {address}: {source}")]
    Connect {
        /// What was tried.
        address: Arc<Address>,
        /// What the system said.
        source: Arc<io::Error>,
    },
    /// TLS refused the server, or the server refused us. No password was sent.
    #[cfg(feature = "tls")]
    #[error("tls with mysql at {address}: {source}")]
    Tls {
        /// The server.
        address: Arc<Address>,
        /// The reason.
        source: Arc<crate::tls::Error>,
    },
    /// The server does not accept the account, or asks for a proof that the configuration does not allow.
    #[error("authenticate with mysql at {address}: {source}")]
    Auth {
        /// The server.
        address: Arc<Address>,
        /// What it said, or what it asked for.
        source: Arc<HandshakeError>,
    },
    /// The server refused something else that a connection begins with: it has too many of them, or no such schema, or no
    /// TLS where that is required.
    #[error("begin a session with mysql at {address}: {source}")]
    Handshake {
        /// The server.
        address: Arc<Address>,
        /// What was refused, and what the server said.
        source: Arc<HandshakeError>,
    },
    /// The server answered with an error.
    #[error("mysql refused: {0}")]
    Server(Arc<ServerError>),
    /// The server broke the protocol, or a limit of what it may send. The connection is closed.
    #[error("answer of mysql at {address}: {source} ({outcome})")]
    Protocol {
        /// The server.
        address: Arc<Address>,
        /// The rule and the limit.
        source: Arc<ProtocolError>,
        /// What became of the request.
        outcome: Outcome,
    },
    /// The answer is longer than [`Config::max_result`](super::Config::max_result). The connection is closed.
    #[error("collect an answer of mysql: more than {limit} bytes of rows ({outcome})")]
    ResultTooLarge {
        /// The limit in bytes.
        limit: usize,
        /// What became of the request.
        outcome: Outcome,
    },
    /// The rows are not of the type that was asked for. The request was carried out.
    #[error("decode an answer of mysql: {0}")]
    Decode(DecodeError),
    /// The answer has fewer results than were asked for. The request was carried out.
    #[error("decode an answer of mysql: {found} results were read as {expected}")]
    Results {
        /// How many were asked for.
        expected: usize,
        /// How many there were.
        found: usize,
    },
    /// Other parameters than the statement has, or a value that cannot be written. Nothing was sent.
    #[error("write a statement: {0}")]
    Statement(Arc<FormatError>),
    /// The request is larger than the server takes. Nothing was sent.
    #[error("write a statement: {0}")]
    TooLarge(TooLarge),
    /// The transaction is over: a statement has committed it by itself, or a deadlock has rolled it back. Nothing was sent.
    #[error("run within a transaction: it is over")]
    NoTransaction,
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
    #[error("connection with mysql at {address} was lost: {source} ({outcome})")]
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
    /// The pool or the connection is closed. Nothing was sent.
    #[error("mysql: closed")]
    Closed,
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
            Self::Server(_) => ErrorKind::Server,
            Self::Protocol { .. } | Self::ResultTooLarge { .. } => ErrorKind::Protocol,
            Self::Decode(_) | Self::Results { .. } => ErrorKind::Decode,
            Self::Statement(_) | Self::TooLarge(_) | Self::NoTransaction => ErrorKind::Request,
            Self::Timeout { .. } => ErrorKind::Timeout,
            Self::Lost { .. } => ErrorKind::Lost,
            Self::Full { .. } | Self::NoneIdle => ErrorKind::Full,
            Self::Closed => ErrorKind::Closed,
        }
    }

    /// Whom it blames.
    pub fn blame(&self) -> Blame {
        match self.kind() {
            ErrorKind::Config
            | ErrorKind::Auth
            | ErrorKind::Server
            | ErrorKind::Decode
            | ErrorKind::Request
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
            Self::Server(_) | Self::Decode(_) | Self::Results { .. } => Outcome::Replied,
            Self::Protocol { outcome, .. }
            | Self::ResultTooLarge { outcome, .. }
            | Self::Timeout { outcome, .. }
            | Self::Lost { outcome, .. } => *outcome,
            _ => Outcome::NotSent,
        }
    }

    /// Whether a deadline passed.
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::Timeout { .. })
    }

    /// Whether the pool or the connection is closed.
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Closed)
    }

    /// What the server said, if it answered with an error: its number and SQLSTATE.
    pub fn server(&self) -> Option<&ServerError> {
        match self {
            Self::Server(error) => Some(error),
            Self::Auth { source, .. } | Self::Handshake { source, .. } => match &**source {
                HandshakeError::Server(error) => Some(error),
                _ => None,
            },
            _ => None,
        }
    }

    /// The same failure, as another request on the same connection suffered it.
    #[must_use]
    pub(crate) fn with_outcome(mut self, became: Outcome) -> Self {
        if let Self::Protocol { outcome, .. }
        | Self::ResultTooLarge { outcome, .. }
        | Self::Timeout { outcome, .. }
        | Self::Lost { outcome, .. } = &mut self
        {
            *outcome = became;
        }
        self
    }

    pub(crate) fn config(reason: impl Into<Arc<str>>) -> Self {
        Self::Config(reason.into())
    }
}

impl From<DecodeError> for Error {
    fn from(error: DecodeError) -> Self {
        Self::Decode(error)
    }
}

impl From<TooLarge> for Error {
    fn from(error: TooLarge) -> Self {
        Self::TooLarge(error)
    }
}

impl From<ExecuteError> for Error {
    fn from(error: ExecuteError) -> Self {
        match error {
            ExecuteError::TooLarge(error) => Self::TooLarge(error),
            ExecuteError::ParamCount { expected, given } => {
                FormatError::ParamCount { expected, given }.into()
            }
            error => Self::config(error.to_string()),
        }
    }
}

impl From<FormatError> for Error {
    fn from(error: FormatError) -> Self {
        match error {
            FormatError::TooLarge(error) => Self::TooLarge(error),
            error => Self::Statement(Arc::new(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_small_enough_to_be_returned_with_every_result() {
        assert!(size_of::<Error>() <= 32, "{}", size_of::<Error>());
    }
}
