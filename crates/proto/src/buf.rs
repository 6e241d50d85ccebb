//! Buffers with limits: what waits to be sent, and what has arrived and is not yet a whole message.
//!
//! A [`SendQueue`] is bounded in bytes and in operations, and knows where each operation ends, so that every one of
//! them completes exactly once however the transport cuts the bytes. An [`Inbound`] holds the receive buffer and the
//! decoder, and hands out messages as ranges of that buffer, or as `Bytes` that share it.

mod inbound;
mod send_queue;

pub use inbound::Inbound;
pub use send_queue::{Account, Completion, Full, MessageWriter, SendLimits, SendQueue};
