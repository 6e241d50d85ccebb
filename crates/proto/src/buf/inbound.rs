//! The receive buffer and the decoder over it.

use std::ops::Range;

use bytes::{Buf, Bytes, BytesMut};

use crate::framing::{Decoder, FramingError};

/// What has arrived and was not yet taken as messages.
///
/// The buffer is lent: an empty `Inbound` holds none. Messages come out as ranges of the buffer, so that a callback can
/// borrow them without a copy, or as [`Bytes`] that share it.
#[derive(Debug)]
pub struct Inbound {
    buffer: BytesMut,
    /// How much of the buffer has been taken.
    start: usize,
    decoder: Decoder,
}

impl Inbound {
    /// Nothing has arrived.
    pub fn new(decoder: Decoder) -> Self {
        Self {
            buffer: BytesMut::new(),
            start: 0,
            decoder,
        }
    }

    /// Bytes that wait: an unfinished message, or whole ones that were not taken.
    #[inline]
    pub fn len(&self) -> usize {
        self.buffer.len() - self.start
    }

    /// Whether nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where the transport appends what arrives. Call [`settle`](Self::settle) before, so that the room is at the end.
    #[inline]
    pub fn buffer_mut(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// The next whole message, as a range for [`message`](Self::message) or [`take`](Self::take). The range is good
    /// until the next call of [`settle`](Self::settle) or [`take`](Self::take).
    // Inlined always: the range returned through memory, written as two words and read as one, stalled the processor for
    // 15 ns a message.
    #[inline(always)]
    pub fn next_message(&mut self) -> Result<Option<Range<usize>>, FramingError> {
        let waiting = self.buffer.get(self.start..).unwrap_or_default();
        let Some(frame) = self.decoder.decode(waiting)? else {
            return Ok(None);
        };
        let range = self.start + frame.start..self.start + frame.end;
        self.start += frame.consumed;
        Ok(Some(range))
    }

    /// The bytes of a message.
    #[inline]
    pub fn message(&self, range: Range<usize>) -> &[u8] {
        self.buffer.get(range).unwrap_or_default()
    }

    /// A message as `Bytes` that share the receive buffer. It must be the one that
    /// [`next_message`](Self::next_message) gave last; what came before it is given up.
    #[inline]
    pub fn take(&mut self, range: Range<usize>) -> Bytes {
        let taken = self.start.min(self.buffer.len());
        self.start = 0;
        let end = range.end.min(taken);
        let start = range.start.min(end);
        self.buffer.advance(start);
        let message = self.buffer.split_to(end - start);
        // Whatever the framing puts behind a payload.
        self.buffer.advance(taken - end);
        message.freeze()
    }

    /// Drops what has been taken.
    #[inline]
    pub fn settle(&mut self) {
        if self.start >= self.buffer.len() {
            self.buffer.clear();
        } else if self.start != 0 {
            self.buffer.advance(self.start);
        }
        self.start = 0;
    }

    /// How many bytes are wanted before the next message can be whole, as far as the framing knows.
    pub fn wanted(&self) -> usize {
        self.decoder.needed().saturating_sub(self.len())
    }

    /// Whether the peer may end its stream here: not inside of a message.
    pub fn finish(&self) -> Result<(), FramingError> {
        self.decoder.finish(self.len())
    }

    /// Drops all that has arrived; the buffer stays.
    pub fn discard(&mut self) {
        self.buffer.clear();
        self.start = 0;
        self.decoder.reset();
    }

    /// Forgets everything, as for a new connection; the buffer is given up.
    pub fn reset(&mut self) {
        self.buffer = BytesMut::new();
        self.start = 0;
        self.decoder.reset();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framing::Framing;

    fn inbound(bytes: &[u8]) -> Inbound {
        let decoder = Decoder::new(Framing::LengthPrefix, 64).unwrap();
        let mut inbound = Inbound::new(decoder);
        inbound.buffer_mut().extend_from_slice(bytes);
        inbound
    }

    #[test]
    fn a_message_that_is_taken_leaves_the_rest_where_it_can_be_found() {
        let mut inbound = inbound(b"\x01a\x02bc\x03def\x05unf");
        let looked_at = inbound.next_message().unwrap().unwrap();
        assert_eq!(inbound.message(looked_at), b"a");
        let range = inbound.next_message().unwrap().unwrap();
        let taken = inbound.take(range);
        let range = inbound.next_message().unwrap().unwrap();
        assert_eq!(inbound.message(range), b"def");
        assert_eq!(inbound.next_message(), Ok(None));
        inbound.settle();
        assert_eq!((inbound.len(), inbound.wanted()), (4, 2));
        inbound.buffer_mut().extend_from_slice(b"in");
        let range = inbound.next_message().unwrap().unwrap();
        assert_eq!(inbound.take(range), &b"unfin"[..]);
        assert_eq!(taken, &b"bc"[..]);
        assert!(inbound.is_empty());
    }

    #[test]
    fn the_stream_may_end_between_messages_and_not_inside_of_one() {
        let mut inbound = inbound(b"\x01a\x02b");
        while inbound.next_message().unwrap().is_some() {}
        assert!(matches!(
            inbound.finish(),
            Err(FramingError::UnexpectedEnd { received: 2, .. })
        ));
        inbound.discard();
        assert_eq!(inbound.finish(), Ok(()));
        assert!(inbound.buffer_mut().capacity() > 0, "the buffer stays");
        inbound.reset();
        assert_eq!(inbound.buffer_mut().capacity(), 0);
    }

    #[test]
    fn a_range_of_something_else_is_no_panic() {
        let mut inbound = inbound(b"\x01a");
        assert_eq!(inbound.message(7..9), b"");
        assert_eq!(inbound.take(7..9), &b""[..]);
    }
}
