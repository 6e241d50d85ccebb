//! What can go wrong with an owner, and what it refuses.

use std::any::Any;
use std::fmt;

use crate::lanes::LanesError;

/// Why an owner could not be made or updated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OwnerError {
    /// The lanes could not be started or polled: among others, an owner with [`Io::inline`](super::Io::inline) was
    /// updated inside of another runtime.
    #[error("the lanes of an owner: {0}")]
    Lanes(#[from] LanesError),
    /// The system refused a descriptor.
    #[error("cannot open a descriptor to wake an owner by: {0}")]
    Descriptor(#[source] std::io::Error),
    /// Updated from inside of an update, by another owner's callback or its own.
    #[error("an owner was updated inside of an update on this thread")]
    Nested,
    /// The owner has been drained.
    #[error("the owner has been drained and does nothing more")]
    Drained,
    /// A journal that is replayed has something next that did not come.
    #[error("the replay waits for {expected} at tick {tick}, which has not come")]
    Replay {
        /// The tick of the journal.
        tick: u64,
        /// What the journal has next.
        expected: String,
    },
}

/// Work that an owner did not take, given back.
pub struct Rejected<T> {
    /// What was to be done.
    pub operation: T,
    /// Why it was not taken.
    pub reason: RejectReason,
}

/// Why an owner did not take something.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RejectReason {
    /// As many operations as the limit allows are under way.
    #[error("{most} operations are under way, which is the limit of {of}")]
    Operations {
        /// The limit.
        most: usize,
        /// What it is a limit of.
        of: &'static str,
    },
    /// The payloads that wait are as large as the limit allows.
    #[error("{most} bytes wait for the owner, which is the limit of {of}")]
    Bytes {
        /// The limit.
        most: usize,
        /// What it is a limit of.
        of: &'static str,
    },
    /// The owner drains, has ended, or the group has been cancelled.
    #[error("{of} is closed")]
    Closed {
        /// What is closed.
        of: &'static str,
    },
}

impl<T> Rejected<T> {
    pub(crate) fn new(operation: T, reason: RejectReason) -> Self {
        Self { operation, reason }
    }

    /// Whether trying again later may help.
    pub fn is_full(&self) -> bool {
        !matches!(self.reason, RejectReason::Closed { .. })
    }
}

impl<T> fmt::Debug for Rejected<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rejected")
            .field("reason", &self.reason)
            .finish_non_exhaustive()
    }
}

impl<T> fmt::Display for Rejected<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "refused: {}", self.reason)
    }
}

impl<T> std::error::Error for Rejected<T> {}

/// Why an operation that was accepted has no result of its own.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Lost {
    /// It panicked on the lane or the thread that did it. It may have had its effect.
    #[error("the operation panicked, and may have had its effect")]
    Panicked,
    /// The lanes ended before it did. It may have had its effect.
    #[error("the lanes ended during the operation, which may have had its effect")]
    Ended,
    /// It was withdrawn before it began.
    #[error("the operation was withdrawn before it began")]
    Withdrawn,
    /// The owner took nothing more. It never began.
    #[error("the owner takes nothing more; the operation never began")]
    Refused,
}

/// Results that can say that an operation was lost: a `Result` whose error can.
pub trait FromLost {
    /// The result of an operation that was lost.
    fn from_lost(lost: Lost) -> Self;
}

impl<T, E: From<Lost>> FromLost for Result<T, E> {
    fn from_lost(lost: Lost) -> Self {
        Err(E::from(lost))
    }
}

/// Why a task has no output.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Ended {
    /// It was cancelled, by itself, with its group, or with the owner.
    #[error("the task was cancelled")]
    Cancelled,
    /// It panicked; the report of that update says more.
    #[error("the task panicked")]
    Panicked,
}

/// What an owner does when application code panics in a callback or in the poll of a task.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum PanicPolicy {
    /// The panic is contained, logged and listed in the report of the update. The default.
    #[default]
    Report,
    /// As `Report`, and the group in which it happened is cancelled.
    CancelGroup,
    /// As `Report`, and the update panics in turn when it has put itself in order.
    Propagate,
}

/// A panic that was contained.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Panicked {
    /// The name of the group, empty where there is none.
    pub group: String,
    /// What panicked.
    pub label: super::Label,
    /// The tick in which it did.
    pub tick: u64,
    /// The message, where it is a text.
    pub message: String,
}

/// The text of a panic's payload.
pub(crate) fn message_of(payload: &(dyn Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "a payload that is no text".to_owned()
    }
}
