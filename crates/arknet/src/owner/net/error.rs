//! What can go wrong when an endpoint of an owner starts.

use crate::endpoint::Error;
use crate::error::Blame;
use crate::owner::error::RejectReason;

/// Why an endpoint of an owner could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The endpoint itself: its address, its configuration.
    #[error(transparent)]
    Endpoint(#[from] Error),
    /// The owner takes no more.
    #[error("start an endpoint: {0}")]
    Rejected(#[from] RejectReason),
}

impl StartError {
    /// Whom it blames.
    pub fn blame(&self) -> Blame {
        match self {
            Self::Endpoint(error) => error.blame(),
            Self::Rejected(_) => Blame::Caller,
        }
    }

    /// Whether the owner or the group has ended.
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Rejected(RejectReason::Closed { .. }))
    }
}
