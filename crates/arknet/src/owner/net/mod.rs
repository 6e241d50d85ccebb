//! The network of an owner: servers and clients whose events are delivered in its updates, in order, and whose sessions
//! belong to its thread.
//!
//! A [`Server`] accepts, a [`Client`] connects; both over TCP, TLS or Unix domain sockets, in two styles. With callbacks, a
//! [`Handler`] is called with the world. With async code, a task of the owner has a [`Connection`] and receives from it.
//!
//! * **Order.** Of each session: opened, its messages, closed, and nothing after that.
//! * **Fairness.** Sessions have their turns, 16 messages each; all of them together have theirs beside databases, timers and
//!   tasks.
//! * **Bounds.** Of each session, [`Limits::inbox_events`](crate::owner::Limits::inbox_events) messages and
//!   [`Limits::inbox_bytes`](crate::owner::Limits::inbox_bytes) wait for the owner; then its socket is not read until half of
//!   them have been delivered, and its peer is slowed down.
//! * **Sends** append to a buffer of the owner's thread and leave together when the update ends. There is no lock for each,
//!   and no system call while the lane is busy.
//! * **A drain** lets everything that has arrived be delivered, then closes the sessions, in turn with
//!   [finalisers](crate::owner::Cx::on_drain): one that was registered after the server started runs before its sessions
//!   are closed, and can say goodbye; one that was registered before runs when they have ended.

mod buffers;
mod client;
mod connection;
mod drained;
mod endpoint;
mod error;
mod handler;
mod line;
mod packed;
mod record;
mod server;
mod session;
mod stream;
mod wire;

pub use client::Client;
pub use connection::Connection;
pub use error::StartError;
pub use handler::Handler;
pub use server::Server;
pub use session::{Session, SessionId};

use crate::endpoint::{Payload, SendError};

/// An owned copy of a broadcast from this size on is shared between the sessions.
const SHARED_LEAST: usize = 8 << 10;

/// Sends a message to several sessions; a large one is shared, not copied for each. Those that did not take it are returned,
/// with the reason.
pub fn broadcast<'a, 's>(
    sessions: impl IntoIterator<Item = &'s Session>,
    payload: impl Into<Payload<'a>>,
) -> Vec<(Session, SendError)> {
    let payload = match payload.into() {
        large if large.len() >= SHARED_LEAST => Payload::Owned(large.into_bytes()),
        small => small,
    };
    let mut refused = Vec::new();
    for session in sessions {
        // A small one is borrowed, a large one shared.
        let sent = match &payload {
            Payload::Owned(bytes) if bytes.len() >= SHARED_LEAST => session.send(bytes.clone()),
            small => session.send(small.as_slice()),
        };
        if let Err(error) = sent {
            refused.push((session.clone(), error));
        }
    }
    refused
}
