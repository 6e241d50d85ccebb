//! The network of an owner: the contracts once more, with real sockets.

mod cancel;
mod client;
mod drain;
mod drops;
mod fairness;
mod flow;
mod order;
mod panics;
mod replay;
mod rig;
mod sends;
#[cfg(feature = "tls")]
mod transports;
