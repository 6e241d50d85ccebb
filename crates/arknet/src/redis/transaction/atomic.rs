//! A batch between `MULTI` and `EXEC`.

use std::ops::Range;
use std::sync::Arc;

use arknet_proto::redis::{Command, Effects, Frame, Reply, ReplyLimits, Scanner, ServerError};

use super::{Commit, MULTI};
use crate::error::Outcome;
use crate::redis::batch::sealed::Sealed;
use crate::redis::{Answers, Batch, DecodeError, Error};

/// What is carried out all together.
#[derive(Clone)]
pub(in crate::redis) struct Atomic<B>(pub(in crate::redis) B);

impl<B> Sealed for Atomic<B> {}

impl<B: Batch> Batch for Atomic<B> {
    type Output = Result<Commit<B::Output>, Error>;

    fn encode(&self, wire: &mut Vec<u8>) {
        Command::new(MULTI).encode_to(wire);
        self.0.encode(wire);
        Command::new("EXEC").encode_to(wire);
    }

    fn wire_len(&self) -> usize {
        self.0.wire_len() + Command::new(MULTI).wire_len() + Command::new("EXEC").wire_len()
    }

    fn requests(&self) -> usize {
        self.0.requests() + 2
    }

    fn effects(&self) -> Effects {
        let ends = Effects::CLOSES_TRANSACTION.union(Effects::EXCLUSIVE);
        self.0.effects().then(ends)
    }

    fn is_atomic(&self) -> bool {
        true
    }

    fn name(&self) -> &str {
        "EXEC"
    }

    fn release(&mut self) {
        self.0.release();
    }

    fn finish(self, mut answers: Answers<'_>) -> Self::Output {
        let begun = refusal(&answers.next());
        let (mut refused, mut done) = (None, false);
        // Of these only a refusal matters: where they were lost, EXEC was lost or not sent, and says which.
        for _ in 0..self.0.requests() {
            let answer = answers.next();
            let refusal = refusal(&answer);
            done |= refusal.is_none() && !is_unsent(&answer);
            refused = refused.or(refusal);
        }
        if let Some(refusal) = begun {
            return Err(without_multi(refusal, done));
        }
        let frame = answers.next()?;
        match (Reply::parse(frame), refused) {
            (Ok(Reply::Null), _) => Ok(Commit::Conflict),
            (Ok(Reply::Array(_)), _) => {
                let results = elements(frame).ok_or_else(|| decode(DecodeError::Malformed))?;
                // A server that leaves some out has broken the protocol.
                let missing = |_| decode(DecodeError::Malformed);
                let output = self.0.finish(Answers::new(frame, &results, &missing));
                Ok(Commit::Applied(output))
            }
            (_, Some(refusal)) => Err(decode(DecodeError::Server(refusal))),
            (Ok(reply), None) => Err(decode(reply.unexpected("the results of a transaction"))),
            (Err(error), None) => Err(decode(error)),
        }
    }

    fn unanswered(_: usize, error: &Error) -> Self::Output {
        Err(error.clone())
    }
}

/// What the server said, if it refused a request.
fn refusal(answer: &Result<&[u8], Error>) -> Option<ServerError> {
    match Reply::parse(answer.as_ref().ok()?) {
        Ok(Reply::Error(text)) => Some(ServerError::new(text)),
        _ => None,
    }
}

fn is_unsent(answer: &Result<&[u8], Error>) -> bool {
    matches!(answer, Err(error) if error.outcome() == Outcome::NotSent)
}

/// `MULTI` was refused: what was sent behind it all the same, each command by itself, may have been `done`.
#[cold]
fn without_multi(refusal: ServerError, done: bool) -> Error {
    let source = Arc::new(refusal);
    if done {
        return Error::NotAtomic { source };
    }
    Error::Server {
        command: MULTI.into(),
        source,
    }
}

fn decode(error: DecodeError) -> Error {
    Error::from_decode("EXEC", error)
}

/// Where the elements of an array lie in its frame.
fn elements(frame: &[u8]) -> Option<Vec<Range<usize>>> {
    let array = frame.iter().position(|byte| *byte == b'*')?;
    let line = frame
        .get(array..)?
        .windows(2)
        .position(|pair| pair == b"\r\n")?;
    let mut at = array + line + 2;
    // It has been scanned as a whole, within limits.
    let mut scanner = Scanner::new(
        ReplyLimits::default()
            .max_reply_bytes(usize::MAX)
            .max_elements(usize::MAX),
    );
    let mut found = Vec::new();
    while at < frame.len() {
        let Frame { len, .. } = scanner.scan(frame.get(at..)?).ok()??;
        found.push(at..at + len);
        at += len;
    }
    Some(found)
}
