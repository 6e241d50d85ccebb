//! Networking for servers whose state is owned by one thread.
#![doc = ""]
pub mod lanes;

mod drive;
mod endpoint;
mod io;
#[cfg(feature = "tcp")]
pub mod tcp;
#[cfg(feature = "tls")]
pub mod tls;

pub use bytes::Bytes;
pub use endpoint::{
    Blame, CloseReason, Connection, Error, ErrorKind, Event, Handler, Payload, Peer, SendError,
    SendFilter, Session, SessionHandle, SessionId, Shutdown, ShutdownReport, TimerKey,
};
pub use io::tokio::PeerAddress;
pub use lanes::{Lanes, LanesError, LanesReport};
