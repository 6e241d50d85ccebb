//! A session on disk: `plan.toml` and `runs.jsonl`.

use std::path::{Path, PathBuf};

use thiserror::Error;

use super::chain::{self, Chain};
use super::plan::{Cell, Plan, PlanError};
use super::record::{Body, Note, Run, Seal, Session};
use super::workload::Execution;

/// The plan that the session follows.
pub const PLAN_FILE: &str = "plan.toml";
/// The records.
pub const RUNS_FILE: &str = "runs.jsonl";

/// A session as it was read, faults and all.
#[derive(Clone, Debug)]
pub struct Directory {
    /// Where it is.
    pub path: PathBuf,
    /// What it follows.
    pub plan: Plan,
    /// Hash of `plan.toml`.
    pub plan_hash: String,
    /// Its records.
    pub chain: Chain,
}

/// Why a directory cannot be read as a session.
#[derive(Debug, Error)]
pub enum DirectoryError {
    /// A file is missing or unreadable.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The plan in it cannot be followed.
    #[error("{PLAN_FILE}: {0}")]
    Plan(#[from] PlanError),
}

/// Both arms of a cell in one repetition.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a> {
    /// The baseline.
    pub a: &'a Run,
    /// What is compared with it.
    pub b: &'a Run,
}

impl Directory {
    /// Reads the session in `path`.
    ///
    /// # Errors
    /// When a file is missing or the plan cannot be followed. A broken chain is not an error
    /// here: it is what [`super::verify`] reports.
    pub fn open(path: &Path) -> Result<Self, DirectoryError> {
        let file = path.join(PLAN_FILE);
        let text = std::fs::read_to_string(&file)
            .map_err(|source| DirectoryError::Read { path: file, source })?;
        let plan = Plan::parse(&text)?;
        let plan_hash = chain::hash(text.as_bytes());
        let file = path.join(RUNS_FILE);
        let chain = chain::read(&file, &plan_hash)
            .map_err(|source| DirectoryError::Read { path: file, source })?;
        Ok(Self {
            path: path.to_owned(),
            plan,
            plan_hash,
            chain,
        })
    }

    /// The run records, in order.
    pub fn runs(&self) -> impl Iterator<Item = &Run> {
        self.chain.lines.iter().filter_map(|line| match &line.body {
            Body::Run(run) => Some(run),
            _ => None,
        })
    }

    /// The session records, in order.
    pub fn sessions(&self) -> impl Iterator<Item = &Session> {
        self.chain.lines.iter().filter_map(|line| match &line.body {
            Body::Session(session) => Some(session),
            _ => None,
        })
    }

    /// The notes, in order.
    pub fn notes(&self) -> impl Iterator<Item = &Note> {
        self.chain.lines.iter().filter_map(|line| match &line.body {
            Body::Note(note) => Some(note),
            _ => None,
        })
    }

    /// The seal, when the session ran to its end.
    #[must_use]
    pub fn seal(&self) -> Option<&Seal> {
        match &self.chain.lines.last()?.body {
            Body::Seal(seal) => Some(seal),
            _ => None,
        }
    }

    /// The pairs of a cell that are whole, in order. A pair that an interruption split was run
    /// again: only its last attempt counts.
    #[must_use]
    pub fn pairs(&self, cell: &Cell) -> Vec<Pair<'_>> {
        let [a, b] = self.plan.arms;
        let find = |pair, arm| self.last_attempt(&cell.name, pair, arm);
        (0..self.plan.repetitions)
            .filter_map(|pair| Some((find(pair, a)?, find(pair, b)?)))
            .filter(|(a, b)| a.attempt == b.attempt)
            .map(|(a, b)| Pair { a, b })
            .collect()
    }

    /// Runs that no pair uses: halves that an interruption left.
    #[must_use]
    pub fn unused(&self) -> Vec<&Run> {
        let mut used = Vec::new();
        for cell in self.plan.cells() {
            for pair in self.pairs(&cell) {
                used.push(pair.a.id.clone());
                used.push(pair.b.id.clone());
            }
        }
        self.runs().filter(|run| !used.contains(&run.id)).collect()
    }

    fn last_attempt(&self, cell: &str, pair: u32, arm: Execution) -> Option<&Run> {
        self.runs()
            .filter(|run| run.cell == cell && run.pair == pair && run.arm == arm)
            .max_by_key(|run| run.attempt)
    }
}
