//! What a peer can do wrong, and what a server can say.

use std::fmt;

use super::wire::Reader;

/// The longest error text that is kept, in bytes. Servers write 512 at most.
const MAX_MESSAGE: usize = 4096;

/// A rule of the protocol that the peer broke. The position in the stream is lost: the connection can only be closed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// A packet has the wrong number: one was lost, or belongs to something else.
    #[error("packet number {got} came where number {expected} was due")]
    OutOfSequence {
        /// The number that was due.
        expected: u8,
        /// The number that came.
        got: u8,
    },
    /// A packet larger than [`Limits::max_packet`](super::Limits::max_packet).
    #[error("packet of at least {len} bytes exceeds the limit of {limit} bytes")]
    PacketTooLarge {
        /// Bytes announced so far.
        len: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// A packet that does not have the form it must have.
    #[error("malformed {what}")]
    Malformed {
        /// What was being read.
        what: &'static str,
    },
    /// A packet that may not come here.
    #[error("{what} where {due} was due")]
    Unexpected {
        /// What came.
        what: &'static str,
        /// What was due.
        due: &'static str,
    },
    /// Bytes that nothing asked for.
    #[error("{len} bytes came without a request")]
    Unsolicited {
        /// How many.
        len: usize,
    },
    /// More columns than [`Limits::max_columns`](super::Limits::max_columns).
    #[error("result set of {count} columns exceeds the limit of {limit}")]
    TooManyColumns {
        /// How many were announced.
        count: u64,
        /// The limit.
        limit: usize,
    },
    /// Column definitions longer than [`Limits::max_definitions`](super::Limits::max_definitions).
    #[error("column definitions exceed the limit of {limit} bytes")]
    DefinitionsTooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// More rows than [`Limits::max_rows`](super::Limits::max_rows).
    #[error("result set exceeds the limit of {limit} rows")]
    TooManyRows {
        /// The limit.
        limit: u64,
    },
    /// More results than [`Limits::max_results`](super::Limits::max_results).
    #[error("answer exceeds the limit of {limit} results")]
    TooManyResults {
        /// The limit.
        limit: u32,
    },
    /// The server asked for a local file, which nobody allowed.
    #[error("the server asked for a local file, which is not allowed")]
    LocalInfile,
    /// The peer ended its stream where more had to come.
    #[error("the stream ended inside {what}")]
    UnexpectedEnd {
        /// What was unfinished.
        what: &'static str,
    },
}

impl ProtocolError {
    pub(crate) const fn malformed(what: &'static str) -> Self {
        Self::Malformed { what }
    }
}

/// The server said no.
///
/// Its text is the server's own and may quote the statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerError {
    code: u16,
    state: [u8; 5],
    message: String,
}

impl ServerError {
    /// An error as a server makes it. `state` is the SQLSTATE, `HY000` where there is none better.
    #[must_use]
    pub fn new(code: u16, state: [u8; 5], message: impl Into<String>) -> Self {
        Self {
            code,
            state,
            message: message.into(),
        }
    }

    /// Reads an error packet, from its first byte 0xff on. Before the handshake it carries no SQLSTATE.
    pub(crate) fn parse(packet: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(packet);
        if reader.u8()? != 0xff {
            return None;
        }
        let code = reader.u16()?;
        let mut state = *b"HY000";
        if reader.peek() == Some(b'#') {
            reader.u8()?;
            state.copy_from_slice(reader.take(5)?);
        }
        let text = reader.rest();
        let text = text.get(..MAX_MESSAGE).unwrap_or(text);
        Some(Self {
            code,
            state,
            message: String::from_utf8_lossy(text).into_owned(),
        })
    }

    /// The server's error number, such as 1062 for a duplicate key.
    #[must_use]
    pub fn code(&self) -> u16 {
        self.code
    }

    /// The SQLSTATE, such as `23000`; `HY000` where the server gave none.
    #[must_use]
    pub fn state(&self) -> &str {
        std::str::from_utf8(&self.state).unwrap_or("HY000")
    }

    pub(crate) fn state_bytes(&self) -> [u8; 5] {
        self.state
    }

    /// The server's text, at most 4 KiB of it.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Whether it says that this server has become read-only, as a primary does that was failed over (1290, 1792,
    /// 1836): the connection should be given up, so that the next one finds the new primary.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        matches!(self.code, 1290 | 1792 | 1836)
    }

    /// Whether the server ends the connection with it: too many connections (1040, 1203), shutdown (1053, 1077, 1079),
    /// killed (1927, 3168), idle for too long (4031), packets that it could not take (1153 to 1161), handshake (1043),
    /// access denied to a host (1129, 1130).
    #[must_use]
    pub fn ends_connection(&self) -> bool {
        matches!(
            self.code,
            1040 | 1043 | 1053 | 1077 | 1079 | 1129 | 1130 | 1153
                ..=1161 | 1203 | 1927 | 3168 | 4031
        )
    }

    /// Whether a prepared statement must be prepared anew (1615, `ER_NEED_REPREPARE`); it was not executed.
    #[must_use]
    pub fn needs_reprepare(&self) -> bool {
        self.code == 1615
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "server error {} ({}): {}",
            self.code,
            self.state(),
            self.message
        )
    }
}

impl std::error::Error for ServerError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_read_with_and_without_a_state() {
        let with = ServerError::parse(b"\xff\x48\x04#HY000No tables used").unwrap();
        assert_eq!(with, ServerError::new(1096, *b"HY000", "No tables used"));
        assert_eq!(
            with.to_string(),
            "server error 1096 (HY000): No tables used"
        );
        let without = ServerError::parse(b"\xff\x10\x04Too many connections").unwrap();
        assert_eq!((without.code(), without.state()), (1040, "HY000"));
        assert_eq!(without.message(), "Too many connections");
        assert!(without.ends_connection());
    }

    #[test]
    fn a_cut_error_is_none_and_a_long_one_is_cut() {
        for cut in [
            &b""[..],
            b"\xff",
            b"\xff\x10",
            b"\xff\x10\x04#HY0",
            b"\x00\x10\x04",
        ] {
            assert_eq!(ServerError::parse(cut), None);
        }
        let mut long = b"\xff\x10\x04".to_vec();
        long.resize(100_000, b'x');
        assert_eq!(
            ServerError::parse(&long).unwrap().message().len(),
            MAX_MESSAGE
        );
    }
}
