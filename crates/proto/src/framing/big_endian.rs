//! A big-endian length of a fixed width, then the payload.

use super::decoder::{Step, prefixed, too_large};
use super::{FramingError, InvalidFraming, Prefix};

/// How many bytes a big-endian length has: one to eight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PrefixWidth(u8);

impl PrefixWidth {
    /// Two bytes: payloads to 65,535 bytes.
    pub const TWO: Self = Self(2);
    /// Four bytes: payloads to 4,294,967,295 bytes.
    pub const FOUR: Self = Self(4);
    /// Eight bytes.
    pub const EIGHT: Self = Self(8);

    /// A width of `bytes`.
    ///
    /// # Errors
    ///
    /// [`InvalidFraming::Width`] unless `bytes` is 1 to 8.
    pub const fn new(bytes: u8) -> Result<Self, InvalidFraming> {
        match bytes {
            1..=8 => Ok(Self(bytes)),
            width => Err(InvalidFraming::Width { width }),
        }
    }

    /// The width in bytes.
    #[must_use]
    pub const fn get(self) -> usize {
        self.0 as usize
    }

    /// The largest length that can be written in so many bytes.
    const fn largest(self) -> u64 {
        u64::MAX >> self.unused_bits()
    }

    /// What a length leaves of a 64-bit word.
    const fn unused_bits(self) -> u32 {
        u64::BITS - 8 * self.0 as u32
    }
}

/// The first message. `limit` is at least `width`.
pub(super) fn decode(
    width: PrefixWidth,
    max: usize,
    buffered: &[u8],
    limit: usize,
) -> Result<Step, FramingError> {
    let prefix = width.get();
    let Some(length) = read(width, buffered) else {
        return Ok(Step::Incomplete {
            scanned: 0,
            needed: prefix,
        });
    };
    if length > max as u64 {
        return Err(FramingError::PayloadTooLarge {
            len: length,
            max: allowed(width, max),
        });
    }
    let len = usize::try_from(length).map_err(|_| too_large(prefix, length, limit))?;
    prefixed(prefix, len, buffered.len(), limit)
}

/// The prefix of a payload of `len` bytes.
pub(super) fn prefix(width: PrefixWidth, max: usize, len: usize) -> Result<Prefix, FramingError> {
    let (len, max) = (len as u64, allowed(width, max));
    if len > max {
        return Err(FramingError::PayloadTooLarge { len, max });
    }
    Ok(Prefix::of_word(
        len.swap_bytes() >> width.unused_bits(),
        width.0,
    ))
}

/// The length, once all of it is there. Whole words are read at once, since they nearly always can.
fn read(width: PrefixWidth, buffered: &[u8]) -> Option<u64> {
    if let Some(word) = buffered.first_chunk() {
        return Some(u64::from_be_bytes(*word) >> width.unused_bits());
    }
    let written = buffered.get(..width.get())?;
    Some(
        written
            .iter()
            .fold(0, |length, byte| length << 8 | u64::from(*byte)),
    )
}

/// The largest payload, by what is configured and by what can be written.
fn allowed(width: PrefixWidth, max: usize) -> u64 {
    width.largest().min(max as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framing::{Decoder, Framing};

    const LIMIT: usize = 16 << 20;

    fn decoder(width: u8, max: usize, limit: usize) -> Decoder {
        Decoder::new(Framing::big_endian(width, max).unwrap(), limit).unwrap()
    }

    #[test]
    fn lengths_are_written_high_byte_first() {
        let framing = Framing::BigEndian {
            width: PrefixWidth::TWO,
            max: LIMIT,
        };
        assert_eq!(framing.prefix(0x0102).unwrap().as_slice(), [1, 2]);
        let framing = Framing::BigEndian {
            width: PrefixWidth::FOUR,
            max: LIMIT,
        };
        assert_eq!(framing.prefix(0x0102).unwrap().as_slice(), [0, 0, 1, 2]);
        let framing = Framing::BigEndian {
            width: PrefixWidth::EIGHT,
            max: LIMIT,
        };
        assert_eq!(
            framing.prefix(0x0102).unwrap().as_slice(),
            [0, 0, 0, 0, 0, 0, 1, 2]
        );
    }

    #[test]
    fn a_message_is_delivered_without_its_prefix() {
        let mut decoder = decoder(2, LIMIT, LIMIT);
        let received = b"\x00\x02hi\x00\x00";
        let first = decoder.decode(received).unwrap().unwrap();
        assert_eq!(first.payload(received), b"hi");
        let rest = received.split_at(first.consumed).1;
        let empty = decoder.decode(rest).unwrap().unwrap();
        assert_eq!((empty.start, empty.end, empty.consumed), (2, 2, 2));
    }

    #[test]
    fn an_incomplete_message_says_how_much_it_wants() {
        let mut decoder = decoder(4, LIMIT, LIMIT);
        assert_eq!(decoder.decode(&[0, 0, 1]).unwrap(), None);
        assert_eq!(decoder.needed(), 4);
        assert_eq!(decoder.decode(&[0, 0, 1, 0]).unwrap(), None);
        assert_eq!(decoder.needed(), 260);
    }

    #[test]
    fn a_payload_beyond_the_framings_own_maximum_is_refused_both_ways() {
        let refused = FramingError::PayloadTooLarge { len: 101, max: 100 };
        assert_eq!(
            decoder(4, 100, LIMIT).decode(&[0, 0, 0, 101]).unwrap_err(),
            refused
        );
        assert_eq!(
            decoder(4, 100, LIMIT).decode(&[0, 0, 0, 100]).unwrap(),
            None
        );
        let framing = Framing::big_endian(4, 100).unwrap();
        assert_eq!(framing.prefix(101).unwrap_err(), refused);
        assert!(framing.prefix(100).is_ok());
    }

    #[test]
    fn a_payload_that_the_width_cannot_express_is_not_sent() {
        let framing = Framing::big_endian(2, LIMIT).unwrap();
        assert_eq!(framing.prefix(65_535).unwrap().as_slice(), [255, 255]);
        let refused = FramingError::PayloadTooLarge {
            len: 65_536,
            max: 65_535,
        };
        assert_eq!(framing.prefix(65_536).unwrap_err(), refused);
    }

    #[test]
    fn the_limit_counts_the_prefix() {
        assert_eq!(decoder(2, LIMIT, 102).decode(&[0, 100]).unwrap(), None);
        let refused = FramingError::MessageTooLarge {
            size: 103,
            limit: 102,
        };
        assert_eq!(
            decoder(2, LIMIT, 102).decode(&[0, 101]).unwrap_err(),
            refused
        );
    }

    #[test]
    fn eight_full_bytes_exceed_every_limit() {
        let refused = FramingError::MessageTooLarge {
            size: u64::MAX,
            limit: usize::MAX,
        };
        assert_eq!(
            decoder(8, usize::MAX, usize::MAX)
                .decode(&[255; 8])
                .unwrap_err(),
            refused
        );
    }
}
