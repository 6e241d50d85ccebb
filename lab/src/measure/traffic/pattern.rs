//! The content of messages as slices of two precomputed waves.
//!
//! Byte `i` of a windowed message is `sequence + 17 i + 31 id` and byte `b` of a message in a batch
//! is `31 sequence + 17 id + b`, both modulo 256. Each is a wave of period 256 that begins somewhere,
//! so that filling is one copy and checking is one comparison of memory: some 15 ns per KiB, where
//! the formulas would cost more than the sockets' own share of a message.

use super::message::HEADER;

const PERIOD: usize = 256;

/// 17 x 241 = 1 modulo 256: how far into the wave of 17 a value lies.
const INVERSE_OF_17: u64 = 241;

/// The content of all messages of one size.
#[derive(Debug)]
pub struct Pattern {
    payload: usize,
    by_17: Box<[u8]>,
    by_1: Box<[u8]>,
}

impl Pattern {
    /// The content of messages of `payload` bytes.
    pub fn new(payload: usize) -> Self {
        let wave = |step: usize| (0..payload + PERIOD).map(|i| (i * step) as u8).collect();
        Pattern {
            payload,
            by_17: wave(17),
            by_1: wave(1),
        }
    }

    /// What follows the header in message `sequence` of client `id`.
    #[inline]
    pub fn windowed(&self, sequence: u64, id: u32) -> &[u8] {
        let base = sequence.wrapping_add(u64::from(id).wrapping_mul(31));
        let start = (base.wrapping_mul(INVERSE_OF_17) % PERIOD as u64) as usize;
        self.by_17
            .get(start + HEADER..start + self.payload)
            .unwrap_or_default()
    }

    /// Message `sequence` of client `id` in a batch.
    #[inline]
    pub fn batch(&self, sequence: u64, id: u32) -> &[u8] {
        let base = sequence
            .wrapping_mul(31)
            .wrapping_add(u64::from(id).wrapping_mul(17));
        let start = (base % PERIOD as u64) as usize;
        self.by_1
            .get(start..start + self.payload)
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_windowed_message_follows_its_formula() {
        for payload in [16, 17, 1024, 65_507] {
            let pattern = Pattern::new(payload);
            for (sequence, id) in [
                (0, 0),
                (1, 0),
                (0, 1),
                (1_000_003, 63),
                (u64::MAX, u32::MAX),
            ] {
                let body = pattern.windowed(sequence, id);
                assert_eq!(body.len(), payload - 16);
                for (i, byte) in (16_u64..).zip(body) {
                    let sum = u128::from(sequence) + 17 * u128::from(i) + 31 * u128::from(id);
                    assert_eq!(u128::from(*byte), sum % 256);
                }
            }
        }
    }

    #[test]
    fn a_message_of_a_batch_follows_its_formula() {
        let pattern = Pattern::new(600);
        for (sequence, id) in [(0, 0), (9, 1), (77_777, 63)] {
            let body = pattern.batch(sequence, id);
            assert_eq!(body.len(), 600);
            for (b, byte) in (0_u64..).zip(body) {
                assert_eq!(
                    u64::from(*byte),
                    (31 * sequence + 17 * u64::from(id) + b) % 256
                );
            }
        }
    }
}
