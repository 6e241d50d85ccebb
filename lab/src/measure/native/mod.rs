//! Bare IO without our endpoints: what a careful programmer gets by hand.
//!
//! Two styles do the same work on the same buffers ([`ends`]): state machines driven by readiness
//! ([`mio_machine`], and [`epoll_machine`] when several threads share the connections) and tasks
//! ([`tokio_machine`]). They are the peers that our library is measured against, so they do what is
//! known to be fastest: no allocation and no copy per message, reads that offer more room than is
//! needed (a short read proves the socket empty and saves a second call), one write for all answers
//! to one read, one clock reading a turn.

pub mod buffer;
pub mod ends;
#[cfg(target_os = "linux")]
pub mod epoll_machine;
pub mod mio_machine;
pub mod pairs;
pub mod tokio_machine;

use super::config::{Execution, IoModel, TransportConfig};
use super::{Error, Measurement};

/// Makes one measurement with the machine that fits the configuration.
///
/// # Errors
/// As [`measure::transport`](super::transport) does.
pub fn run(config: &TransportConfig) -> Result<Measurement, Error> {
    match (config.execution, config.io_model, config.io_threads) {
        (Execution::Async, _, _) => tokio_machine::run(config),
        (Execution::Callback, IoModel::Shared, 2..) => shared_by_threads(config),
        (Execution::Callback, _, _) => mio_machine::run(config),
    }
}

#[cfg(target_os = "linux")]
fn shared_by_threads(config: &TransportConfig) -> Result<Measurement, Error> {
    epoll_machine::run(config)
}

#[cfg(not(target_os = "linux"))]
fn shared_by_threads(_: &TransportConfig) -> Result<Measurement, Error> {
    Err(Error::Unsupported(
        "callbacks on several threads that share connections need Linux",
    ))
}
