//! The work that a server does for a message before it answers.
//!
//! A 64-bit xorshift generator whose steps depend on each other, so that neither the compiler nor
//! the processor can shorten it.

use std::hint::black_box;

/// Runs `steps` steps of the generator, seeded from the message's last byte plus one.
#[inline]
pub fn work(message: &[u8], steps: u32) {
    if steps != 0 {
        black_box(advance(seed(message), steps));
    }
}

fn seed(message: &[u8]) -> u64 {
    message.last().map_or(1, |last| u64::from(*last) + 1)
}

fn advance(mut state: u64, steps: u32) -> u64 {
    for _ in 0..steps {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_is_the_last_byte_plus_one() {
        assert_eq!(seed(&[]), 1);
        assert_eq!(seed(&[9, 0]), 1);
        assert_eq!(seed(&[0, 255]), 256);
    }

    #[test]
    fn one_step_is_13_7_17() {
        // 1 -> 0x2001 -> 0x2041 -> 0x2041 ^ 0x4082_0000
        assert_eq!(advance(1, 1), 0x4082_2041);
        assert_eq!(advance(1, 0), 1);
        assert_eq!(advance(1, 3), advance(advance(1, 1), 2));
    }
}
