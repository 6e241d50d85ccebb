//! The Redis protocol, RESP2 and RESP3, without IO.

pub mod server;
