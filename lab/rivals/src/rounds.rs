//! The rounds: each runs everybody once, in an order that rotates.
//!
//! A machine drifts while it is measured. Runs of one round are neighbours in time and meet the
//! same machine, so a ratio is taken within a round, and the rotation gives everybody every place.

use std::collections::HashSet;
use std::io::Write as _;
use std::time::{Duration, Instant};

use crate::asio::Program;
use crate::cell::{Cell, Pace};
use crate::child;
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
pub(crate) fn run(cells: &[Cell], pace: Pace, asio: &Program) -> Outcome {
    let samples = cells
        .iter()
        .map(|cell| Samples::new(cell, pace.rounds))
        .collect();
    let mut outcome = Outcome { samples, failed: 0 };
    let absent = |cell: &Cell, runner| {
        cell.runners()
            .nth(runner)
            .is_none_or(|variant| child::missing(variant, asio).is_some())
    };
    let runs = schedule(cells, pace.rounds)
        .filter(|run| !absent(&cells[run.cell], run.runner))
        .collect::<Vec<_>>();
    let began = Instant::now();
    for (done, run) in runs.iter().enumerate() {
        let cell = &cells[run.cell];
        let Some(variant) = cell.runners().nth(run.runner) else {
            continue;
        };
        let result = child::run(variant, cell.protocol, &cell.load, asio);
        let figure = match result {
            Ok(sample) => {
                outcome.samples[run.cell].put(run.runner, run.round, sample);
                format!("{:.3} µs CPU a message", sample.cpu_us())
            }
            Err(error) => {
                outcome.failed += 1;
                format!("FAILED: {error}")
            }
        };
        let left = time_left(began.elapsed(), done + 1, runs.len());
        progress(&format!(
            "round {}/{} {} {}: {}: {figure}, {left} left",
            run.round + 1,
            pace.rounds,
            cell.protocol,
            cell.load.name(),
            variant.name,
        ));
    }
    outcome
}

/// A line for the person who waits.
pub(crate) fn progress(line: &str) {
    // Nobody to tell is no reason to stop measuring.
    let _ = writeln!(std::io::stderr(), "{line}");
}

fn time_left(elapsed: Duration, done: usize, all: usize) -> String {
    let seconds = elapsed.as_secs_f64() / done as f64 * (all - done) as f64;
    format!("{}:{:02}", seconds as u64 / 60, seconds as u64 % 60)
}

struct Run {
    cell: usize,
    round: usize,
    runner: usize,
}

fn schedule(cells: &[Cell], rounds: usize) -> impl Iterator<Item = Run> {
    (0..rounds).flat_map(move |round| {
        cells.iter().enumerate().flat_map(move |(index, cell)| {
            let runners = cell.runners().count();
            (0..runners).map(move |place| Run {
                cell: index,
                round,
                runner: (place + round) % runners,
            })
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
        let runs = schedule(&cells[..1], runners).collect::<Vec<_>>();
        for round in runs.chunks(runners) {
            let everybody = round.iter().map(|run| run.runner).collect::<HashSet<_>>();
            assert_eq!(everybody.len(), runners);
        }
        let first = runs
            .iter()
            .step_by(runners)
            .map(|run| run.runner)
            .collect::<HashSet<_>>();
        assert_eq!(first.len(), runners);
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
