//! The sixteen bytes that a windowed message begins with.
//!
//! ```text
//! 0..3    "ANB"
//! 3       phase: 0 warm-up, 1 measured
//! 4..8    client, big-endian
//! 8..16   sequence, big-endian, counted per client over both phases
//! ```

use crate::measure::run::Phase;

/// Bytes of the header.
pub const HEADER: usize = 16;

/// What every message begins with.
pub const MAGIC: [u8; 3] = *b"ANB";

/// The part of the header that is the same for all messages of a client and phase, then the
/// sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Phase tag as it came, 0 or 1 when valid.
    pub tag: u8,
    /// The client that sent the message.
    pub client: u32,
    /// The message's number.
    pub sequence: u64,
}

impl Header {
    /// The header of a message.
    pub fn new(phase: Phase, client: u32, sequence: u64) -> Self {
        Header {
            tag: phase as u8,
            client,
            sequence,
        }
    }

    /// The header on the wire.
    #[inline]
    pub fn encode(self) -> [u8; HEADER] {
        let [m0, m1, m2] = MAGIC;
        let [c0, c1, c2, c3] = self.client.to_be_bytes();
        let first = u64::from_be_bytes([m0, m1, m2, self.tag, c0, c1, c2, c3]);
        (u128::from(first) << 64 | u128::from(self.sequence)).to_be_bytes()
    }

    /// The header of a message; `None` when the message is too short, or its magic or tag is wrong.
    #[inline]
    pub fn decode(message: &[u8]) -> Option<Self> {
        let (head, _) = message.split_first_chunk::<HEADER>()?;
        let bits = u128::from_be_bytes(*head);
        let [m0, m1, m2, tag, c0, c1, c2, c3] = ((bits >> 64) as u64).to_be_bytes();
        let valid = [m0, m1, m2] == MAGIC && tag <= 1;
        let client = u32::from_be_bytes([c0, c1, c2, c3]);
        valid.then_some(Header {
            tag,
            client,
            sequence: bits as u64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_laid_out_as_the_original_does_it() {
        let wire = Header::new(Phase::Measured, 0x0102_0304, 0x0506_0708_090a_0b0c).encode();
        assert_eq!(
            wire,
            *b"ANB\x01\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c"
        );
    }

    #[test]
    fn what_was_encoded_is_decoded() {
        let header = Header::new(Phase::Warmup, 1023, 1 << 40);
        assert_eq!(Header::decode(&header.encode()), Some(header));
    }

    #[test]
    fn short_messages_wrong_magic_and_wrong_tags_are_refused() {
        let wire = Header::new(Phase::Warmup, 1, 2).encode();
        assert_eq!(Header::decode(&wire[..15]), None);
        for (at, byte) in [(0, b'a'), (1, b'n'), (2, b'b'), (3, 2)] {
            let mut bad = wire;
            bad[at] = byte;
            assert_eq!(Header::decode(&bad), None);
        }
    }
}
