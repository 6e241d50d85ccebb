//! The two definitions of a ratio in the original reports. They differ, so neither goes without
//! its name.

use serde::Serialize;

use super::summary::Summary;

/// Median of one arm over median of the other, as in the database and native reports.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RatioOfMedians {
    /// `b / a`.
    pub ratio: f64,
    /// Whether the two ranges have a value in common.
    pub overlap: bool,
}

impl RatioOfMedians {
    /// `b` over `a`, on unrounded values; `None` when `a`'s median is not positive.
    #[must_use]
    pub fn of(a: &Summary, b: &Summary) -> Option<Self> {
        let ratio = b.median / a.median;
        (a.median > 0.0 && ratio.is_finite()).then(|| Self {
            ratio,
            overlap: a.overlaps(b),
        })
    }

    /// The change in percent: `(b / a - 1) * 100`.
    #[must_use]
    pub fn change_percent(&self) -> f64 {
        (self.ratio - 1.0) * 100.0
    }
}

/// Median and range of `b_r / a_r` over the repetitions, as in the dimension report.
///
/// Both values of a pair were measured next to each other, so a machine that changes between
/// repetitions changes them together. `None` when a value is not positive.
#[must_use]
pub fn paired_ratios(pairs: &[(f64, f64)]) -> Option<Summary> {
    if pairs.iter().any(|(a, _)| *a <= 0.0) {
        return None;
    }
    let ratios: Vec<f64> = pairs.iter().map(|(a, b)| b / a).collect();
    Summary::of(&ratios)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_pair_by_repetition() {
        let pairs = [(10.0, 20.0), (100.0, 20.0), (20.0, 80.0)];
        let ratios = paired_ratios(&pairs).unwrap();
        assert_eq!((ratios.median, ratios.max, ratios.count), (2.0, 4.0, 3));
        assert_eq!(ratios.min, 0.2);
    }

    #[test]
    fn the_references_example_has_median_two_least_one_greatest_four() {
        let ratios = paired_ratios(&[(10.0, 20.0), (100.0, 100.0), (20.0, 80.0)]).unwrap();
        assert_eq!((ratios.median, ratios.min, ratios.max), (2.0, 1.0, 4.0));
    }

    #[test]
    fn the_two_definitions_differ_on_the_same_runs() {
        let (a, b) = ([10.0, 100.0, 20.0], [20.0, 100.0, 80.0]);
        let of_medians =
            RatioOfMedians::of(&Summary::of(&a).unwrap(), &Summary::of(&b).unwrap()).unwrap();
        assert_eq!(of_medians.ratio, 4.0);
        assert!(of_medians.overlap);
        let pairs: Vec<_> = a.into_iter().zip(b).collect();
        assert_eq!(paired_ratios(&pairs).unwrap().median, 2.0);
    }

    #[test]
    fn the_seeds_change_comes_out_of_its_medians() {
        let a = Summary::of(&[170_383.32, 170_547.48, 170_675.76]).unwrap();
        let b = Summary::of(&[162_691.62, 164_322.56, 164_564.88]).unwrap();
        let ratio = RatioOfMedians::of(&a, &b).unwrap();
        assert!((ratio.change_percent() + 3.65).abs() < 0.005);
        assert!(!ratio.overlap);
    }

    #[test]
    fn nothing_is_divided_by_zero() {
        assert_eq!(paired_ratios(&[(0.0, 1.0)]), None);
        let zero = Summary::of(&[0.0]).unwrap();
        assert_eq!(RatioOfMedians::of(&zero, &zero), None);
    }
}
