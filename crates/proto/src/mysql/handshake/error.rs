//! Why a handshake failed.

use super::config::InvalidConfig;
use crate::mysql::auth::AuthError;
use crate::mysql::error::{ProtocolError, ServerError};

/// A connection was not established. It can only be closed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HandshakeError {
    /// The server refused: a wrong password, no such schema, too many connections.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The server broke a rule of the protocol.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// The client would not do what the server asked for.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// TLS is required, and the server does not have it. Nothing secret was sent.
    #[error("the server does not offer TLS, which is required")]
    NoTls,
    /// The server is too old for this library.
    #[error("the server does not offer {what}")]
    Unsupported {
        /// What is missing.
        what: &'static str,
    },
    /// The configuration cannot be sent.
    #[error(transparent)]
    Config(#[from] InvalidConfig),
}
