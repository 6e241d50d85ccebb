//! What can go wrong with a request.

use arknet_proto::redis::{DecodeError, ServerError};

/// Why a request failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server said no.
    #[error("{command}: {source}")]
    Server {
        /// To which command.
        command: String,
        /// What it said.
        source: ServerError,
    },
    /// The reply is not what the caller's type needs.
    #[error("{command}: {source}")]
    Decode {
        /// Of which command.
        command: String,
        /// What does not fit.
        source: DecodeError,
    },
}

impl Error {
    /// Of a reply that could not be decoded: the server's own error, if it is one.
    #[cold]
    pub(crate) fn from_decode(command: &str, error: DecodeError) -> Self {
        let command = command.to_owned();
        match error {
            DecodeError::Server(source) => Self::Server { command, source },
            source => Self::Decode { command, source },
        }
    }
}
