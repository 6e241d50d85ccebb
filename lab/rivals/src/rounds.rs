//! The rounds: each runs everybody once, in an order that rotates.
//!
//! A machine drifts while it is measured. Runs of one round are neighbours in time and meet the
//! same machine, so a ratio is taken within a round, and the rotation gives everybody every place.

use std::collections::HashSet;
use std::io::Write as _;
use std::time::Instant;

use crate::cell::{Cell, Pace, Runner};
use crate::child;
use crate::failure::Failure;
use crate::sample::Sample;

/// The samples of one cell: a row a runner, in the order of `Cell::runners`, a place a round.
#[derive(Debug)]
pub(crate) struct Samples {
    rows: Vec<Vec<Option<Sample>>>,
    ours: usize,
}

impl Samples {
    pub(crate) fn new(cell: &Cell, rounds: usize) -> Self {
        Self {
            rows: vec![vec![None; rounds]; cell.runners().count()],
            ours: cell.ours.len(),
        }
    }

    /// The valid samples of a runner.
    pub(crate) fn of(&self, runner: usize) -> Vec<Sample> {
        self.rows[runner].iter().flatten().copied().collect()
    }

    /// The rounds in which both ours and the peer have a valid sample.
    pub(crate) fn pairs(&self, ours: usize, peer: usize) -> Vec<(Sample, Sample)> {
        let peers = &self.rows[self.ours + peer];
        self.rows[ours]
            .iter()
            .zip(peers)
            .filter_map(|(a, b)| Some(((*a)?, (*b)?)))
            .collect()
    }

    pub(crate) fn put(&mut self, runner: usize, round: usize, sample: Sample) {
        self.rows[runner][round] = Some(sample);
    }
}

/// What came out.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Samples, a cell each.
    pub(crate) samples: Vec<Samples>,
    /// How many runs failed.
    pub(crate) failed: usize,
}

/// Runs all rounds over all cells; a failed run is reported and leaves a hole.
pub(crate) fn run(cells: &[Cell], pace: Pace) -> Outcome {
    let samples = |cell| Samples::new(cell, pace.rounds);
    let mut outcome = Outcome {
        samples: cells.iter().map(samples).collect(),
        failed: 0,
    };
    let began = Instant::now();
    for round in 0..pace.rounds {
        let a_round = began.elapsed().div_f64(round.max(1) as f64);
        if pace.end.is_some_and(|end| Instant::now() + a_round > end) {
            progress(&format!(
                "there is no time for round {} of {}",
                round + 1,
                pace.rounds
            ));
            break;
        }
        for Run {
            cell,
            index,
            runner,
        } in schedule(cells, round)
        {
            if runner.missing().is_some() {
                continue;
            }
            let Cell { title, a_run, .. } = &cells[cell];
            let result = child::run(runner, *a_run);
            report(
                round,
                pace,
                began,
                &format!("{title}: {}", runner.name),
                &result,
            );
            match result {
                Ok(sample) => outcome.samples[cell].put(index, round, sample),
                Err(_) => outcome.failed += 1,
            }
        }
    }
    outcome
}

fn report(round: usize, pace: Pace, began: Instant, who: &str, result: &Result<Sample, Failure>) {
    let figure = match result {
        Ok(sample) => format!("{:.3} µs CPU a message", sample.cpu_us()),
        Err(error) => format!("FAILED: {error}"),
    };
    let seconds = began.elapsed().as_secs();
    let (minutes, seconds) = (seconds / 60, seconds % 60);
    progress(&format!(
        "{minutes}:{seconds:02} round {}/{} {who}: {figure}",
        round + 1,
        pace.rounds
    ));
}

/// A line for the person who waits.
pub(crate) fn progress(line: &str) {
    // Nobody to tell is no reason to stop measuring.
    let _ = writeln!(std::io::stderr(), "{line}");
}

struct Run<'a> {
    cell: usize,
    index: usize,
    runner: &'a Runner,
}

/// Everybody once, cell for cell; each round begins one place further.
fn schedule(cells: &[Cell], round: usize) -> impl Iterator<Item = Run<'_>> {
    let due = cells.iter().enumerate();
    let due = due.filter(move |(_, cell)| round < cell.rounds);
    due.flat_map(move |(cell, of)| {
        let mut runners = of.runners().enumerate().collect::<Vec<_>>();
        let first = round.checked_rem(runners.len()).unwrap_or(0);
        runners.rotate_left(first);
        runners.into_iter().map(move |(index, runner)| Run {
            cell,
            index,
            runner,
        })
    })
}

/// The peers that cannot be had, with the reasons, each once.
pub(crate) fn announce_missing(cells: &[Cell]) {
    let mut said = HashSet::new();
    for runner in cells.iter().flat_map(Cell::runners) {
        if let Some(why) = runner.missing()
            && said.insert(runner.name)
        {
            progress(&format!("{} is skipped: {why}", runner.name));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::cell::Start;

    fn cell(rounds: usize) -> Cell {
        let runner = |name| Runner {
            name,
            start: Start::Here(Vec::new()),
        };
        Cell {
            title: "work".to_owned(),
            ours: vec![runner("one")],
            peers: vec![runner("two"), runner("three")],
            matches: Vec::new(),
            a_run: Duration::ZERO,
            rounds,
        }
    }

    #[test]
    fn a_round_runs_everybody_once_and_the_first_place_goes_round() {
        let cells = [cell(3)];
        let rounds = (0..3)
            .map(|round| {
                schedule(&cells, round)
                    .map(|run| run.index)
                    .collect::<Vec<_>>()
            })
            .collect::<Vec<_>>();
        assert_eq!(rounds, [[0, 1, 2], [1, 2, 0], [2, 0, 1]]);
    }

    #[test]
    fn a_cell_rests_when_its_rounds_are_over() {
        let cells = [cell(2), cell(3)];
        let due = schedule(&cells, 2).map(|run| run.cell);
        assert_eq!(due.collect::<Vec<_>>(), [1, 1, 1]);
    }

    #[test]
    fn no_round_begins_that_would_end_too_late() {
        let cells = [cell(1)];
        let pace = Pace {
            end: Some(Instant::now()),
            ..Pace::new(1, (0.0, 0.0), Duration::ZERO, None)
        };
        let outcome = run(&cells, pace);
        assert_eq!(outcome.failed, 0);
        assert!(
            outcome
                .samples
                .iter()
                .all(|samples| samples.of(0).is_empty())
        );
    }

    #[test]
    fn a_failed_run_takes_its_pair_along() {
        let mut samples = Samples::new(&cell(2), 2);
        let sample = Sample {
            messages: 1,
            elapsed_seconds: 1.0,
            cpu_user_seconds: 1.0,
            cpu_system_seconds: 1.0,
            rtt_p50_us: None,
            rtt_p99_us: None,
            errors: 0,
        };
        samples.put(0, 0, sample);
        samples.put(0, 1, sample);
        samples.put(1, 1, sample);
        assert_eq!(samples.pairs(0, 0).len(), 1);
        assert_eq!(samples.of(0).len(), 2);
    }
}
