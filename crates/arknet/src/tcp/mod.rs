//! TCP, and Unix domain sockets, which are used in the same way; both also with TLS.
//!
//! A [`Server`] accepts, a [`Client`] connects and connects again, [`connect`] makes one connection for a caller who owns
//! it. Each comes in two styles: callbacks, with a [`Handler`](crate::Handler) or a closure, and async code, with a
//! [`Connection`](crate::Connection).

mod address;
mod client;
mod config;
mod dial;
mod server;

pub use address::{Address, ToAddress};
pub use client::{Client, connect};
pub use config::{ClientConfig, Keepalive, ServerConfig};
pub use server::Server;

pub use arknet_proto::framing::{Framer, Framing, FramingError};
pub use arknet_proto::reconnect::{Backoff, ReconnectPolicy};

pub use crate::endpoint::{Error, ErrorKind};
