//! Loops that move bytes between an engine and a socket. They know no protocol.

pub(crate) mod pool;
pub(crate) mod stream;
