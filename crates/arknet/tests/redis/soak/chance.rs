//! Chance that a seed repeats, as far as threads and sockets let it.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;
use std::time::{SystemTime, UNIX_EPOCH};

/// SplitMix64 (Steele, Lea and Flood, 2014).
pub(super) struct Chance(u64);

impl Chance {
    /// Another one for each user of the same seed.
    pub(super) fn new(seed: u64, user: u64) -> Self {
        let mut chance = Self(seed ^ user.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        chance.next();
        chance
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }

    pub(super) fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }
}

/// A seed for a run that none was given to.
pub(super) fn any() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(1, |now| u64::from(now.subsec_nanos()))
}

/// Waits for a future, or drops it on the way, one time in so many.
pub(super) async fn perhaps<F: Future>(
    chance: &mut Chance,
    one_in: u64,
    future: F,
) -> Option<F::Output> {
    if !chance.one_in(one_in) {
        return Some(future.await);
    }
    let mut future = pin!(future);
    for _ in 0..chance.below(30) {
        if let Poll::Ready(output) = futures_util::poll!(future.as_mut()) {
            return Some(output);
        }
        tokio::task::yield_now().await;
    }
    None
}
