//! A verified session, arranged for reading: cells, their arms, and what is left out and why.

use crate::run::directory::{Directory, Pair};
use crate::run::plan::Cell;
use crate::run::record::Run;
use crate::stats::ratio::{RatioOfMedians, paired_ratios};
use crate::stats::summary::Summary;
use crate::stats::verdict::Verdict;

use super::figure::Figure;

/// A session with its cells arranged.
#[derive(Debug)]
pub struct Model<'a> {
    /// The records.
    pub directory: &'a Directory,
    /// The cells in the order of the plan.
    pub cells: Vec<CellView<'a>>,
}

/// One cell with its pairs.
#[derive(Debug)]
pub struct CellView<'a> {
    /// Its name and configuration.
    pub cell: Cell,
    /// Its pairs, failed ones included.
    pub pairs: Vec<Pair<'a>>,
    /// What may be said of it.
    pub verdict: Verdict,
}

/// One figure of a cell in both arms.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The baseline.
    pub a: Arm,
    /// What is compared with it.
    pub b: Arm,
    /// Ratio of medians.
    pub of_medians: Option<RatioOfMedians>,
    /// Median of paired ratios.
    pub paired: Option<Summary>,
}

/// One figure of one arm.
#[derive(Clone, Debug, PartialEq)]
pub enum Arm {
    /// Its summary.
    Known(Summary),
    /// A percentile without enough samples above it: the fewest that a run had.
    TooFew(f64),
    /// Not recorded in every run.
    Missing,
}

impl Arm {
    /// The summary, when there is one to quote.
    #[must_use]
    pub fn summary(&self) -> Option<&Summary> {
        match self {
            Self::Known(summary) => Some(summary),
            Self::TooFew(_) | Self::Missing => None,
        }
    }
}

impl<'a> Model<'a> {
    /// Arranges the records.
    #[must_use]
    pub fn of(directory: &'a Directory) -> Self {
        let plan_cells = directory.plan.cells();
        let family = plan_cells.len();
        let cells = plan_cells
            .into_iter()
            .map(|cell| CellView::of(directory, cell, family));
        Self {
            directory,
            cells: cells.collect(),
        }
    }

    /// Titles of the groups in the order of the plan.
    #[must_use]
    pub fn groups(&self) -> Vec<&str> {
        let mut groups: Vec<&str> = Vec::new();
        for cell in &self.cells {
            if !groups.contains(&cell.cell.group.as_str()) {
                groups.push(&cell.cell.group);
            }
        }
        groups
    }

    /// The names of the arms, baseline first.
    #[must_use]
    pub fn arms(&self) -> [String; 2] {
        self.directory.plan.arms.map(|arm| arm.to_string())
    }
}

impl<'a> CellView<'a> {
    fn of(directory: &'a Directory, cell: Cell, family: usize) -> Self {
        let pairs = directory.pairs(&cell);
        let runs = pairs.iter().flat_map(|pair| [pair.a, pair.b]);
        let failed = runs.filter(|run| !run.is_ok()).count();
        let count = u32::try_from(pairs.len()).unwrap_or(u32::MAX);
        Self {
            verdict: Verdict::of(count, family, failed),
            cell,
            pairs,
        }
    }

    /// Whether a failed repetition takes the cell out of the summaries.
    #[must_use]
    pub fn excluded(&self) -> bool {
        matches!(self.verdict, Verdict::Invalid { .. })
    }

    /// Whether a rule of the plan marks one of its runs as noisy.
    #[must_use]
    pub fn noisy(&self) -> bool {
        self.runs().iter().any(|run| !run.noisy.is_empty())
    }

    /// Its runs, both arms.
    #[must_use]
    pub fn runs(&self) -> Vec<&'a Run> {
        self.pairs
            .iter()
            .flat_map(|pair| [pair.a, pair.b])
            .collect()
    }

    /// The runs of one arm: 0 is the baseline.
    #[must_use]
    pub fn arm(&self, arm: usize) -> Vec<&'a Run> {
        self.pairs
            .iter()
            .map(|pair| if arm == 0 { pair.a } else { pair.b })
            .collect()
    }

    /// What tells it from the other cells of its group.
    #[must_use]
    pub fn label(&self) -> String {
        self.cell.workload.label()
    }

    /// One figure in both arms; `None` when the cell is excluded.
    #[must_use]
    pub fn compare(&self, figure: &Figure) -> Option<Compared> {
        if self.excluded() {
            return None;
        }
        let (a, b) = (
            summarise(&self.arm(0), figure),
            summarise(&self.arm(1), figure),
        );
        let both = a.summary().zip(b.summary());
        let of_medians = both.and_then(|(a, b)| RatioOfMedians::of(a, b));
        let pairs: Option<Vec<_>> = self
            .pairs
            .iter()
            .map(|pair| figure.read(pair.a).zip(figure.read(pair.b)))
            .collect();
        let paired = both.and(pairs).and_then(|pairs| paired_ratios(&pairs));
        Some(Compared {
            a,
            b,
            of_medians,
            paired,
        })
    }
}

fn summarise(runs: &[&Run], figure: &Figure) -> Arm {
    let too_few = runs.iter().filter_map(|run| figure.too_few_above(run));
    if let Some(fewest) = too_few.min_by(f64::total_cmp) {
        return Arm::TooFew(fewest);
    }
    // A figure that one run lacks is not summarised over the others.
    let values: Option<Vec<f64>> = runs.iter().map(|run| figure.read(run)).collect();
    values
        .and_then(|values| Summary::of(&values))
        .map_or(Arm::Missing, Arm::Known)
}
