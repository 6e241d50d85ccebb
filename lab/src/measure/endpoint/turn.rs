//! One reading of the clock for all messages of a turn, as the native machines do it.

use crate::measure::clock::Clock;

/// Messages that share a reading at most: a client that is stuck with its sends for long still
/// notices the time.
const SHARED_BY: u32 = 16;

/// The last reading, and by how many messages it was used.
#[derive(Debug, Default)]
pub(super) struct Turn {
    now: u64,
    uses: u32,
}

impl Turn {
    /// The time; read again when a turn has begun.
    #[inline]
    pub(super) fn now(&mut self, clock: &Clock, begun: bool) -> u64 {
        if begun || self.uses >= SHARED_BY {
            self.now = clock.now();
            self.uses = 0;
        }
        self.uses += 1;
        self.now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_is_shared_by_a_turn_and_by_sixteen_at_most() {
        let clock = Clock::start();
        let mut turn = Turn::default();
        let first = turn.now(&clock, true);
        for _ in 1..SHARED_BY {
            assert_eq!(turn.now(&clock, false), first);
        }
        assert!(turn.now(&clock, false) > first);
        assert!(turn.now(&clock, true) > first);
    }
}
