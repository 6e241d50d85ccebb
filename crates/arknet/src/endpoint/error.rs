//! What can go wrong with a stream endpoint, and who is to blame.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use arknet_proto::buf::SendLimits;
use arknet_proto::framing::{FramingError, InvalidFraming};
use bytes::Bytes;

use crate::error::Blame;
use crate::io::tokio::PeerAddress;
use crate::lanes::LanesError;
use crate::link::InvalidAddress;

/// What kind of error it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An address could not be read or resolved.
    Address,
    /// A socket could not be bound.
    Bind,
    /// No connection could be made.
    Connect,
    /// A deadline passed.
    Timeout,
    /// The transport failed while connected.
    Io,
    /// The peer broke the framing.
    Framing,
    /// TLS refused.
    Tls,
    /// The connection or endpoint is closed.
    Closed,
    /// A handler panicked.
    Panic,
    /// A configuration cannot work.
    Config,
    /// The lanes refused.
    Lanes,
}

/// Why an endpoint could not start, or a connection ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is no address.
    #[error("{text:?} is not an address: {reason}")]
    Address {
        /// What was given.
        text: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The name has no address.
    #[error("resolve {host}: {source}")]
    Resolve {
        /// The name.
        host: String,
        /// What the resolver said.
        source: io::Error,
    },
    /// The address cannot be bound.
    #[error("bind {address}: {source}")]
    Bind {
        /// What was tried.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// None of the addresses answered; the error is the last one's.
    #[error("connect to {address}: {source}")]
    Connect {
        /// What was tried.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// It took too long to connect, from the name's resolution to the last handshake.
    #[error("connect to {address}: not connected within {within:?}")]
    ConnectTimeout {
        /// What was tried.
        address: String,
        /// The limit.
        within: Duration,
    },
    /// The transport failed.
    #[error("{doing} {peer}: {source}")]
    Io {
        /// What was being done, for example `receive from`.
        doing: &'static str,
        /// The other end.
        peer: Peer,
        /// What the system said.
        source: io::Error,
    },
    /// The peer broke a rule of the framing.
    #[error("receive from {peer}: {source}")]
    Framing {
        /// The other end.
        peer: Peer,
        /// The rule and the limit.
        source: FramingError,
    },
    /// TLS refused the peer, or the peer refused us.
    #[cfg(feature = "tls")]
    #[error("tls with {peer}: {source}")]
    Tls {
        /// The other end.
        peer: Peer,
        /// The reason.
        source: crate::tls::Error,
    },
    /// The TLS handshake took too long.
    #[error("tls with {peer}: handshake not done within {within:?}")]
    HandshakeTimeout {
        /// The other end.
        peer: Peer,
        /// The limit.
        within: Duration,
    },
    /// The peer was silent for too long.
    #[error("{peer} was silent for {limit:?}")]
    Silence {
        /// The other end.
        peer: Peer,
        /// The limit.
        limit: Duration,
    },
    /// The connection is closed.
    #[error("connection with {peer} is closed")]
    Closed {
        /// The other end.
        peer: Peer,
    },
    /// A handler or task panicked; its connection was closed.
    #[error("handler of {peer} panicked: {message}")]
    Panic {
        /// The other end.
        peer: Peer,
        /// What it said.
        message: String,
    },
    /// A framing that cannot work was configured.
    #[error("framing: {0}")]
    InvalidFraming(#[from] InvalidFraming),
    /// A value of a configuration is out of its range.
    #[error("configuration: {0}")]
    Config(&'static str),
    /// The lanes refused.
    #[error(transparent)]
    Lanes(#[from] LanesError),
}

impl Error {
    /// What kind it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Address { .. } | Self::Resolve { .. } => ErrorKind::Address,
            Self::Bind { .. } => ErrorKind::Bind,
            Self::Connect { .. } => ErrorKind::Connect,
            Self::ConnectTimeout { .. } | Self::HandshakeTimeout { .. } | Self::Silence { .. } => {
                ErrorKind::Timeout
            }
            Self::Io { .. } => ErrorKind::Io,
            Self::Framing { .. } => ErrorKind::Framing,
            #[cfg(feature = "tls")]
            Self::Tls { .. } => ErrorKind::Tls,
            Self::Closed { .. } => ErrorKind::Closed,
            Self::Panic { .. } => ErrorKind::Panic,
            Self::InvalidFraming(_) | Self::Config(_) => ErrorKind::Config,
            Self::Lanes(_) => ErrorKind::Lanes,
        }
    }

    /// Whom it blames.
    pub fn blame(&self) -> Blame {
        match self.kind() {
            ErrorKind::Address | ErrorKind::Bind | ErrorKind::Config | ErrorKind::Lanes => {
                Blame::Caller
            }
            ErrorKind::Framing | ErrorKind::Tls => Blame::Peer,
            ErrorKind::Panic => Blame::Bug,
            ErrorKind::Connect | ErrorKind::Timeout | ErrorKind::Io | ErrorKind::Closed => {
                Blame::Network
            }
        }
    }

    /// Whether a deadline passed.
    pub fn is_timeout(&self) -> bool {
        self.kind() == ErrorKind::Timeout
    }

    /// Whether the connection was closed already.
    pub fn is_closed(&self) -> bool {
        self.kind() == ErrorKind::Closed
    }
}

impl From<InvalidAddress> for Error {
    fn from(InvalidAddress { text, reason }: InvalidAddress) -> Self {
        Self::Address { text, reason }
    }
}

/// The other end of a connection, in an error.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Peer(pub(crate) Option<PeerAddress>);

impl Peer {
    pub(crate) fn new(address: Option<PeerAddress>) -> Self {
        Self(address)
    }

    /// Its address, if it was known.
    pub fn address(&self) -> Option<&PeerAddress> {
        self.0.as_ref()
    }
}

impl std::fmt::Display for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Some(address) => address.fmt(f),
            None => f.write_str("the peer"),
        }
    }
}

/// Why a connection ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CloseReason {
    /// This side closed it, gracefully.
    Local,
    /// This side cut it.
    Aborted,
    /// The peer ended its stream.
    Peer,
    /// Something went wrong.
    Error(Arc<Error>),
}

impl CloseReason {
    /// The error, if it ended with one.
    pub fn error(&self) -> Option<&Error> {
        match self {
            Self::Error(error) => Some(error),
            _ => None,
        }
    }
}

impl std::fmt::Display for CloseReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Local => f.write_str("closed by this side"),
            Self::Aborted => f.write_str("cut by this side"),
            Self::Peer => f.write_str("closed by the peer"),
            Self::Error(error) => error.fmt(f),
        }
    }
}

/// Why a send was refused, or did not complete.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The connection is not open. Nothing was sent.
    #[error("send: not connected")]
    NotConnected,
    /// There is no room in the queue. Nothing was sent.
    #[error(
        "send: queue is full: {bytes} bytes in {operations} operations wait, of at most {} bytes and {} operations",
        .limits.bytes, .limits.operations
    )]
    QueueFull {
        /// Bytes that wait.
        bytes: usize,
        /// Operations that wait.
        operations: usize,
        /// The limits.
        limits: SendLimits,
        /// The message, if it was an owned one.
        message: Option<Bytes>,
    },
    /// The framing cannot carry this payload. Nothing was sent.
    #[error("send: {0}")]
    Framing(#[from] FramingError),
    /// The function that was to write a message of this length wrote less. Nothing was sent.
    #[error("send: a message of {length} bytes was announced, and {written} were written")]
    Unfinished {
        /// What was announced.
        length: usize,
        /// What was written.
        written: usize,
    },
    /// The connection that the message was accepted on is gone. Part of it may have been sent; it is never sent on
    /// another connection.
    #[error("send: connection {generation} was lost")]
    ConnectionLost {
        /// Which connection of the endpoint.
        generation: u64,
    },
    /// Too many functions wait to run on the connection's lane.
    #[error("post: {limit} functions wait already")]
    TooManyPosts {
        /// The limit.
        limit: usize,
    },
}

impl SendError {
    /// Whether there was no room.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::QueueFull { .. } | Self::TooManyPosts { .. })
    }

    /// Whether the connection is not open, or no longer.
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::NotConnected | Self::ConnectionLost { .. })
    }

    /// Whom it blames.
    pub fn blame(&self) -> Blame {
        match self {
            Self::NotConnected | Self::ConnectionLost { .. } => Blame::Network,
            _ => Blame::Caller,
        }
    }

    /// The message that was refused, if it was an owned one.
    pub fn into_message(self) -> Option<Bytes> {
        match self {
            Self::QueueFull { message, .. } => message,
            _ => None,
        }
    }

    pub(crate) fn with_payload(self, payload: &super::payload::Payload<'_>) -> Self {
        match payload {
            super::payload::Payload::Borrowed(_) => self,
            owned => self.with_message(owned.clone().into_bytes()),
        }
    }

    pub(crate) fn with_message(mut self, bytes: Bytes) -> Self {
        if let Self::QueueFull { message, .. } = &mut self {
            *message = Some(bytes);
        }
        self
    }
}
