//! Watching a descriptor that is no socket.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use tokio::io::unix::AsyncFd;

/// Watches a descriptor, with the runtime that the caller runs in.
pub(crate) fn watch(descriptor: Arc<OwnedFd>) -> io::Result<AsyncFd<Arc<OwnedFd>>> {
    debug_assert!(descriptor.as_raw_fd() >= 0);
    // SAFETY: the descriptor is kept open by the `Arc` that the `AsyncFd` owns, which nobody takes out of it, so it stays
    // the same until it is deregistered.
    let watched = unsafe { AsyncFd::register(descriptor) };
    watched.map_err(io::Error::from)
}
