//! Latency histograms out of the records: every operation of every run, merged per arm.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use serde_json::Value;

use crate::run::record::Run;
use crate::stats::percentile;

/// Points of a curve: enough for a smooth line at the size at which it is drawn.
const POINTS: u32 = 60;
/// The last quantile that is ever drawn: 1 − 10⁻⁵.
const LAST_DECADE: f64 = 5.0;

/// A quantile curve: `x` is log10(1 / (1 − q)), `y` microseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The points, by growing quantile, up to the last that has enough samples above it.
    pub points: Vec<(f64, f64)>,
    /// Operations behind it.
    pub count: u64,
}

impl Curve {
    /// The curve of all the runs together; `None` when one has no readable histogram.
    #[must_use]
    pub fn of(runs: &[&Run]) -> Option<Self> {
        let mut all: Option<Histogram<u64>> = None;
        for run in runs {
            let one = decode(run.metrics.as_ref()?)?;
            match &mut all {
                None => all = Some(one),
                Some(all) => all.add(&one).ok()?,
            }
        }
        let all = all?;
        let points = (0..=POINTS)
            .map(|step| f64::from(step) / f64::from(POINTS) * LAST_DECADE)
            .map(|decade| (decade, 1.0 - 10_f64.powf(-decade)))
            .take_while(|(_, quantile)| percentile::supported(all.len(), *quantile))
            .map(|(decade, quantile)| (decade, microseconds(&all, quantile)));
        Some(Self {
            points: points.collect(),
            count: all.len(),
        })
    }
}

#[allow(
    clippy::cast_precision_loss,
    reason = "latencies stay far below 2^53 ns"
)]
fn microseconds(histogram: &Histogram<u64>, quantile: f64) -> f64 {
    histogram.value_at_quantile(quantile) as f64 / 1e3
}

fn decode(metrics: &Value) -> Option<Histogram<u64>> {
    let bytes = base64(
        metrics
            .get("rtt_histogram")
            .or_else(|| metrics.get("latency_histogram"))?
            .as_str()?,
    )?;
    Deserializer::new().deserialize(&mut bytes.as_slice()).ok()
}

/// RFC 4648 section 4; `None` when a character is not of its alphabet.
fn base64(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=');
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    let (mut held, mut bits) = (0_u32, 0_u32);
    for character in text.bytes() {
        let value = match character {
            b'A'..=b'Z' => character - b'A',
            b'a'..=b'z' => character - b'a' + 26,
            b'0'..=b'9' => character - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        held = held << 6 | u32::from(value);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(held >> bits & 0xff).ok()?);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_reads_the_examples_of_its_rfc() {
        for (text, bytes) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9vYmFy", "foobar"),
        ] {
            assert_eq!(base64(text).unwrap(), bytes.as_bytes());
        }
        assert_eq!(base64("Zm9v!"), None);
    }
}
