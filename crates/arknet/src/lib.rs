#![doc = include_str!("docs/crate.md")]

pub mod lanes;

mod drive;
mod endpoint;
mod io;
#[cfg(feature = "owner")]
pub mod owner;
#[cfg(feature = "owner")]
mod sync;
#[cfg(feature = "tcp")]
pub mod tcp;
#[cfg(feature = "tls")]
pub mod tls;

pub use arknet_proto::buf::{MessageWriter, SendLimits};
pub use bytes::Bytes;
pub use endpoint::{
    Blame, CloseReason, Connection, Error, ErrorKind, Event, Handler, Message, Outbox, Payload,
    Peer, SendError, SendFilter, Session, SessionHandle, SessionId, Shutdown, ShutdownReport,
    TimerKey,
};
pub use io::tokio::PeerAddress;
pub use lanes::{Lanes, LanesError, LanesReport};

/// The first programs of the README compile and run.
#[doc = include_str!("../README.md")]
#[cfg(all(doctest, feature = "tcp"))]
struct Readme;
