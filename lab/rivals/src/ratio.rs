//! From samples to the lines that are printed: medians, and medians of paired ratios.

use serde::Serialize;

use crate::cell::{Cell, Match};
use crate::rounds::{Outcome, Samples};
use crate::sample::Sample;

/// One line of output.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Line {
    /// Ours against a peer.
    Pair(Pair),
    /// A peer that could not be had.
    Skipped(Skipped),
}

/// Ours against a peer. Every ratio is the median over the rounds of ours divided by the peer, both
/// from the same round; under 1 means that ours costs less.
#[derive(Debug, Serialize)]
pub(crate) struct Pair {
    pub(crate) work: String,
    pub(crate) ours: &'static str,
    pub(crate) peer: &'static str,
    /// CPU a message, user and system.
    pub(crate) cpu_ratio: f64,
    /// CPU a message in user mode.
    pub(crate) user_ratio: f64,
    /// Wall time a message.
    pub(crate) wall_ratio: f64,
    /// Pairs.
    pub(crate) runs: usize,
}

/// A peer that could not be had.
#[derive(Debug, Serialize)]
pub(crate) struct Skipped {
    pub(crate) work: String,
    pub(crate) peer: &'static str,
    /// The reason.
    pub(crate) skipped: String,
}

/// All lines of a command, in the order of cells and of their matches. A pair without a single
/// common round has failed, which the exit status says, and has no line.
pub(crate) fn lines(cells: &[Cell], outcome: &Outcome) -> Vec<Line> {
    let of_cell = |(cell, samples): (_, _)| of_cell(cell, samples);
    cells
        .iter()
        .zip(&outcome.samples)
        .flat_map(of_cell)
        .collect()
}

fn of_cell(cell: &Cell, samples: &Samples) -> Vec<Line> {
    let line = |Match { work, ours, peer }: &Match| {
        let (our, other) = (&cell.ours[*ours], &cell.peers[*peer]);
        let work = work.clone();
        if let Some(skipped) = other.missing() {
            return Some(Line::Skipped(Skipped {
                work,
                peer: other.name,
                skipped: skipped.to_owned(),
            }));
        }
        let pairs = samples.pairs(*ours, *peer);
        let ratio = |cost: fn(&Sample) -> f64| {
            median(pairs.iter().map(|(a, b)| cost(a) / cost(b)).collect()).map(rounded)
        };
        Some(Line::Pair(Pair {
            work,
            ours: our.name,
            peer: other.name,
            cpu_ratio: ratio(Sample::cpu_us)?,
            user_ratio: ratio(Sample::user_us)?,
            wall_ratio: ratio(Sample::wall_us)?,
            runs: pairs.len(),
        }))
    };
    cell.matches.iter().filter_map(line).collect()
}

/// To four decimals: more than two runs ever agree on.
fn rounded(ratio: f64) -> f64 {
    (ratio * 1e4).round() / 1e4
}

/// The median; the mean of the two in the middle of an even number; `None` of nothing.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    let upper = *values.get(half)?;
    if values.len() % 2 == 1 {
        return Some(upper);
    }
    Some(f64::midpoint(*values.get(half.checked_sub(1)?)?, upper))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::cell::{Runner, Start};

    fn sample(user: f64, system: f64, elapsed: f64) -> Sample {
        Sample {
            messages: 1000,
            elapsed_seconds: elapsed,
            cpu_user_seconds: user,
            cpu_system_seconds: system,
            rtt_p50_us: None,
            rtt_p99_us: None,
            errors: 0,
        }
    }

    fn cell() -> Cell {
        let runner = |name, start| Runner { name, start };
        let matched = |peer| Match {
            work: "the work".to_owned(),
            ours: 0,
            peer,
        };
        Cell {
            title: "title".to_owned(),
            ours: vec![runner("ours", Start::Here(Vec::new()))],
            peers: vec![
                runner("peer", Start::Here(Vec::new())),
                runner("nobody", Start::Missing("no compiler".to_owned())),
            ],
            matches: vec![matched(0), matched(1)],
            a_run: Duration::ZERO,
            rounds: 3,
        }
    }

    #[test]
    fn medians() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn a_ratio_is_the_median_of_what_each_round_says() {
        let cell = cell();
        let mut samples = Samples::new(&cell, 3);
        // The machine halves its speed in the last round: the pairs do not notice.
        for (round, slow) in [1.0, 1.0, 2.0].into_iter().enumerate() {
            samples.put(0, round, sample(0.1 * slow, 0.8 * slow, slow));
            samples.put(1, round, sample(0.2 * slow, 0.8 * slow, 2.0 * slow));
        }
        let lines = of_cell(&cell, &samples);
        let json = serde_json::to_value(&lines[0]).unwrap();
        assert_eq!(json["work"], "the work");
        assert_eq!(
            (json["ours"].as_str(), json["peer"].as_str()),
            (Some("ours"), Some("peer"))
        );
        assert!((json["cpu_ratio"].as_f64().unwrap() - 0.9).abs() < 1e-9);
        assert!((json["user_ratio"].as_f64().unwrap() - 0.5).abs() < 1e-9);
        assert!((json["wall_ratio"].as_f64().unwrap() - 0.5).abs() < 1e-9);
        assert_eq!(json["runs"], 3);
    }

    #[test]
    fn a_peer_that_cannot_be_had_says_why() {
        let cell = cell();
        let lines = of_cell(&cell, &Samples::new(&cell, 1));
        let json = serde_json::to_value(lines.last()).unwrap();
        let expected = serde_json::json!({
            "work": "the work",
            "peer": "nobody",
            "skipped": "no compiler",
        });
        assert_eq!(json, expected);
    }
}
