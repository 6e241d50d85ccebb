//! A framing of one's own.

use std::fmt;

use super::decoder::{Frame, Step, too_large};
use super::{FramingError, Prefix};

/// Says where messages end, for [`Framing::Custom`](super::Framing::Custom).
///
/// One value serves every connection of an endpoint, so it holds no state of any: what is to be
/// remembered of an unfinished message is the number of bytes that were scanned.
///
/// ```
/// use arknet_proto::framing::{Frame, Framer, FramingError, Prefix, Step};
///
/// /// A type byte, which is delivered, then one byte of length.
/// #[derive(Debug)]
/// struct Tagged;
///
/// impl Framer for Tagged {
///     fn decode(&self, buffered: &[u8], _: usize, _: usize) -> Result<Step, FramingError> {
///         let [_tag, len, ..] = *buffered else {
///             return Ok(Step::Incomplete { scanned: 0, needed: 2 });
///         };
///         let consumed = 2 + usize::from(len);
///         if buffered.len() < consumed {
///             return Ok(Step::Incomplete { scanned: 0, needed: consumed });
///         }
///         Ok(Step::Frame(Frame { start: 0, end: consumed, consumed }))
///     }
/// }
/// ```
pub trait Framer: Send + Sync + fmt::Debug {
    /// Looks for the end of the message that begins with the first byte of `buffered`.
    ///
    /// `scanned` is what the last [`Step::Incomplete`] for this message said, otherwise zero.
    /// `limit` is the largest message in bytes; no more than that many bytes are offered. The
    /// answer must depend on the bytes alone, not on how they came in pieces. It is checked:
    /// [`FramingError::InvalidFrame`] ends the connection, so a faulty framing cannot hurt more
    /// than its own endpoint.
    ///
    /// # Errors
    ///
    /// A rule of this framing that the peer broke, see [`FramingError::custom`].
    fn decode(&self, buffered: &[u8], scanned: usize, limit: usize) -> Result<Step, FramingError>;

    /// Writes what goes before a payload of `payload_len` bytes, nothing by default.
    ///
    /// # Errors
    ///
    /// A payload that this framing does not allow.
    fn encode_prefix(&self, payload_len: usize, prefix: &mut Prefix) -> Result<(), FramingError> {
        let _ = (payload_len, prefix);
        Ok(())
    }
}

/// Asks `framer` and believes nothing.
pub(super) fn decode(
    framer: &dyn Framer,
    buffered: &[u8],
    scanned: usize,
    limit: usize,
) -> Result<Step, FramingError> {
    let within = buffered.get(..limit).unwrap_or(buffered);
    match framer.decode(within, scanned.min(within.len()), limit)? {
        Step::Frame(frame) => checked(frame, within.len()),
        Step::Incomplete { .. } if within.len() == limit => Err(FramingError::Unfinished { limit }),
        Step::Incomplete { needed, .. } if needed > limit => {
            Err(too_large(0, needed as u64, limit))
        }
        Step::Incomplete { scanned, needed } => Ok(Step::Incomplete {
            scanned: scanned.min(within.len()),
            needed: needed.max(within.len() + 1),
        }),
    }
}

/// The prefix that `framer` writes.
pub(super) fn prefix(framer: &dyn Framer, payload_len: usize) -> Result<Prefix, FramingError> {
    let mut prefix = Prefix::EMPTY;
    framer.encode_prefix(payload_len, &mut prefix)?;
    Ok(prefix)
}

fn checked(frame: Frame, available: usize) -> Result<Step, FramingError> {
    let Frame {
        start,
        end,
        consumed,
    } = frame;
    let holds = start <= end && end <= consumed && 0 < consumed && consumed <= available;
    if !holds {
        return Err(FramingError::InvalidFrame {
            start,
            end,
            consumed,
            available,
        });
    }
    Ok(Step::Frame(frame))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framing::{Decoder, Framing};

    /// Text in brackets, which are not delivered: a framing with a trailer.
    #[derive(Debug)]
    struct Bracketed;

    impl Framer for Bracketed {
        fn decode(&self, buffered: &[u8], scanned: usize, _: usize) -> Result<Step, FramingError> {
            match buffered.first() {
                Some(b'[') | None => {}
                Some(other) => {
                    let found = other.escape_ascii();
                    return Err(FramingError::custom(format!(
                        "message begins with {found}, not ["
                    )));
                }
            }
            let fresh = buffered.get(scanned..).unwrap_or(&[]);
            Ok(match fresh.iter().position(|byte| *byte == b']') {
                Some(found) => {
                    let end = scanned + found;
                    Step::Frame(Frame {
                        start: 1,
                        end,
                        consumed: end + 1,
                    })
                }
                None => Step::Incomplete {
                    scanned: buffered.len(),
                    needed: 0,
                },
            })
        }

        fn encode_prefix(&self, _: usize, prefix: &mut Prefix) -> Result<(), FramingError> {
            prefix.push(b"[")
        }
    }

    /// Answers the same to everything.
    #[derive(Debug)]
    struct Stubborn(Step);

    impl Framer for Stubborn {
        fn decode(&self, _: &[u8], _: usize, _: usize) -> Result<Step, FramingError> {
            Ok(self.0)
        }
    }

    fn answer(step: Step, received: &[u8]) -> Result<Option<Frame>, FramingError> {
        Decoder::new(Framing::custom(Stubborn(step)), 8)
            .unwrap()
            .decode(received)
    }

    #[test]
    fn brackets_come_in_pieces_and_go_without_their_brackets() {
        let mut decoder = Decoder::new(Framing::custom(Bracketed), 8).unwrap();
        assert_eq!(decoder.decode(b"").unwrap(), None);
        assert_eq!(decoder.decode(b"[ab").unwrap(), None);
        assert_eq!(decoder.needed(), 4);
        let received = b"[abc][";
        let frame = decoder.decode(received).unwrap().unwrap();
        assert_eq!(frame.payload(received), b"abc");
        assert_eq!(frame.consumed, 5);
        assert_eq!(decoder.framing().prefix(3).unwrap().as_slice(), b"[");
    }

    #[test]
    fn its_own_rules_have_its_own_words() {
        let mut decoder = Decoder::new(Framing::custom(Bracketed), 8).unwrap();
        let refused = decoder.decode(b"\n").unwrap_err();
        assert_eq!(refused.to_string(), r"message begins with \n, not [");
    }

    #[test]
    fn an_unfinished_message_may_not_grow_past_the_limit() {
        let mut decoder = Decoder::new(Framing::custom(Bracketed), 8).unwrap();
        assert_eq!(decoder.decode(b"[234567").unwrap(), None);
        let refused = FramingError::Unfinished { limit: 8 };
        assert_eq!(decoder.decode(b"[2345678").unwrap_err(), refused);
        assert_eq!(decoder.decode(b"[2345678]").unwrap_err(), refused);

        let wants_nine = Step::Incomplete {
            scanned: 0,
            needed: 9,
        };
        let refused = FramingError::MessageTooLarge { size: 9, limit: 8 };
        assert_eq!(answer(wants_nine, b"abc").unwrap_err(), refused);
    }

    #[test]
    fn a_faulty_framing_is_caught() {
        for (start, end, consumed) in [(0, 0, 0), (2, 1, 3), (0, 3, 2), (0, 3, 4), (0, 4, 4)] {
            let step = Step::Frame(Frame {
                start,
                end,
                consumed,
            });
            let caught = FramingError::InvalidFrame {
                start,
                end,
                consumed,
                available: 3,
            };
            assert_eq!(answer(step, b"abc").unwrap_err(), caught);
        }
        let boast = Step::Incomplete {
            scanned: usize::MAX,
            needed: 0,
        };
        assert_eq!(answer(boast, b"abc").unwrap(), None);
    }
}
