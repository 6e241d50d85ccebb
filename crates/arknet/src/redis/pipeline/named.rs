//! Results with names.

use std::fmt;
use std::marker::PhantomData;

use arknet_proto::redis::Effects;

use super::Atomic;
use crate::redis::batch::sealed;
use crate::redis::{Answers, Batch, Error, Shareable};

/// A batch whose output becomes an `R`, from [`Pipeline::named`](super::Pipeline::named).
#[must_use = "a pipeline does nothing until it is run"]
pub struct Named<B, R> {
    batch: B,
    returns: PhantomData<fn() -> R>,
}

impl<B: Batch, R: From<B::Output>> Named<B, R> {
    pub(super) fn new(batch: B) -> Self {
        Self {
            batch,
            returns: PhantomData,
        }
    }

    /// With all of it between `MULTI` and `EXEC`: nobody else's commands run in between.
    pub fn atomic(self) -> Atomic<Self>
    where
        R: Send,
    {
        Atomic::new(self)
    }
}

impl<B: fmt::Debug, R> fmt::Debug for Named<B, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.batch.fmt(f)
    }
}

impl<B: Clone, R> Clone for Named<B, R> {
    fn clone(&self) -> Self {
        Self {
            batch: self.batch.clone(),
            returns: PhantomData,
        }
    }
}

impl<B, R> sealed::Sealed for Named<B, R> {}

impl<B: Batch, R: From<B::Output> + Send> Batch for Named<B, R> {
    type Output = R;

    fn encode(&self, wire: &mut Vec<u8>) {
        self.batch.encode(wire);
    }

    fn wire_len(&self) -> usize {
        self.batch.wire_len()
    }

    fn requests(&self) -> usize {
        self.batch.requests()
    }

    fn effects(&self) -> Effects {
        self.batch.effects()
    }

    fn is_atomic(&self) -> bool {
        self.batch.is_atomic()
    }

    fn name(&self) -> &str {
        self.batch.name()
    }

    fn release(&mut self) {
        self.batch.release();
    }

    fn finish(self, answers: Answers<'_>) -> Self::Output {
        self.batch.finish(answers).into()
    }

    fn unanswered(requests: usize, error: &Error) -> Self::Output {
        B::unanswered(requests, error).into()
    }
}

impl<B: Shareable, R: From<B::Output> + Send> Shareable for Named<B, R> {}
