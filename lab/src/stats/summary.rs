//! Median and range of a handful of runs.

use serde::Serialize;

/// The figures of one arm: a run each, never pooled.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The middle value; the mean of the two middle ones when their number is even.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// How many.
    pub count: usize,
}

impl Summary {
    /// Summarises `values`; `None` when there are none or one is not finite.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        if values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        Some(Self {
            median: median(&sorted)?,
            min,
            max,
            count: sorted.len(),
        })
    }

    /// Whether the two ranges have a value in common.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.min <= other.max && other.min <= self.max
    }
}

/// The median of sorted values.
fn median(sorted: &[f64]) -> Option<f64> {
    let upper = *sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    let lower = *sorted.get((sorted.len() / 2).checked_sub(1)?)?;
    Some(f64::midpoint(lower, upper))
}

#[cfg(test)]
mod tests {
    use super::Summary;

    #[test]
    fn the_median_is_the_middle_or_the_mean_of_the_two_middle_ones() {
        let odd = Summary::of(&[3.0, 1.0, 2.0]).unwrap();
        assert_eq!(
            (odd.median, odd.min, odd.max, odd.count),
            (2.0, 1.0, 3.0, 3)
        );
        assert_eq!(Summary::of(&[4.0, 1.0, 2.0, 3.0]).unwrap().median, 2.5);
    }

    #[test]
    fn nothing_is_said_of_nothing_or_of_what_is_not_a_number() {
        assert_eq!(Summary::of(&[]), None);
        assert_eq!(Summary::of(&[1.0, f64::NAN]), None);
    }

    #[test]
    fn ranges_overlap_when_they_touch() {
        let of = |values: &[f64]| Summary::of(values).unwrap();
        assert!(of(&[1.0, 2.0]).overlaps(&of(&[2.0, 3.0])));
        assert!(of(&[1.0, 9.0]).overlaps(&of(&[2.0, 3.0])));
        assert!(!of(&[1.0, 2.0]).overlaps(&of(&[2.1, 3.0])));
    }
}
