//! Connected byte streams for what speaks a protocol: addresses, dialing, and the transport with or without TLS.
//!
//! Endpoints and database clients stand on this, and so share one way to resolve a name, to race its addresses and to
//! pump TLS records. It knows bytes, and nothing of what they mean. What is above and no endpoint has its clock, its timers
//! and its buffers from here.

mod address;
mod dial;
mod timer;
mod transport;

use std::collections::hash_map::RandomState;
use std::future::{Future, poll_fn};
use std::hash::BuildHasher;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

pub use address::{Address, InvalidAddress, ToAddress};
pub(crate) use dial::{DialError, Dialer, Place};
pub(crate) use timer::{RuntimeEnded, Timer};
#[cfg(feature = "tls")]
pub(crate) use transport::Secure;
pub(crate) use transport::{Transport, TransportError};

pub(crate) use crate::io::tokio::{Deadline, Keepalive, TcpOptions};
pub(crate) use crate::io::{after, now};

/// Polls once, for somebody who does not wait: nobody is woken later, and the budget of the task that this may run in is
/// no matter.
pub(crate) fn at_once<T>(poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> Poll<T> {
    let mut cx = Context::from_waker(Waker::noop());
    pin!(tokio::task::unconstrained(poll_fn(poll))).poll(&mut cx)
}

/// Bits for jitter, good enough that many clients and pools do not do everything at the same time.
pub(crate) fn random() -> u64 {
    RandomState::new().hash_one(0)
}
