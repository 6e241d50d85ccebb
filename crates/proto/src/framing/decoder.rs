//! Finds the next message in what has been received.

use super::{Framing, FramingError, InvalidFraming};
use super::{big_endian, custom, delimited, exact, length_prefix, raw};

/// Finds messages in a receive buffer, one connection's worth.
///
/// The caller owns the buffer and offers it from its first unconsumed byte. After every read, call
/// [`decode`](Self::decode) until it returns `None`, and drop [`Frame::consumed`] bytes after each
/// message; then read more. [`needed`](Self::needed) says how many bytes the next message wants at
/// least. When the peer ends its stream, ask [`finish`](Self::finish) whether it did so between two
/// messages.
///
/// A decoder that has not begun can be cloned, so one made when the endpoint is configured, where a
/// bad configuration can still be refused, serves for all of its connections.
#[derive(Clone, Debug)]
pub struct Decoder {
    framing: Framing,
    limit: usize,
    /// Bytes of the unfinished message in which nothing needs to be looked for again.
    scanned: usize,
    needed: usize,
}

/// Where a message lies in the bytes that were offered.
///
/// From a [`Decoder`], `start <= end <= consumed`, and `consumed` is at least one and at most what
/// was offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Where the payload begins.
    pub start: usize,
    /// Where the payload ends.
    pub end: usize,
    /// How many bytes the message takes with everything around its payload, to be dropped from the
    /// front of the buffer.
    pub consumed: usize,
}

/// What a framing found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A whole message.
    Frame(Frame),
    /// The message has not ended.
    Incomplete {
        /// How many of the offered bytes need not be looked at again; the next call for the same
        /// message is told so.
        scanned: usize,
        /// The fewest bytes, counted from the message's first, with which it could be complete.
        needed: usize,
    },
}

impl Decoder {
    /// A decoder for messages of at most `limit` bytes, prefix and delimiter included.
    ///
    /// # Errors
    ///
    /// [`InvalidFraming::LimitTooSmall`] if the framing cannot work within `limit`, see
    /// [`Framing::least_limit`].
    pub fn new(framing: Framing, limit: usize) -> Result<Self, InvalidFraming> {
        let least = framing.least_limit();
        if limit < least {
            return Err(InvalidFraming::LimitTooSmall { limit, least });
        }
        Ok(Self {
            framing,
            limit,
            scanned: 0,
            needed: 1,
        })
    }

    /// Looks for the message that begins with the first byte of `buffered`. `None` means that it
    /// has not ended: call again with more, beginning with the same byte.
    ///
    /// # Errors
    ///
    /// The rule that the peer broke. The stream cannot be read any further.
    #[inline(always)]
    pub fn decode(&mut self, buffered: &[u8]) -> Result<Option<Frame>, FramingError> {
        let step = match &self.framing {
            Framing::LengthPrefix => {
                if let Some(frame) = length_prefix::whole(buffered, self.limit) {
                    return Ok(Some(frame));
                }
                length_prefix::decode(buffered, self.limit)?
            }
            Framing::Raw => raw::decode(buffered, self.limit),
            _ => self.decode_other(buffered)?,
        };
        match step {
            Step::Frame(frame) => {
                self.scanned = 0;
                Ok(Some(frame))
            }
            Step::Incomplete { scanned, needed } => {
                self.scanned = scanned;
                self.needed = needed;
                Ok(None)
            }
        }
    }

    /// The fewest bytes that must be buffered before [`decode`](Self::decode) can return a message,
    /// as of its last `None`; for a length prefix that has come whole, exactly those of the message.
    ///
    /// A hint for reading, not for allocating: nine bytes from a peer can announce a message as
    /// large as the limit.
    #[inline]
    #[must_use]
    pub fn needed(&self) -> usize {
        self.needed
    }

    /// Whether the stream may end here, with `remaining` bytes left after the last message.
    ///
    /// # Errors
    ///
    /// [`FramingError::UnexpectedEnd`] if the peer stopped inside a message.
    pub fn finish(&self, remaining: usize) -> Result<(), FramingError> {
        if remaining == 0 {
            return Ok(());
        }
        Err(FramingError::UnexpectedEnd {
            received: remaining,
            needed: self.needed,
        })
    }

    /// Forgets the unfinished message, for the next connection.
    pub fn reset(&mut self) {
        self.scanned = 0;
        self.needed = 1;
    }

    /// The framing that it reads.
    #[inline]
    #[must_use]
    pub fn framing(&self) -> &Framing {
        &self.framing
    }

    /// The largest message in bytes, prefix and delimiter included.
    #[inline]
    #[must_use]
    pub fn limit(&self) -> usize {
        self.limit
    }

    // Out of line, so that the two paths that must be short are.
    #[inline(never)]
    fn decode_other(&self, buffered: &[u8]) -> Result<Step, FramingError> {
        match &self.framing {
            Framing::Raw => Ok(raw::decode(buffered, self.limit)),
            Framing::LengthPrefix => length_prefix::decode(buffered, self.limit),
            Framing::Delimited(delimiter) => {
                delimited::decode(delimiter, buffered, self.scanned, self.limit)
            }
            Framing::Exact(len) => Ok(exact::decode(*len, buffered)),
            Framing::BigEndian { width, max } => {
                big_endian::decode(*width, *max, buffered, self.limit)
            }
            Framing::Custom(framer) => {
                custom::decode(framer.as_ref(), buffered, self.scanned, self.limit)
            }
        }
    }
}

impl Frame {
    /// The payload within `buffered`, the bytes that the frame was found in; empty for any that are
    /// shorter.
    #[inline]
    #[must_use]
    pub fn payload<'a>(&self, buffered: &'a [u8]) -> &'a [u8] {
        buffered.get(self.start..self.end).unwrap_or(&[])
    }
}

/// A message of `prefix` and `len` bytes: there, not there yet, or too large.
#[inline(always)]
pub(super) fn prefixed(
    prefix: usize,
    len: usize,
    available: usize,
    limit: usize,
) -> Result<Step, FramingError> {
    // No framing is used with a limit smaller than its prefix, so this cannot wrap.
    if len > limit.saturating_sub(prefix) {
        return Err(too_large(prefix, len as u64, limit));
    }
    let consumed = prefix + len;
    if consumed > available {
        return Ok(Step::Incomplete {
            scanned: 0,
            needed: consumed,
        });
    }
    Ok(Step::Frame(Frame {
        start: prefix,
        end: consumed,
        consumed,
    }))
}

#[cold]
#[inline(never)]
pub(super) fn too_large(prefix: usize, len: u64, limit: usize) -> FramingError {
    FramingError::MessageTooLarge {
        size: len.saturating_add(prefix as u64),
        limit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_in_which_the_framing_cannot_work_is_refused() {
        let least = [
            (Framing::Raw, 1),
            (Framing::delimited("\r\n").unwrap(), 2),
            (Framing::exact(1_000).unwrap(), 1_000),
            (Framing::LengthPrefix, 9),
            (Framing::big_endian(4, 100).unwrap(), 4),
        ];
        for (framing, least) in least {
            let refused = Decoder::new(framing.clone(), least - 1).unwrap_err();
            assert_eq!(
                refused,
                InvalidFraming::LimitTooSmall {
                    limit: least - 1,
                    least
                }
            );
            assert!(Decoder::new(framing, least).is_ok());
        }
    }

    #[test]
    fn a_stream_may_end_between_messages_only() {
        let mut decoder = Decoder::new(Framing::LengthPrefix, 1_024).unwrap();
        let frame = decoder.decode(b"\x02hi\x05wor").unwrap().unwrap();
        assert_eq!(frame.payload(b"\x02hi\x05wor"), b"hi");
        assert_eq!(decoder.finish(0), Ok(()));

        assert_eq!(decoder.decode(b"\x05wor").unwrap(), None);
        let cut = FramingError::UnexpectedEnd {
            received: 4,
            needed: 6,
        };
        assert_eq!(decoder.finish(4), Err(cut));
    }

    #[test]
    fn a_reset_forgets_what_was_scanned() {
        let mut decoder = Decoder::new(Framing::delimited("\n").unwrap(), 64).unwrap();
        assert_eq!(decoder.decode(b"no end in sight").unwrap(), None);
        decoder.reset();
        assert_eq!(decoder.needed(), 1);
        let frame = decoder.decode(b"new\n").unwrap().unwrap();
        assert_eq!(frame.consumed, 4);
    }

    #[test]
    fn an_error_stays_an_error() {
        let mut decoder = Decoder::new(Framing::LengthPrefix, 64).unwrap();
        let first = decoder.decode(&[200]).unwrap_err();
        assert_eq!(
            first,
            FramingError::MessageTooLarge {
                size: 201,
                limit: 64
            }
        );
        assert_eq!(decoder.decode(&[200, 1, 2, 3]).unwrap_err(), first);
    }
}
