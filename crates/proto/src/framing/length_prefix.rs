//! A length of one, three or nine bytes, then the payload.

use super::decoder::{Frame, Step, prefixed, too_large};
use super::{FramingError, Prefix, ShortPrefix};

/// The longest payload whose length is a single byte.
pub(super) const LARGEST_SHORT: u8 = 253;
/// Bytes of the longest prefix, a marker and a `u64`.
pub(super) const LONGEST_PREFIX: usize = 9;

const MEDIUM: u8 = 254;
const LONG: u8 = 255;
const MEDIUM_PREFIX: usize = 3;
const SHORT_MAX: u64 = LARGEST_SHORT as u64;
const MEDIUM_MAX: u64 = u16::MAX as u64;

/// What most calls find, in few instructions: a whole message in one of the two short forms, within the limit.
#[inline(always)]
pub(super) fn whole(buffered: &[u8], limit: usize) -> Option<Frame> {
    let word = u32::from_le_bytes(*buffered.first_chunk()?);
    let first = word & 0xff;
    let (start, len) = if first <= u32::from(LARGEST_SHORT) {
        (1, first)
    } else {
        let len = word >> 8 & u32::from(u16::MAX);
        if first != u32::from(MEDIUM) || len <= u32::from(LARGEST_SHORT) {
            return None;
        }
        (MEDIUM_PREFIX, len)
    };
    let end = start + len as usize;
    (end <= buffered.len() && end <= limit).then_some(Frame {
        start,
        end,
        consumed: end,
    })
}

/// Everything else. `limit` is at least `LONGEST_PREFIX`.
#[inline(never)]
pub(super) fn decode(buffered: &[u8], limit: usize) -> Result<Step, FramingError> {
    match *buffered {
        [len @ ..=LARGEST_SHORT, ..] => prefixed(1, usize::from(len), buffered.len(), limit),
        [MEDIUM, low, high, ..] => {
            let len = u16::from_le_bytes([low, high]);
            if len <= u16::from(LARGEST_SHORT) {
                return Err(non_canonical(MEDIUM, u64::from(len)));
            }
            prefixed(MEDIUM_PREFIX, usize::from(len), buffered.len(), limit)
        }
        _ => decode_rare(buffered, limit),
    }
}

/// The prefix of a payload of `len` bytes, in the only form that is allowed for it.
#[inline]
pub(super) fn prefix(len: usize) -> Prefix {
    let len = len as u64;
    if len <= SHORT_MAX {
        Prefix::of_word(len, 1)
    } else if len <= MEDIUM_MAX {
        Prefix::of_word(len << 8 | u64::from(MEDIUM), 3)
    } else {
        long_prefix(len)
    }
}

/// The prefix of a payload of `len` bytes, unless it is a long one.
#[inline(always)]
pub(super) fn short_prefix(len: usize) -> Option<ShortPrefix> {
    let len = u32::from(u16::try_from(len).ok()?);
    Some(if len <= u32::from(LARGEST_SHORT) {
        ShortPrefix::of_word(len, 1)
    } else {
        ShortPrefix::of_word(len << 8 | u32::from(MEDIUM), 3)
    })
}

/// The long form, and prefixes that have not come whole.
#[cold]
#[inline(never)]
fn decode_rare(buffered: &[u8], limit: usize) -> Result<Step, FramingError> {
    let length = match *buffered {
        [LONG, a, b, c, d, e, f, g, h, ..] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        [LONG, ..] => return Ok(incomplete(LONGEST_PREFIX)),
        [_, ..] => return Ok(incomplete(MEDIUM_PREFIX)),
        [] => return Ok(incomplete(1)),
    };
    if length <= MEDIUM_MAX {
        return Err(non_canonical(LONG, length));
    }
    // What no address can reach exceeds every limit.
    let len = usize::try_from(length).map_err(|_| too_large(LONGEST_PREFIX, length, limit))?;
    prefixed(LONGEST_PREFIX, len, buffered.len(), limit)
}

fn incomplete(needed: usize) -> Step {
    Step::Incomplete { scanned: 0, needed }
}

#[cold]
#[inline(never)]
fn non_canonical(marker: u8, len: u64) -> FramingError {
    FramingError::NonCanonicalPrefix { marker, len }
}

#[cold]
#[inline(never)]
fn long_prefix(len: u64) -> Prefix {
    let mut prefix = Prefix::of_word(u64::from(LONG), 1);
    let pushed = prefix.push(&len.to_le_bytes());
    debug_assert!(pushed.is_ok(), "nine bytes fit a prefix");
    prefix
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framing::{Decoder, Framing};

    const LIMIT: usize = 16 << 20;

    fn refusal(received: &[u8], limit: usize) -> FramingError {
        let mut decoder = Decoder::new(Framing::LengthPrefix, limit).unwrap();
        decoder.decode(received).unwrap_err()
    }

    #[test]
    fn every_boundary_has_its_form() {
        let forms: [(usize, &[u8]); 7] = [
            (0, &[0]),
            (1, &[1]),
            (253, &[253]),
            (254, &[254, 254, 0]),
            (65_535, &[254, 255, 255]),
            (65_536, &[255, 0, 0, 1, 0, 0, 0, 0, 0]),
            (16 << 20, &[255, 0, 0, 0, 1, 0, 0, 0, 0]),
        ];
        for (len, wire) in forms {
            assert_eq!(prefix(len).as_slice(), wire, "{len} bytes");
            let mut short = Vec::new();
            let is_short = short_prefix(len).map(|prefix| prefix.append_to(&mut short));
            assert_eq!(is_short.is_some(), wire.len() < LONGEST_PREFIX);
            assert!(is_short.is_none() || short == wire, "{len} bytes");
        }
    }

    #[test]
    fn three_messages_keep_their_order() {
        let mut stream = Vec::new();
        for message in [b"first".to_vec(), vec![b'x'; 8_000], b"third".to_vec()] {
            stream.extend_from_slice(prefix(message.len()).as_slice());
            stream.extend_from_slice(&message);
        }
        let mut decoder = Decoder::new(Framing::LengthPrefix, LIMIT).unwrap();
        let mut rest = stream.as_slice();
        let mut lengths = Vec::new();
        while let Some(frame) = decoder.decode(rest).unwrap() {
            lengths.push(frame.payload(rest).len());
            rest = rest.split_at(frame.consumed).1;
        }
        assert_eq!(lengths, [5, 8_000, 5]);
        assert!(rest.is_empty());
    }

    #[test]
    fn an_empty_message_is_a_message() {
        let mut decoder = Decoder::new(Framing::LengthPrefix, LIMIT).unwrap();
        let frame = decoder.decode(&[0, 0]).unwrap().unwrap();
        assert_eq!((frame.start, frame.end, frame.consumed), (1, 1, 1));
    }

    #[test]
    fn an_incomplete_message_says_how_much_it_wants() {
        let mut decoder = Decoder::new(Framing::LengthPrefix, LIMIT).unwrap();
        let told: [(&[u8], usize); 7] = [
            (&[], 1),
            (&[5, 1], 6),
            (&[254], 3),
            (&[254, 0], 3),
            (&[254, 0, 1], 259),
            (&[255, 0, 0, 1, 0, 0, 0, 0], 9),
            (&[255, 0, 0, 1, 0, 0, 0, 0, 0], 65_545),
        ];
        for (received, needed) in told {
            assert_eq!(decoder.decode(received).unwrap(), None);
            assert_eq!(decoder.needed(), needed, "{received:?}");
        }
    }

    #[test]
    fn a_longer_form_than_needed_is_refused() {
        let refused = FramingError::NonCanonicalPrefix {
            marker: 254,
            len: 253,
        };
        assert_eq!(refusal(&[254, 253, 0], LIMIT), refused);
        let refused = FramingError::NonCanonicalPrefix {
            marker: 255,
            len: 65_535,
        };
        assert_eq!(refusal(&[255, 255, 255, 0, 0, 0, 0, 0, 0], LIMIT), refused);
        let refused = FramingError::NonCanonicalPrefix {
            marker: 255,
            len: 0,
        };
        assert_eq!(refusal(&[255, 0, 0, 0, 0, 0, 0, 0, 0], LIMIT), refused);
    }

    #[test]
    fn the_limit_counts_the_prefix_and_holds_as_soon_as_it_is_read() {
        let mut decoder = Decoder::new(Framing::LengthPrefix, 101).unwrap();
        assert_eq!(decoder.decode(&[100]).unwrap(), None);
        assert_eq!(
            refusal(&[101], 101),
            FramingError::MessageTooLarge {
                size: 102,
                limit: 101
            }
        );

        let refused = FramingError::MessageTooLarge {
            size: 1_001,
            limit: 1_000,
        };
        assert_eq!(refusal(&[254, 0xe6, 0x03], 1_000), refused);

        let refused = FramingError::MessageTooLarge {
            size: 65_545,
            limit: 65_544,
        };
        assert_eq!(refusal(&[255, 0, 0, 1, 0, 0, 0, 0, 0], 65_544), refused);
    }

    #[test]
    fn nine_full_bytes_exceed_every_limit() {
        let refused = FramingError::MessageTooLarge {
            size: u64::MAX,
            limit: usize::MAX,
        };
        assert_eq!(refusal(&[255; 9], usize::MAX), refused);
    }
}
