//! TCP, and Unix domain sockets, which are used in the same way; both also with TLS.
//!
//! A [`Server`] accepts, a [`Client`] connects and connects again, [`connect`] makes one connection for a caller who owns
//! it. Each comes in two styles: callbacks, with a [`Handler`](crate::Handler) or a closure, and async code, with a
//! [`Connection`](crate::Connection).
//!
//! What a message is, the framing says, and both ends must agree on it:
//!
//! ```
//! use arknet::tcp::{ClientConfig, Framing, ServerConfig};
//!
//! // Lines. What is received includes the end, and what is sent must bring its own.
//! let lines = Framing::delimited("\r\n")?;
//! // Any bytes, behind a big-endian length of two bytes, up to 16,000 of them.
//! let packets = Framing::big_endian(2, 16_000)?;
//!
//! let server = ServerConfig::new().framing(packets.clone()).max_message(16_002);
//! let client = ClientConfig::new().framing(packets);
//! # let _ = (lines, server, client);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod client;
mod config;
mod dial;
mod server;

pub use client::{Client, connect};
#[cfg(feature = "owner")]
pub(crate) use config::Admission;
pub use config::{ClientConfig, Keepalive, ServerConfig};
pub use server::Server;

pub use arknet_proto::framing::{
    Delimiter, Frame, Framer, Framing, FramingError, InvalidFraming, Prefix, PrefixWidth, Step,
};
pub use arknet_proto::reconnect::{Backoff, ReconnectPolicy};

pub use crate::endpoint::{Error, ErrorKind};
pub use crate::link::{Address, InvalidAddress, ToAddress};
