//! arknet.

#[cfg(feature = "tls")]
pub mod tls;
