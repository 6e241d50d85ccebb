//! A batch whose type is forgotten on its way: what carries batches of every kind takes it there, and its output back.

use std::any::{Any, TypeId};

use arknet_proto::redis::Effects;

use super::batch::sealed;
use super::{Answers, Batch, Error};

/// A batch, and later its output, in a box that can be used again for the next batch of its type.
///
/// It is a batch itself, and its own output.
pub struct Parcel(Option<Box<dyn Content>>);

impl Parcel {
    pub(crate) fn pack<B: Batch + 'static>(batch: B) -> Self {
        Self(Some(Box::new(Letter {
            batch: Some(batch),
            output: None,
            answered: 0,
        })))
    }

    /// As [`pack`](Self::pack), in the box of this one if that is of the same [kind](Self::kind).
    pub(crate) fn refill<B: Batch + 'static>(mut self, batch: B) -> Self {
        match self.letter::<B>() {
            Some(letter) => {
                letter.batch = Some(batch);
                letter.output = None;
                letter.answered = 0;
                self
            }
            None => Self::pack(batch),
        }
    }

    /// What tells the boxes of one type from others.
    pub(crate) fn kind<B: Batch + 'static>() -> TypeId {
        TypeId::of::<Letter<B>>()
    }

    /// The output of the batch, once. `None` where there is none, or another type was packed.
    pub(crate) fn take_output<B: Batch + 'static>(&mut self) -> Option<B::Output> {
        self.letter::<B>()?.output.take()
    }

    /// How many bytes it holds: of requests, later of replies.
    pub(crate) fn bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |content| content.bytes())
    }

    fn letter<B: Batch + 'static>(&mut self) -> Option<&mut Letter<B>> {
        let content: &mut dyn Any = self.0.as_deref_mut()?;
        content.downcast_mut()
    }
}

/// What is in a parcel.
struct Letter<B: Batch> {
    batch: Option<B>,
    output: Option<B::Output>,
    answered: usize,
}

/// [`Batch`], as far as it can be called without knowing the type.
trait Content: Any + Send {
    fn encode(&self, wire: &mut Vec<u8>);
    fn wire_len(&self) -> usize;
    fn requests(&self) -> usize;
    fn effects(&self) -> Effects;
    fn name(&self) -> &str;
    fn release(&mut self);
    fn finish(&mut self, answers: Answers<'_>);
    fn bytes(&self) -> usize;
}

impl<B: Batch + 'static> Content for Letter<B> {
    fn encode(&self, wire: &mut Vec<u8>) {
        if let Some(batch) = &self.batch {
            batch.encode(wire);
        }
    }

    fn wire_len(&self) -> usize {
        self.batch.as_ref().map_or(0, B::wire_len)
    }

    fn requests(&self) -> usize {
        self.batch.as_ref().map_or(0, B::requests)
    }

    fn effects(&self) -> Effects {
        self.batch.as_ref().map_or(Effects::NONE, B::effects)
    }

    fn name(&self) -> &str {
        self.batch.as_ref().map_or("", B::name)
    }

    fn release(&mut self) {
        if let Some(batch) = &mut self.batch {
            batch.release();
        }
    }

    fn finish(&mut self, answers: Answers<'_>) {
        self.answered = answers.bytes();
        self.output = self.batch.take().map(|batch| batch.finish(answers));
    }

    fn bytes(&self) -> usize {
        self.wire_len() + self.answered
    }
}

impl sealed::Sealed for Parcel {}

impl Batch for Parcel {
    type Output = Self;

    fn encode(&self, wire: &mut Vec<u8>) {
        if let Some(content) = &self.0 {
            content.encode(wire);
        }
    }

    fn wire_len(&self) -> usize {
        self.0.as_ref().map_or(0, |content| content.wire_len())
    }

    fn requests(&self) -> usize {
        self.0.as_ref().map_or(0, |content| content.requests())
    }

    fn effects(&self) -> Effects {
        let content = self.0.as_ref();
        content.map_or(Effects::NONE, |content| content.effects())
    }

    fn name(&self) -> &str {
        self.0.as_ref().map_or("", |content| content.name())
    }

    fn release(&mut self) {
        if let Some(content) = &mut self.0 {
            content.release();
        }
    }

    fn finish(mut self, answers: Answers<'_>) -> Self {
        if let Some(content) = &mut self.0 {
            content.finish(answers);
        }
        self
    }

    /// Lost with what was in it.
    fn unanswered(_: usize, _: &Error) -> Self {
        Self(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::{Command, cmd, pipeline};

    #[test]
    fn what_was_packed_is_what_goes_on_the_wire_and_comes_back() {
        let ask = || cmd::<String>("ECHO").arg("hello");
        let mut expected = Vec::new();
        ask().encode(&mut expected);
        let parcel = Parcel::pack(ask());
        let mut wire = Vec::new();
        parcel.encode(&mut wire);
        assert_eq!(wire, expected);
        assert_eq!(parcel.bytes(), expected.len());

        let reply = b"$5\r\nhello\r\n";
        let frame = 0..reply.len();
        let answers = Answers::new(reply, std::slice::from_ref(&frame), &|_| Error::Closed);
        let mut answered = parcel.finish(answers);
        assert_eq!(answered.bytes(), reply.len());
        let output = answered.take_output::<Command<String>>();
        assert!(matches!(output, Some(Ok(text)) if text == "hello"));
        assert!(answered.take_output::<Command<String>>().is_none());
    }

    #[test]
    fn a_box_is_used_again_for_its_own_type_only() {
        let address = |parcel: &Parcel| {
            let content = parcel.0.as_deref().unwrap();
            std::ptr::from_ref(content).addr()
        };
        let parcel = Parcel::pack(cmd::<i64>("INCR").arg("key"));
        let place = address(&parcel);
        let again = parcel.refill(cmd::<i64>("DECR").arg("key"));
        assert_eq!(address(&again), place);
        assert_eq!(again.name(), "DECR");
        let other = again.refill(pipeline().add(cmd::<i64>("GET").arg("key")));
        assert_eq!(other.requests(), 1);
        assert_eq!(other.name(), "PIPELINE");
    }
}
