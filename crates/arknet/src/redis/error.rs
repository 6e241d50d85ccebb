//! What can go wrong with a request.

use arknet_proto::redis::{DecodeError, ServerError};

/// Why a request failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server said no.
    #[error("{0}")]
    Server(ServerError),
    /// The reply is not what the caller's type needs.
    #[error("{command}: {source}")]
    Decode {
        /// Of which command.
        command: String,
        /// What does not fit.
        source: DecodeError,
    },
}
