//! When a percentile may be quoted.

/// Samples that must lie above a percentile. With fewer, its own uncertainty is larger than what
/// anybody compares it for: the P99 of 1,024 samples has 10 above, and a 95 % interval from the
/// 98.3rd to the 99.5th percentile.
pub const SAMPLES_ABOVE: f64 = 50.0;

/// Samples above the quantile `q` (0 to 1) out of `observations`.
#[must_use]
#[allow(
    clippy::cast_precision_loss,
    reason = "observations stay far below 2^53"
)]
pub fn samples_above(observations: u64, q: f64) -> f64 {
    observations as f64 * (1.0 - q)
}

/// Whether the quantile may be quoted.
#[must_use]
pub fn supported(observations: u64, q: f64) -> bool {
    // A millionth of a sample forgives the rounding of 1 - q.
    samples_above(observations, q) + 1e-6 >= SAMPLES_ABOVE
}

#[cfg(test)]
mod tests {
    use super::supported;

    #[test]
    fn fifty_samples_above_are_enough_and_forty_nine_are_not() {
        assert!(supported(5_000, 0.99));
        assert!(!supported(4_999, 0.99));
        assert!(supported(50_000, 0.999));
        assert!(supported(100, 0.5));
        assert!(!supported(0, 0.5));
    }
}
