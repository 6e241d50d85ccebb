//! What all stream endpoints have in common: accepting, the life of a session, send admission, both styles, shutdown.
//!
//! Each connection is one task on one lane. It holds a `Core`: the session with its socket and send queue, and the
//! receive buffer. [`callbacks`] drives it for handlers, [`attached`] for async code; from anywhere else a
//! [`SessionHandle`] posts to its mailbox.

mod attached;
mod callbacks;
pub(crate) mod client;
mod connection;
mod core;
mod endpoint_timers;
mod error;
mod event;
mod handle;
mod handler;
mod inbox;
mod message;
mod open;
mod outbox;
mod payload;
mod registry;
pub(crate) mod server;
mod session;
mod shared;
mod shutdown;
pub(crate) mod style;
mod take;
mod timers;

pub use connection::Connection;
pub use error::{CloseReason, Error, ErrorKind, Peer, SendError};
pub use event::Event;
pub(crate) use event::Observer;
pub use handle::SessionHandle;
pub use handler::Handler;
pub use message::Message;
pub use outbox::Outbox;
pub use payload::Payload;
pub(crate) use session::SessionConfig;
pub use session::{SendFilter, Session};
#[cfg(feature = "owner")]
pub(crate) use shared::Called;
pub use shared::SessionId;
pub use shutdown::{Shutdown, ShutdownReport};
pub use timers::TimerKey;
