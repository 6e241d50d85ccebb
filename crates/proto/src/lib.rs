//! Sans-IO engines of arknet: framing, send queues, the life of a session, timers, reconnect policy.
//!
//! Nothing here owns a socket, a clock, a thread or a task: bytes and instants go in; bytes, events and the next deadline
//! come out. The crate's `clippy.toml` and a test over its dependency tree prove it. [`engine`] has the contract.
#![forbid(unsafe_code)]
#![deny(
    clippy::iter_over_hash_type,
    clippy::disallowed_methods,
    clippy::disallowed_types
)]

pub mod buf;
pub mod endpoint;
pub mod engine;
pub mod framing;
#[cfg(feature = "mysql")]
pub mod mysql;
pub mod pool;
pub mod reconnect;
pub mod redis;
pub mod session;
pub mod time;
pub mod uri;
