//! The traffic itself: what clients send, what servers and clients check, and what is counted.
//!
//! One generator, one validator and one work function for every implementation, without any IO, so
//! that two implementations differ in IO and in nothing else. Nothing here allocates per message,
//! and nothing reads the clock except where a batch begins and ends: callers pass one stamp for all
//! messages of a turn.

mod batch;
mod message;
mod pattern;
mod server;
mod windowed;

pub use self::batch::BatchClient;
pub use self::message::{HEADER, Header, MAGIC};
pub use self::pattern::Pattern;
pub use self::server::ServerTraffic;
pub use self::windowed::ClientTraffic;
