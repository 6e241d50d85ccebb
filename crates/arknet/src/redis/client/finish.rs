//! From what has come for a batch to what its caller gets.

use std::cell::Cell;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use arknet_proto::redis::ProtocolError;

use super::slot::Collected;
use crate::error::Outcome;
use crate::link::Address;
use crate::redis::batch::{Answers, Batch};
use crate::redis::error::{Doing, Error};

/// Why a batch has not all of its replies.
#[derive(Clone, Debug)]
pub(super) enum Failure {
    /// Its deadline passed before there was a connection.
    NotConnected,
    /// Its deadline passed before the connection took it.
    NotWritten,
    /// Its deadline passed before the reply came.
    Overdue,
    /// The connection is gone, and the system was given bytes of this many of its requests.
    Lost { cause: Lost, begun: usize },
    /// It was never handed to a connection, and will not be.
    Unsent(Error),
}

/// Why a connection is gone.
#[derive(Clone, Debug)]
pub(super) enum Lost {
    /// The system says so, or the peer has left, or does not answer.
    Network(Arc<io::Error>),
    /// TLS says so.
    #[cfg(feature = "tls")]
    Tls(Arc<crate::tls::Error>),
    /// The server broke the protocol.
    Protocol(Arc<ProtocolError>),
    /// It was closed from this side before the reply came.
    Closed,
}

/// What an error says beside the failure.
#[derive(Clone, Copy, Debug)]
pub(super) struct Circumstances<'a> {
    pub(super) address: &'a Arc<Address>,
    pub(super) within: Option<Duration>,
}

impl Lost {
    /// The error of a request that was lost.
    pub(super) fn error(&self, address: &Arc<Address>, outcome: Outcome) -> Error {
        let lost = |source: io::Error| Error::Lost {
            address: address.clone(),
            source: Arc::new(source),
            outcome,
        };
        match self {
            Self::Network(source) => Error::Lost {
                address: address.clone(),
                source: source.clone(),
                outcome,
            },
            #[cfg(feature = "tls")]
            Self::Tls(source) => lost(io::Error::other(source.clone())),
            Self::Protocol(source) => Error::Protocol {
                address: address.clone(),
                source: source.clone(),
                outcome,
            },
            Self::Closed => lost(io::Error::new(
                io::ErrorKind::ConnectionAborted,
                "closed from this side before the reply came",
            )),
        }
    }
}

impl Failure {
    fn error(&self, outcome: Outcome, around: Circumstances<'_>) -> Error {
        let timeout = |doing| Error::Timeout {
            doing,
            within: around.within.unwrap_or_default(),
            outcome,
        };
        match self {
            Self::NotConnected => timeout(Doing::Connect),
            Self::NotWritten | Self::Overdue => timeout(Doing::Request),
            Self::Lost { cause, .. } => cause.error(around.address, outcome),
            Self::Unsent(error) => error.clone(),
        }
    }

    /// How many of the batch's requests the server may have carried out.
    fn begun(&self) -> usize {
        match self {
            Self::Overdue => usize::MAX,
            Self::NotConnected | Self::NotWritten | Self::Unsent(_) => 0,
            Self::Lost { begun, .. } => *begun,
        }
    }
}

/// Decodes what has come for a batch.
#[inline]
pub(super) fn finish<B: Batch>(
    batch: B,
    collected: &Collected,
    failure: Option<&Failure>,
    around: Circumstances<'_>,
) -> B::Output {
    match failure {
        None => {
            let missing = |_| Error::Closed;
            collected.with(|wire, frames| batch.finish(Answers::new(wire, frames, &missing)))
        }
        Some(failure) => finish_failed(batch, collected, failure, around),
    }
}

#[cold]
fn finish_failed<B: Batch>(
    batch: B,
    collected: &Collected,
    failure: &Failure,
    around: Circumstances<'_>,
) -> B::Output {
    let begun = failure.begun();
    tracing::debug!(request = batch.name(), ?failure, "redis: failed");
    let error = |request| {
        let outcome = if request < begun {
            Outcome::Unknown
        } else {
            Outcome::NotSent
        };
        failure.error(outcome, around)
    };
    collected.with(|wire, frames| batch.finish(Answers::new(wire, frames, &error)))
}

/// A batch that failed before anything of it was taken in.
#[cold]
pub(super) fn refuse<B: Batch>(batch: B, error: &Error) -> B::Output {
    batch.finish(Answers::failed(error))
}

/// What a callback does with its result.
pub(super) trait Completion: Send {
    fn complete(
        self: Box<Self>,
        collected: &Collected,
        failure: Option<&Failure>,
        address: &Arc<Address>,
    );
}

/// A batch and the function that gets its output.
pub(super) struct Callback<B, F> {
    pub(super) batch: B,
    pub(super) within: Option<Duration>,
    pub(super) function: F,
}

impl<B, F> Completion for Callback<B, F>
where
    B: Batch,
    F: FnOnce(B::Output) + Send,
{
    fn complete(
        self: Box<Self>,
        collected: &Collected,
        failure: Option<&Failure>,
        address: &Arc<Address>,
    ) {
        let Self {
            batch,
            within,
            function,
        } = *self;
        let around = Circumstances { address, within };
        function(finish(batch, collected, failure, around));
    }
}

thread_local! {
    static SCRATCH: Cell<Collected> = const { Cell::new(Collected::EMPTY) };
}

/// Storage of this thread, into which a result is fetched. What was used for one batch is used for the next.
#[inline]
pub(super) fn with_scratch<T>(function: impl FnOnce(&mut Collected) -> T) -> T {
    // Taken out, so that what decodes a reply may come here too.
    let mut scratch = SCRATCH.try_with(Cell::take).unwrap_or_default();
    let result = function(&mut scratch);
    scratch.clear();
    // A thread that is ending keeps nothing.
    let _ = SCRATCH.try_with(|kept| kept.set(scratch));
    result
}
