//! A pipeline between `MULTI` and `EXEC`.

use std::fmt;

use arknet_proto::redis::{Effects, Reply};

use crate::redis::batch::sealed;
use crate::redis::transaction::Commit;
use crate::redis::transaction::atomic::Atomic as Queued;
use crate::redis::{Answers, Batch, Error, Shareable};

/// A batch that is carried out all at once or not at all, from
/// [`Pipeline::atomic`](super::Pipeline::atomic).
///
/// The output is a `Result` for the whole: an error if it was not carried out, or if nobody knows. Within it are
/// the results of the commands, of which each may be an error still: a command that fails does not undo the
/// others. The first one on a connection takes one round trip more, in which the server says that it accepts `MULTI`. It leaves nothing behind, so a shared connection takes it. With keys that are watched, use a
/// [`Transaction`](crate::redis::Transaction): here a conflict is an error.
#[must_use = "a pipeline does nothing until it is run"]
pub struct Atomic<B>(Queued<B>);

impl<B: Batch> Atomic<B> {
    pub(super) fn new(batch: B) -> Self {
        Self(Queued(batch))
    }
}

impl<B: fmt::Debug> fmt::Debug for Atomic<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Atomic").field(&self.0.0).finish()
    }
}

impl<B: Clone> Clone for Atomic<B> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<B> sealed::Sealed for Atomic<B> {}

impl<B: Batch> Batch for Atomic<B> {
    type Output = Result<B::Output, Error>;

    fn encode(&self, wire: &mut Vec<u8>) {
        self.0.encode(wire);
    }

    fn wire_len(&self) -> usize {
        self.0.wire_len()
    }

    fn requests(&self) -> usize {
        self.0.requests()
    }

    /// Those of the commands: `MULTI` and `EXEC` are always together.
    fn effects(&self) -> Effects {
        self.0.0.effects()
    }

    fn is_atomic(&self) -> bool {
        self.0.is_atomic()
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn release(&mut self) {
        self.0.release();
    }

    fn finish(self, answers: Answers<'_>) -> Self::Output {
        match self.0.finish(answers)? {
            Commit::Applied(output) => Ok(output),
            Commit::Conflict => Err(Error::from_decode(
                "EXEC",
                Reply::Null.unexpected("the results of a transaction"),
            )),
        }
    }

    fn unanswered(_: usize, error: &Error) -> Self::Output {
        Err(error.clone())
    }
}

impl<B: Shareable> Shareable for Atomic<B> {}
