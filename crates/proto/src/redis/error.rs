//! What can be wrong with a reply: the protocol is broken, the server says no, or the type does not fit.

use std::borrow::Cow;
use std::fmt;

use super::reply::ReplyKind;

/// A rule of RESP that the peer broke, or a limit that it exceeded.
///
/// Final: the position in the stream is lost, and the connection can only be closed. Always the peer's
/// fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// A reply began with a byte that begins none.
    #[error("reply of unknown type {:?}", char::from(*.byte))]
    UnknownType {
        /// The byte.
        byte: u8,
    },
    /// What should be a length is none.
    #[error("{of} with an invalid length")]
    InvalidLength {
        /// Of what.
        of: ReplyKind,
    },
    /// What stands on a line is not what its type allows.
    #[error("invalid {of}")]
    Invalid {
        /// What it should have been.
        of: ReplyKind,
    },
    /// A line or a payload does not end with CR and LF, or has one of them within.
    #[error("{of} does not end with a line break")]
    LineBreak {
        /// What should have ended.
        of: ReplyKind,
    },
    /// A line that does not end within the limit.
    #[error("line exceeds the limit of {limit} bytes")]
    LineTooLong {
        /// The limit in bytes.
        limit: usize,
    },
    /// A reply that cannot end within the limit.
    #[error("reply of at least {size} bytes exceeds the limit of {limit} bytes")]
    ReplyTooLarge {
        /// The least that it would have had, in bytes.
        size: u64,
        /// The limit in bytes.
        limit: usize,
    },
    /// More elements were announced than a reply may have.
    #[error("reply of at least {count} elements exceeds the limit of {limit}")]
    TooManyElements {
        /// Elements announced so far.
        count: u64,
        /// The limit.
        limit: usize,
    },
    /// Aggregates are nested too deeply.
    #[error("reply is nested more than {limit} deep")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// A push within another reply.
    #[error("push message within a reply")]
    NestedPush,
    /// A string or aggregate of unknown length. No server sends them, and they are not supported.
    #[error("streamed {of} is not supported")]
    Streamed {
        /// What was to be streamed.
        of: ReplyKind,
    },
}

/// The server's refusal of one request: an error reply.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ServerError {
    text: Box<str>,
}

impl ServerError {
    /// From the text of an error reply, without its type byte and line break. Bytes that are not UTF-8
    /// are replaced.
    pub fn new(text: &[u8]) -> Self {
        Self {
            text: String::from_utf8_lossy(text).into(),
        }
    }

    /// The first word, which names the kind by convention: `ERR`, `WRONGTYPE`, `NOSCRIPT`, `MOVED`.
    pub fn code(&self) -> &str {
        self.text.split(' ').next().unwrap_or_default()
    }

    /// What follows the code.
    pub fn message(&self) -> &str {
        self.text.split_once(' ').map_or("", |(_, message)| message)
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ServerError").field(&self.text).finish()
    }
}

impl std::error::Error for ServerError {}

/// A reply that is not what the caller's type needs. The connection is as it was.
///
/// It never contains a value, which may be a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// A reply of another type.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// What the type needs.
        expected: &'static str,
        /// What came.
        found: ReplyKind,
    },
    /// The right type of reply, with a value that does not fit: a number out of range, text that is no
    /// number or not UTF-8.
    #[error("{found} is not {expected}")]
    Unfit {
        /// What the type needs.
        expected: &'static str,
        /// What came.
        found: ReplyKind,
    },
    /// An aggregate with more or fewer elements than the type has places.
    #[error("expected {expected} elements, found {found}")]
    Length {
        /// How many the type needs.
        expected: usize,
        /// How many came.
        found: usize,
    },
    /// A field of a structure is not in the reply.
    #[error("field {field:?} of {of} is missing")]
    MissingField {
        /// The structure.
        of: &'static str,
        /// The field's name in the reply.
        field: &'static str,
    },
    /// The server said no.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// A rule of the caller's own type.
    #[error("{0}")]
    Custom(Cow<'static, str>),
    /// The bytes are not a reply. What a [`Scanner`](super::Scanner) has found never is.
    #[error("not a reply")]
    Malformed,
}

impl DecodeError {
    /// A broken rule of the caller's own type, in its own words.
    pub fn custom(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Custom(reason.into())
    }
}
