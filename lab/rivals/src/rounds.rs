//! The rounds: each runs everybody once, in an order that rotates.
//!
//! A machine drifts while it is measured. Runs of one round are neighbours in time and meet the
//! same machine, so a ratio is taken within a round, and the rotation gives everybody every place.

use std::collections::HashSet;
use std::io::Write as _;
use std::time::Instant;

use crate::asio::Program;
use crate::cell::{Cell, Pace};
use crate::child;
use crate::failure::Failure;
use crate::sample::Sample;
use crate::variant::Variant;

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
pub(crate) fn run(cells: &[Cell], pace: Pace, asio: &Program) -> Outcome {
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
            runner,
            variant,
        } in schedule(cells, round)
        {
            if child::missing(variant, asio).is_some() {
                continue;
            }
            let Cell { protocol, load, .. } = &cells[cell];
            let result = child::run(variant, *protocol, load, asio);
            report(
                round,
                pace,
                began,
                &format!("{protocol} {}: {}", load.name(), variant.name),
                &result,
            );
            match result {
                Ok(sample) => outcome.samples[cell].put(runner, round, sample),
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

struct Run {
    cell: usize,
    runner: usize,
    variant: &'static Variant,
}

/// Everybody once, cell for cell; each round begins one place further.
fn schedule(cells: &[Cell], round: usize) -> impl Iterator<Item = Run> {
    cells.iter().enumerate().flat_map(move |(cell, of)| {
        let mut runners = of.runners().enumerate().collect::<Vec<_>>();
        let first = round.checked_rem(runners.len()).unwrap_or(0);
        runners.rotate_left(first);
        runners.into_iter().map(move |(runner, variant)| Run {
            cell,
            runner,
            variant,
        })
    })
}

/// The peers that cannot be had, with the reasons, each once.
pub(crate) fn announce_missing(cells: &[Cell], asio: &Program) {
    let mut said = HashSet::new();
    for variant in cells.iter().flat_map(Cell::runners) {
        if let Some(why) = child::missing(variant, asio)
            && said.insert(variant.name)
        {
            progress(&format!("{} is skipped: {why}", variant.name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Protocol;

    #[test]
    fn a_round_runs_everybody_once_and_the_first_place_goes_round() {
        let cells = Cell::all(Protocol::Tcp, Pace::new(true, None), None);
        let runners = cells[0].runners().count();
        let rounds = (0..runners)
            .map(|round| {
                schedule(&cells[..1], round)
                    .map(|run| run.runner)
                    .collect::<Vec<_>>()
            })
            .collect::<Vec<_>>();
        for round in &rounds {
            let everybody = round.iter().collect::<HashSet<_>>();
            assert_eq!((everybody.len(), round.len()), (runners, runners));
        }
        let first = rounds.iter().map(|round| round[0]).collect::<HashSet<_>>();
        assert_eq!(first.len(), runners);
    }

    #[test]
    fn no_round_begins_that_would_end_too_late() {
        let cells = Cell::all(Protocol::Tcp, Pace::new(true, None), None);
        let end = Some(Instant::now());
        let pace = Pace {
            end,
            ..Pace::new(true, None)
        };
        let outcome = run(&cells, pace, &Program::Missing("no compiler".to_owned()));
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
        let mut cells = Cell::all(Protocol::Tcp, Pace::new(true, None), None);
        let mut cell = cells.remove(0);
        cell.ours = vec![cell.peers[0]];
        let mut samples = Samples::new(&cell, 2);
        let sample = Sample {
            messages: 1,
            elapsed_seconds: 1.0,
            cpu_user_seconds: 1.0,
            cpu_system_seconds: 1.0,
            rtt_p50_us: 1.0,
            rtt_p99_us: 1.0,
            errors: 0,
        };
        samples.put(0, 0, sample);
        samples.put(0, 1, sample);
        samples.put(1, 1, sample);
        assert_eq!(samples.pairs(0, 0).len(), 1);
        assert_eq!(samples.of(0).len(), 2);
    }
}
