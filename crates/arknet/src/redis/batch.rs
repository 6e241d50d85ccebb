//! What a connection runs in one go: a command, or several.

use std::fmt;
use std::ops::Range;

use arknet_proto::redis::{Effects, FromReply, Reply};

use super::command::{Command, LeaseCommand};
use super::error::Error;

/// Requests that are encoded together and answered together: a command, or a
/// [`Pipeline`](super::Pipeline).
///
/// One definition serves every way to run it: on a shared client and on a lease, with `async` and with a
/// callback. It cannot be implemented outside this crate.
pub trait Batch: Send + sealed::Sealed {
    /// What comes of it: of a command a `Result`, of a pipeline one for each request.
    type Output: Send;

    /// Appends the requests to what goes on the wire.
    fn encode(&self, wire: &mut Vec<u8>);

    /// Bytes that [`Self::encode`] appends.
    fn wire_len(&self) -> usize;

    /// How many requests, and so replies, it is.
    fn requests(&self) -> usize;

    /// What they do to their connection, all together.
    fn effects(&self) -> Effects;

    /// Whether it begins with a `MULTI`, without which the rest must not be carried out.
    #[inline]
    fn is_atomic(&self) -> bool {
        false
    }

    /// The name of the command, or of what several are, for errors and spans.
    fn name(&self) -> &str;

    /// Gives back the storage of what has been encoded, before the replies have come. It cannot be
    /// encoded again.
    fn release(&mut self);

    /// Decodes what came.
    fn finish(self, answers: Answers<'_>) -> Self::Output;

    /// What comes of a batch of so many [`requests`](Self::requests) that has been lost together with its answers.
    fn unanswered(requests: usize, error: &Error) -> Self::Output
    where
        Self: Sized;
}

/// A batch that a shared connection takes too.
///
/// Commands that wait (`BLPOP`), and those that change what their connection means (`SELECT`, `WATCH`,
/// `MULTI`), are for leases, and do not compile elsewhere.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be run on a shared connection",
    note = "commands that wait, and those that change the session, need a lease of a `redis::Pool`"
)]
pub trait Shareable: Batch {}

pub(crate) mod sealed {
    /// Keeps [`Batch`](super::Batch) within this crate.
    pub trait Sealed {}
}

/// What came for a batch: replies in order, and for every request behind them a failure.
pub struct Answers<'a> {
    wire: &'a [u8],
    frames: &'a [Range<usize>],
    failure: Failure<'a>,
    asked: usize,
}

enum Failure<'a> {
    /// All requests that were not answered failed alike.
    Same(&'a Error),
    /// Each has an error of its own, with an outcome of its own.
    Each(&'a dyn Fn(usize) -> Error),
}

impl<'a> Answers<'a> {
    /// Replies that lie in `wire` where `frames` say, in order. `failure` makes the error of a request
    /// that has no reply, from its number in the batch.
    pub(crate) fn new(
        wire: &'a [u8],
        frames: &'a [Range<usize>],
        failure: &'a dyn Fn(usize) -> Error,
    ) -> Self {
        Self {
            wire,
            frames,
            failure: Failure::Each(failure),
            asked: 0,
        }
    }

    /// The same error for every request.
    pub(crate) fn failed(error: &'a Error) -> Self {
        Self {
            wire: &[],
            frames: &[],
            failure: Failure::Same(error),
            asked: 0,
        }
    }

    /// How many answers were asked for.
    #[inline]
    pub(crate) fn asked(&self) -> usize {
        self.asked
    }

    /// How many bytes the replies have.
    #[cfg(feature = "owner")]
    pub(crate) fn bytes(&self) -> usize {
        self.frames.iter().map(ExactSizeIterator::len).sum()
    }

    /// The answer to the next request. An error reply is a reply.
    ///
    /// # Errors
    ///
    /// Why there is none, with the outcome of this request.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<&'a [u8], Error> {
        let number = self.asked;
        self.asked += 1;
        match (self.frames.get(number), &self.failure) {
            (Some(frame), _) => Ok(self.wire.get(frame.clone()).unwrap_or_default()),
            (None, Failure::Same(error)) => Err((*error).clone()),
            (None, Failure::Each(failure)) => Err(failure(number)),
        }
    }

    /// The same, decoded.
    ///
    /// # Errors
    ///
    /// Likewise; an error reply, and one that is not a `T`, with the name of the `command`.
    #[inline]
    pub(crate) fn decode<T: FromReply>(&mut self, command: &str) -> Result<T, Error> {
        let reply = Reply::parse(self.next()?);
        reply
            .and_then(T::from_reply)
            .map_err(|error| Error::from_decode(command, error))
    }
}

impl fmt::Debug for Answers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Answers({} replies)", self.frames.len())
    }
}

impl<T> sealed::Sealed for Command<T> {}

impl<T: FromReply + Send> Batch for Command<T> {
    type Output = Result<T, Error>;

    #[inline]
    fn encode(&self, wire: &mut Vec<u8>) {
        self.encoded().encode_to(wire);
    }

    #[inline]
    fn wire_len(&self) -> usize {
        self.encoded().wire_len()
    }

    #[inline]
    fn requests(&self) -> usize {
        1
    }

    #[inline]
    fn effects(&self) -> Effects {
        self.encoded().effects()
    }

    fn name(&self) -> &str {
        self.encoded().name()
    }

    #[inline]
    fn release(&mut self) {
        self.release();
    }

    #[inline]
    fn finish(self, mut answers: Answers<'_>) -> Self::Output {
        answers.decode(self.encoded().name())
    }

    fn unanswered(_: usize, error: &Error) -> Self::Output {
        Err(error.clone())
    }
}

impl<T: FromReply + Send> Shareable for Command<T> {}

impl<T> sealed::Sealed for LeaseCommand<T> {}

impl<T: FromReply + Send> Batch for LeaseCommand<T> {
    type Output = Result<T, Error>;

    #[inline]
    fn encode(&self, wire: &mut Vec<u8>) {
        self.command().encode(wire);
    }

    #[inline]
    fn wire_len(&self) -> usize {
        self.command().wire_len()
    }

    #[inline]
    fn requests(&self) -> usize {
        1
    }

    #[inline]
    fn effects(&self) -> Effects {
        self.command().effects()
    }

    fn name(&self) -> &str {
        self.command().name()
    }

    #[inline]
    fn release(&mut self) {
        self.release();
    }

    #[inline]
    fn finish(self, answers: Answers<'_>) -> Self::Output {
        self.into_command().finish(answers)
    }

    fn unanswered(_: usize, error: &Error) -> Self::Output {
        Err(error.clone())
    }
}
