//! Chance that repeats itself.

/// SplitMix64 (Steele, Lea and Flood, 2014): every seed will do, and the same one gives the same numbers
/// on every platform and in every version.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn bit(&mut self) -> bool {
        self.next() >> 63 == 1
    }

    /// From 1 to `most`; 1 where that is less.
    pub(super) fn up_to(&mut self, most: usize) -> usize {
        let range = most.max(1) as u64;
        usize::try_from(self.next() % range).unwrap_or(0) + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_itself_and_stays_in_range() {
        let (mut one, mut same, mut other) = (Random::new(1), Random::new(1), Random::new(2));
        let drawn: Vec<usize> = (0..100).map(|_| one.up_to(6)).collect();
        assert_eq!(drawn, (0..100).map(|_| same.up_to(6)).collect::<Vec<_>>());
        assert_ne!(drawn, (0..100).map(|_| other.up_to(6)).collect::<Vec<_>>());
        assert!((1..=6).all(|number| drawn.contains(&number)));
        assert_eq!(one.up_to(0), 1);
    }
}
