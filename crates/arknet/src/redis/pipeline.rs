//! Several commands in one go, each with a result of its own.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use arknet_proto::redis::{Effects, FromReply, Reply, ReplyLimits, Scanner};

use super::batch::{Answers, Batch, Shareable, sealed};
use super::command::Command;
use super::error::Error;
use super::storage::Buffer;

pub use self::atomic::Atomic;
pub use self::named::Named;
pub use self::replies::Replies;

mod atomic;
mod named;
mod replies;
#[cfg(test)]
mod tests;

/// A pipeline without commands, for [`Pipeline::add`] and [`Pipeline::extend`].
///
/// ```
/// use arknet::redis::commands::strings::{get, incr};
/// use arknet::redis::pipeline;
///
/// // Its output will be `(Result<Option<String>, Error>, Result<i64, Error>)`.
/// let visit = pipeline().add(get::<Option<String>>("name")).add(incr("visits"));
/// # let _ = visit;
/// ```
pub fn pipeline() -> Pipeline<()> {
    Pipeline {
        requests: Buffer::lend(),
        count: 0,
        effects: Effects::NONE,
        returns: PhantomData,
    }
}

/// Commands that are sent together and answered one by one.
///
/// `T` is a tuple of the types of their replies, of up to 16, or a `Vec` of one type. The output is a tuple, or
/// a `Vec`, of a `Result` for each: one that fails does not stop the others, and each error has an outcome of
/// its own. Between them, other users' commands may run, unless it is [`atomic`](Self::atomic).
#[must_use = "a pipeline does nothing until it is run"]
pub struct Pipeline<T> {
    /// As they go on the wire. Kept until the replies have come, since errors name their command.
    requests: Buffer,
    count: usize,
    effects: Effects,
    returns: PhantomData<fn() -> T>,
}

impl Pipeline<()> {
    /// With any number of commands of one type. The output is a `Vec` of results in their order.
    pub fn extend<T: FromReply>(
        self,
        commands: impl IntoIterator<Item = Command<T>>,
    ) -> Pipeline<Vec<T>> {
        Pipeline::<Vec<T>>::extend(self.retyped(), commands)
    }
}

impl<T: FromReply> Pipeline<Vec<T>> {
    /// With more commands.
    pub fn extend(mut self, commands: impl IntoIterator<Item = Command<T>>) -> Self {
        for command in commands {
            self.push(command);
        }
        self
    }

    /// Appends one more command.
    pub fn push(&mut self, command: Command<T>) {
        self.append(&command);
    }
}

impl<T> Pipeline<T> {
    /// How many commands it has.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// With all of it between `MULTI` and `EXEC`: nobody else's commands run in between.
    pub fn atomic(self) -> Atomic<Self>
    where
        Self: Batch,
    {
        Atomic::new(self)
    }

    /// With its results in the fields of a structure that derives
    /// [`FromReplies`](derive@crate::redis::FromReplies).
    pub fn named<R>(self) -> Named<Self, R>
    where
        Self: Batch,
        R: From<<Self as Batch>::Output>,
    {
        Named::new(self)
    }

    #[inline]
    fn append<U>(&mut self, command: &Command<U>) {
        command.encoded().encode_to(self.requests.bytes());
        self.count += 1;
        self.effects = self.effects.then(command.effects());
    }

    fn retyped<U>(self) -> Pipeline<U> {
        Pipeline {
            requests: self.requests,
            count: self.count,
            effects: self.effects,
            returns: PhantomData,
        }
    }

    /// The result of the next request.
    #[inline]
    fn decode<U: FromReply>(&self, answers: &mut Answers<'_>) -> Result<U, Error> {
        let number = answers.asked();
        Reply::parse(answers.next()?)
            .and_then(U::from_reply)
            .map_err(|error| Error::from_decode(&self.name_of(number), error))
    }

    /// The name of one of the requests, in its own words.
    #[cold]
    fn name_of(&self, number: usize) -> Cow<'_, str> {
        // They were encoded here, and may be as large as they like.
        let limits = ReplyLimits::default()
            .max_reply_bytes(usize::MAX)
            .max_elements(usize::MAX);
        let (mut scanner, mut rest) = (Scanner::new(limits), self.requests.as_slice());
        for _ in 0..number {
            let Ok(Some(frame)) = scanner.scan(rest) else {
                break;
            };
            rest = rest.get(frame.len..).unwrap_or_default();
        }
        match Reply::parse(rest) {
            Ok(Reply::Array(mut words)) => match words.next() {
                Some(Reply::Bulk(name)) => String::from_utf8_lossy(name),
                _ => PIPELINE.into(),
            },
            _ => PIPELINE.into(),
        }
    }
}

/// The name of the whole, in spans.
const PIPELINE: &str = "PIPELINE";

impl<T> fmt::Debug for Pipeline<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pipeline({} commands)", self.count)
    }
}

impl<T> Clone for Pipeline<T> {
    fn clone(&self) -> Self {
        Self {
            requests: self.requests.clone(),
            count: self.count,
            effects: self.effects,
            returns: PhantomData,
        }
    }
}

impl<T> sealed::Sealed for Pipeline<T> {}

impl<T: Replies> Batch for Pipeline<T> {
    type Output = T::Output;

    #[inline]
    fn encode(&self, wire: &mut Vec<u8>) {
        wire.extend_from_slice(self.requests.as_slice());
    }

    #[inline]
    fn wire_len(&self) -> usize {
        self.requests.as_slice().len()
    }

    #[inline]
    fn requests(&self) -> usize {
        self.count
    }

    #[inline]
    fn effects(&self) -> Effects {
        self.effects
    }

    fn name(&self) -> &str {
        PIPELINE
    }

    /// Nothing: errors name their command.
    fn release(&mut self) {}

    fn finish(self, mut answers: Answers<'_>) -> Self::Output {
        T::take(&self, &mut answers)
    }

    fn unanswered(requests: usize, error: &Error) -> Self::Output {
        T::lost(requests, error)
    }
}

impl<T: Replies> Shareable for Pipeline<T> {}
