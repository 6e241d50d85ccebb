//! Round-trip times: every operation into an HDR histogram, no sample dropped.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};

/// The largest time that is told apart, in nanoseconds: no drain lasts longer.
const LONGEST_NS: u64 = 60_000_000_000;

/// Significant digits: 0.1 % is finer than two runs of the same program agree.
const DIGITS: u8 = 3;

/// Samples that must lie above a percentile before it may be quoted without a mark.
pub const SAMPLES_ABOVE: f64 = 50.0;

/// The round-trip times of one client in one phase.
#[derive(Debug)]
pub struct Latency {
    histogram: Histogram<u64>,
}

impl Latency {
    /// No samples yet.
    pub fn new() -> Self {
        #[allow(
            clippy::expect_used,
            reason = "the bounds are constants that a test has tried"
        )]
        let histogram = Histogram::new_with_bounds(1, LONGEST_NS, DIGITS)
            .expect("the constant bounds of a histogram are valid");
        Latency { histogram }
    }

    /// Adds one time, in nanoseconds; longer ones than a minute count as a minute.
    #[inline]
    pub fn record(&mut self, nanoseconds: u64) {
        self.histogram.saturating_record(nanoseconds.max(1));
    }

    /// Adds the samples of another client.
    pub fn merge(&mut self, other: &Latency) {
        // Both have the same bounds, so that every value of one fits into the other.
        let _ = self.histogram.add(&other.histogram);
    }

    /// How many times were recorded.
    pub fn len(&self) -> u64 {
        self.histogram.len()
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The time below which a share of `quantile` (0 to 1) of the samples lies, in microseconds;
    /// zero when there are none.
    pub fn quantile_us(&self, quantile: f64) -> f64 {
        if self.is_empty() {
            return 0.0;
        }
        self.histogram.value_at_quantile(quantile) as f64 / 1_000.0
    }

    /// Whether at least 50 samples lie above the quantile.
    pub fn supports(&self, quantile: f64) -> bool {
        // A millionth of a sample forgives the rounding of 1 - q.
        self.len() as f64 * (1.0 - quantile) + 1e-6 >= SAMPLES_ABOVE
    }

    /// The histogram in nanoseconds, V2 with deflate, in base64, as every HDR tool reads it.
    pub fn encoded(&self) -> Option<String> {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&self.histogram, &mut bytes)
            .ok()?;
        Some(base64(&bytes))
    }
}

impl Default for Latency {
    fn default() -> Self {
        Latency::new()
    }
}

/// RFC 4648 section 4, padded.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |i: usize| u32::from(group.get(i).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            if digit > group.len() {
                text.push('=');
                continue;
            }
            let index = bits >> (18 - 6 * digit) & 63;
            text.push(char::from(ALPHABET[index as usize]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_pads_as_the_rfc_does() {
        let cases = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
        ];
        for (plain, coded) in cases {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }

    #[test]
    fn quantiles_are_within_a_thousandth() {
        let mut latency = Latency::new();
        for us in 1..=10_000 {
            latency.record(us * 1_000);
        }
        assert_eq!(latency.len(), 10_000);
        for (quantile, expected) in [(0.5, 5_000.0), (0.95, 9_500.0), (0.99, 9_900.0)] {
            let found = latency.quantile_us(quantile);
            assert!(
                (found / expected - 1.0).abs() <= 0.001,
                "{found} is not {expected}"
            );
        }
    }

    #[test]
    fn a_percentile_needs_fifty_samples_above_it() {
        let mut latency = Latency::new();
        for _ in 0..999 {
            latency.record(5);
        }
        assert!(latency.supports(0.5));
        assert!(!latency.supports(0.95));
        latency.record(5);
        assert!(latency.supports(0.95));
        assert!(!latency.supports(0.99));
    }

    #[test]
    fn nothing_recorded_is_zero_and_a_long_time_is_a_minute() {
        let mut latency = Latency::new();
        assert_eq!(latency.quantile_us(0.99), 0.0);
        latency.record(u64::MAX);
        assert!(latency.quantile_us(0.99) >= 60_000_000.0);
    }

    #[test]
    fn what_is_encoded_can_be_read_by_the_crate() {
        let mut latency = Latency::new();
        latency.record(1_234);
        let mut merged = Latency::new();
        merged.record(99);
        merged.merge(&latency);
        assert_eq!(merged.len(), 2);
        // The cookie of V2 with deflate, 0x1c849314, is what every encoding begins with.
        assert!(
            merged
                .encoded()
                .is_some_and(|text| text.starts_with("HISTF"))
        );
    }
}
