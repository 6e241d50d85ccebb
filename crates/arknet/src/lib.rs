#![doc = include_str!("docs/crate.md")]
// The lower layers serve all features: where one is off, some of what they have serves nobody. The build with all of
// them finds what is dead.
#![cfg_attr(
    not(all(
        feature = "mysql",
        feature = "owner",
        feature = "redis",
        feature = "tcp",
        feature = "tls"
    )),
    allow(
        dead_code,
        unreachable_pub,
        unused_imports,
        unused_variables,
        reason = "what a feature that is off would use"
    )
)]

pub mod lanes;

mod drive;
#[cfg(feature = "tcp")]
mod endpoint;
mod error;
mod io;
mod link;
mod meter;
#[cfg(feature = "mysql")]
pub mod mysql;
#[cfg(feature = "owner")]
pub mod owner;
pub mod pool;
#[cfg(feature = "redis")]
pub mod redis;
#[cfg(feature = "owner")]
mod sync;
#[cfg(feature = "tcp")]
pub mod tcp;
#[cfg(feature = "tls")]
pub mod tls;

pub use arknet_proto::buf::{MessageWriter, SendLimits};
pub use bytes::Bytes;
#[cfg(feature = "tcp")]
pub use endpoint::{
    CloseReason, Connection, Error, ErrorKind, Event, Handler, Message, Outbox, Payload, Peer,
    SendError, SendFilter, Session, SessionHandle, SessionId, Shutdown, ShutdownReport, TimerKey,
};
pub use error::{Blame, Outcome};
pub use io::tokio::PeerAddress;
pub use lanes::{Lanes, LanesError, LanesReport};

/// The first programs of the README compile and run.
#[doc = include_str!("../README.md")]
#[cfg(all(doctest, feature = "tcp"))]
struct Readme;
