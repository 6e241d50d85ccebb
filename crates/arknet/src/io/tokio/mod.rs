//! The default back end: tokio's reactor.

mod deadline;
mod listener;
mod socket;
#[cfg(target_os = "linux")]
mod watch;

pub(crate) use deadline::Deadline;
pub(crate) use listener::{Accepted, Bound, Listener};
pub use socket::PeerAddress;
pub(crate) use socket::{Keepalive, Socket, TcpOptions};
#[cfg(target_os = "linux")]
pub(crate) use watch::watch;
