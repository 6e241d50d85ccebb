//! The words that a report may use of a cell.
//!
//! The lab's vocabulary is faster, slower, equivalent, inconclusive and invalid. The first three
//! are claims: they need an exact test over enough pairs, corrected for the number of cells, and
//! an A/A floor from the same session. This version measures no floor, so it makes no claim; it
//! says `invalid` or `inconclusive`, and what a claim would need.

use serde::Serialize;

/// Two-sided error that a family of cells may have together.
pub const FAMILY_ERROR: f64 = 0.05;

/// What is said of a cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "word", rename_all = "lowercase")]
pub enum Verdict {
    /// A repetition failed: the cell is in no summary.
    Invalid {
        /// Why.
        reason: String,
    },
    /// The pairs cannot support a claim.
    Inconclusive {
        /// Why, and what would do.
        reason: String,
    },
}

impl Verdict {
    /// The verdict on a cell of a family of `cells`, of which `pairs` are whole and `failed` runs
    /// failed.
    #[must_use]
    pub fn of(pairs: u32, cells: usize, failed: usize) -> Self {
        if failed > 0 {
            let runs = if failed == 1 { "a run" } else { "runs" };
            return Self::Invalid {
                reason: format!("{runs} failed ({failed})"),
            };
        }
        let needed = pairs_needed(cells);
        let reason = if pairs < needed {
            format!("{pairs} pairs; at least {needed} would do")
        } else {
            format!("{pairs} pairs would do, but there is no A/A floor")
        };
        Self::Inconclusive { reason }
    }

    /// The word.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Invalid { .. } => "invalid",
            Self::Inconclusive { .. } => "inconclusive",
        }
    }

    /// Why.
    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            Self::Invalid { reason } | Self::Inconclusive { reason } => reason,
        }
    }
}

/// The fewest pairs with which an exact two-sided sign-flip test can stay below the family's error
/// in the first of `cells` comparisons: its smallest p is 2 / 2^pairs, and Holm's first step
/// multiplies that by the number of cells.
#[must_use]
#[allow(clippy::cast_precision_loss, reason = "a plan has at most 1,024 cells")]
pub fn pairs_needed(cells: usize) -> u32 {
    let mut pairs = 1;
    let mut smallest = cells.max(1) as f64;
    while smallest > FAMILY_ERROR {
        pairs += 1;
        smallest /= 2.0;
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pairs_that_would_do_grow_with_the_family() {
        assert_eq!(pairs_needed(1), 6);
        assert_eq!(pairs_needed(12), 9);
        assert_eq!(pairs_needed(28), 11);
        assert_eq!(pairs_needed(56), 12);
    }

    #[test]
    fn three_pairs_are_inconclusive_and_say_how_many_would_do() {
        let verdict = Verdict::of(3, 12, 0);
        assert_eq!(verdict.word(), "inconclusive");
        assert!(
            verdict.reason().contains("at least 9"),
            "{}",
            verdict.reason()
        );
    }

    #[test]
    fn enough_pairs_without_a_floor_are_no_claim() {
        let verdict = Verdict::of(20, 12, 0);
        assert_eq!(verdict.word(), "inconclusive");
        assert!(verdict.reason().contains("A/A floor"));
    }

    #[test]
    fn a_failed_run_makes_the_cell_invalid() {
        assert_eq!(Verdict::of(3, 12, 1).word(), "invalid");
    }
}
