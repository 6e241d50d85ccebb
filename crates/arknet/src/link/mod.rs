//! Connected byte streams for what speaks a protocol: addresses, dialing, and the transport with or without TLS.
//!
//! Endpoints and database clients stand on this, and so share one way to resolve a name, to race its addresses and to
//! pump TLS records. It knows bytes, and nothing of what they mean. What is above imports the clock and the timers from
//! here, never from `io`.

pub(crate) mod address;
pub(crate) mod dial;
pub(crate) mod transport;

pub use address::{Address, InvalidAddress, ToAddress};
pub(crate) use dial::{DialError, Dialer, Place};
#[cfg(feature = "tls")]
pub(crate) use transport::Secure;
pub(crate) use transport::{Transport, TransportError};
