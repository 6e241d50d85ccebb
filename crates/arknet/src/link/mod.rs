//! Connected byte streams for what speaks a protocol: addresses, dialing, and the transport with or without TLS.
//!
//! Endpoints and database clients stand on this, and so share one way to resolve a name, to race its addresses and to
//! pump TLS records. It knows bytes, and nothing of what they mean. What is above and no endpoint has its clock, its timers
//! and its buffers from here.

mod address;
mod dial;
#[cfg(any(feature = "redis", feature = "mysql"))]
mod security;
#[cfg(any(feature = "redis", feature = "mysql"))]
pub(crate) mod storage;
mod timer;
mod transport;
#[cfg(any(feature = "redis", feature = "mysql"))]
mod wire;

use std::collections::hash_map::RandomState;
use std::future::{Future, poll_fn};
use std::hash::BuildHasher;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
#[cfg(any(feature = "redis", feature = "mysql"))]
use std::time::Duration;

pub use address::{Address, InvalidAddress, ToAddress};
pub(crate) use dial::{DialError, Dialer, Place};
#[cfg(all(feature = "tls", any(feature = "redis", feature = "mysql")))]
pub(crate) use security::Tls;
#[cfg(any(feature = "redis", feature = "mysql"))]
pub use security::TlsMode;
pub(crate) use timer::{RuntimeEnded, Timer};
#[cfg(feature = "tls")]
pub(crate) use transport::Secure;
pub(crate) use transport::{Transport, TransportError};
#[cfg(any(feature = "redis", feature = "mysql"))]
pub(crate) use wire::Wire;

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

/// A time as a URL has it: `250ms`, `1.5s`, or seconds without a unit.
#[cfg(any(feature = "redis", feature = "mysql"))]
pub(crate) fn read_duration(text: &str) -> Option<Duration> {
    let (digits, unit) = match text.strip_suffix("ms") {
        Some(digits) => (digits, 1e-3),
        None => (text.strip_suffix('s').unwrap_or(text), 1.0),
    };
    let seconds = digits.parse::<f64>().ok()? * unit;
    Duration::try_from_secs_f64(seconds).ok()
}
