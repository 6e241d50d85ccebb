//! The state machines of a client's connection: how a session begins, what waits for which reply, what a user leaves
//! behind, and how that is undone.
//!
//! They take whole frames, as a [`Scanner`](super::Scanner) finds them, and give bytes for the wire. Each is for one
//! connection; a lost one leaves nothing to take over but what [`InFlight`] says about its requests.

mod dirt;
mod handshake;
mod heartbeat;
mod in_flight;
mod login;
mod requests;
mod reset;
mod step;
mod subscriptions;
#[cfg(test)]
mod tests;

pub use dirt::Dirt;
pub use handshake::{Handshake, HandshakeError, Progress};
pub use heartbeat::{Beat, Heartbeat};
pub use in_flight::{Answered, Fate, InFlight};
pub use login::{Login, Protocol, Speaks};
pub use requests::{Nature, Request, Requests};
pub use reset::{ResetError, ResetFlight, Resetting};
pub use subscriptions::{
    Heard, Publication, SubscriptionEvent, SubscriptionKind, Subscriptions, TooManySubscriptions,
    Unexpected,
};
