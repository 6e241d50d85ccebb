//! Whether a server accepts `MULTI`, asked before anything is sent that depends on it.

use arknet_proto::redis::{Command, Effects};

use super::MULTI;
use crate::redis::batch::sealed::Sealed;
use crate::redis::{Answers, Batch, Error};

/// A transaction of nothing. On a connection with watched keys it would forget them: a lease asks otherwise.
pub(in crate::redis) struct Probe;

const EXEC: &str = "EXEC";

impl Sealed for Probe {}

impl Batch for Probe {
    type Output = Result<(), Error>;

    fn encode(&self, wire: &mut Vec<u8>) {
        Command::new(MULTI).encode_to(wire);
        Command::new(EXEC).encode_to(wire);
    }

    fn wire_len(&self) -> usize {
        Command::new(MULTI).wire_len() + Command::new(EXEC).wire_len()
    }

    fn requests(&self) -> usize {
        2
    }

    fn effects(&self) -> Effects {
        Effects::NONE
    }

    fn name(&self) -> &str {
        MULTI
    }

    fn release(&mut self) {}

    fn finish(self, mut answers: Answers<'_>) -> Self::Output {
        answers.decode::<()>(MULTI)
    }

    fn unanswered(_: usize, error: &Error) -> Self::Output {
        Err(error.clone())
    }
}
