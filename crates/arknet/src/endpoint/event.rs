//! What an endpoint reports that belongs to no open session.

use std::fmt;
use std::io;
use std::sync::Arc;

use super::error::{CloseReason, Error};
use super::shared::SessionId;

/// Something that happened at a server or client, beside the life of its open sessions.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A connection could not be accepted, for want of file descriptors for example. It is tried again after a second.
    AcceptFailed {
        /// What the system said.
        error: &'a io::Error,
    },
    /// A connection was refused because there are too many.
    Refused {
        /// The limit.
        limit: usize,
    },
    /// A handshake failed; no session was opened.
    HandshakeFailed {
        /// Which one it would have been.
        session: SessionId,
        /// Why.
        error: &'a Error,
    },
    /// A session ended.
    Ended {
        /// Which one.
        session: SessionId,
        /// Why.
        reason: &'a CloseReason,
    },
}

/// A function that is told. It runs on whatever lane the event happened on, and should not block.
#[derive(Clone)]
pub(crate) struct Observer(pub(crate) Arc<dyn Fn(&Event<'_>) + Send + Sync>);

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}
