//! What one command measures: cells, each a piece of work and those who do it.
//!
//! A cell is plain data: [`crate::echo`] and [`crate::redis`] say who takes part and how a process
//! that does the work once is started; the rounds, the ratios and the output know no more than this.

use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long and how often a command measures.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    pub(crate) rounds: usize,
    /// Seconds before a run counts.
    pub(crate) warmup: f64,
    /// Seconds that count.
    pub(crate) seconds: f64,
    /// No round is begun that would end after this; `None` when the user has named the rounds.
    pub(crate) end: Option<Instant>,
}

impl Pace {
    /// The pace of a command that begins now, with the user's rounds if any were named.
    pub(crate) fn new(
        rounds: usize,
        (warmup, seconds): (f64, f64),
        limit: Duration,
        wanted: Option<usize>,
    ) -> Self {
        Self {
            rounds: wanted.unwrap_or(rounds),
            warmup,
            seconds,
            end: wanted.is_none().then(|| Instant::now() + limit),
        }
    }

    /// How long one run takes when nothing goes wrong.
    pub(crate) fn a_run(&self) -> Duration {
        Duration::try_from_secs_f64(self.warmup + self.seconds).unwrap_or_default()
    }
}

/// One who does a cell's work.
#[derive(Clone, Debug)]
pub(crate) struct Runner {
    /// The name in the output.
    pub(crate) name: &'static str,
    pub(crate) start: Start,
}

/// How a process that does the work once is started.
#[derive(Clone, Debug)]
pub(crate) enum Start {
    /// This binary, with these arguments.
    Here(Vec<String>),
    /// Another program.
    Program(PathBuf, Vec<String>),
    /// Not on this machine, for this reason.
    Missing(String),
}

impl Runner {
    /// Why this one cannot be had here, if it cannot.
    pub(crate) fn missing(&self) -> Option<&str> {
        match &self.start {
            Start::Missing(why) => Some(why),
            _ => None,
        }
    }
}

/// Ours beside a peer, as indices, and what their work is called in the output.
#[derive(Clone, Debug)]
pub(crate) struct Match {
    pub(crate) work: String,
    pub(crate) ours: usize,
    pub(crate) peer: usize,
}

/// One piece of work and those who do it, each once a round.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    /// What the work is called above a table.
    pub(crate) title: String,
    pub(crate) ours: Vec<Runner>,
    pub(crate) peers: Vec<Runner>,
    /// The pairs that are compared, in the order of the output.
    pub(crate) matches: Vec<Match>,
    /// What a run's phases take; a run that needs much longer is stopped.
    pub(crate) a_run: Duration,
    /// Rounds that this cell takes part in, where that is fewer than the command has.
    pub(crate) rounds: usize,
}

impl Cell {
    /// Everybody, ours first.
    pub(crate) fn runners(&self) -> impl Iterator<Item = &Runner> {
        self.ours.iter().chain(&self.peers)
    }
}
