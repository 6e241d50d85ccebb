//! What can go wrong with lanes.

use std::io;

/// Why lanes could not be made or run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LanesError {
    /// The number of threads is out of range.
    #[error("{asked} threads asked for, of 1 to {most}")]
    Threads {
        /// What was asked for.
        asked: usize,
        /// The most that is allowed.
        most: usize,
    },
    /// The system refused a thread or a reactor.
    #[error("cannot start a lane: {0}")]
    Start(#[source] io::Error),
    /// `Lanes::current()` was called outside of a tokio runtime.
    #[error("no tokio runtime here: call Lanes::current() inside of one, or use other lanes")]
    NoRuntime,
    /// Spinning was asked for on lanes that do not have a thread of their own each.
    #[error("only lanes with a thread of their own can spin: sharded(n), or shared(1)")]
    Spin,
    /// Lanes with threads were polled.
    #[error("only manual lanes are polled; these have threads of their own")]
    NotManual,
    /// A wait was asked for where it would block a runtime.
    #[error("inside of a runtime, a callback or a task, where waiting would block it")]
    InsideRuntime,
    /// A wait was asked for inside of an owner's update, where it would hold the world.
    #[error(
        "inside of an owner's update, where waiting would hold its world: await in a task instead"
    )]
    OnOwner,
    /// A manual lane is being polled by another thread.
    #[error("another thread is polling this lane")]
    Busy,
}
