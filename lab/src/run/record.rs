//! The lines of `runs.jsonl`.
//!
//! Whatever happened is a record: a failed run stays, an interruption is a note. A report can be
//! recomputed from these lines alone.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::build_info::BuildInfo;
use super::machine::Machine;
use super::noise::Noise;
pub use super::rusage::Resources;
use super::workload::{Execution, Workload};

/// Version of the record format.
pub const VERSION: u32 = 1;

/// One line: its place in the chain and what it says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Version of the format.
    pub v: u32,
    /// Number of the line, from 0.
    pub seq: u64,
    /// Hash of the line before; of `plan.toml` for the first.
    pub prev: String,
    /// What the line says.
    #[serde(flatten)]
    pub body: Body,
}

/// What a line says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[allow(
    clippy::large_enum_variant,
    reason = "nearly every line is a run, the largest"
)]
pub enum Body {
    /// The machine and the binary, at every start of the lab.
    Session(Session),
    /// One measuring process.
    Run(Run),
    /// Something that a reader must know and that is not a measurement.
    Note(Note),
    /// The end: nothing may follow.
    Seal(Seal),
}

/// Where and with what the lines that follow were measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// `s1`, `s2` after a resumption, and so on.
    pub id: String,
    /// Hash of `plan.toml`.
    pub plan: String,
    /// UTC.
    pub started: String,
    /// Hash of the measuring binary.
    pub binary: String,
    /// Its size in bytes.
    pub binary_bytes: u64,
    /// What the lab was built from.
    pub build: BuildInfo,
    /// The machine.
    pub machine: Machine,
}

/// How a measuring process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// A valid measurement.
    Ok,
    /// It ran and said, or was found, to have failed.
    Failed,
    /// It was ended because it took too long.
    Timeout,
}

/// One measuring process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// `r0007`: the number of the line.
    pub id: String,
    /// The session it belongs to.
    pub session: String,
    /// The cell's canonical name.
    pub cell: String,
    /// Which pair of the cell, from 0.
    pub pair: u32,
    /// Which try of that pair, from 0; more than 0 after an interruption split a pair.
    pub attempt: u32,
    /// 0 when it ran first of its pair, 1 when second.
    pub slot: u8,
    /// The arm.
    pub arm: Execution,
    /// What was asked of it.
    pub workload: Workload,
    /// The exact command; the binary is named by the session's hash, not by a path.
    pub argv: Vec<String>,
    /// The whole environment that it was given.
    pub env: BTreeMap<String, String>,
    /// UTC.
    pub started: String,
    /// Seconds from start to exit.
    pub wall_seconds: f64,
    /// How it ended.
    pub status: Status,
    /// Exit status, when it exited.
    pub exit: Option<i32>,
    /// Signal, when one ended it.
    pub signal: Option<i32>,
    /// Why it does not count.
    pub error: Option<String>,
    /// The error counters that are not zero.
    pub counters: BTreeMap<String, u64>,
    /// The last bytes of standard error.
    pub stderr_tail: String,
    /// What it printed, parsed.
    pub metrics: Option<Value>,
    /// What it printed, when that could not be parsed.
    pub stdout_tail: Option<String>,
    /// What the kernel counted for it.
    pub resources: Resources,
    /// The machine before.
    pub before: Noise,
    /// The machine after.
    pub after: Noise,
    /// The plan's noise rules that were broken meanwhile.
    pub noisy: Vec<String>,
}

impl Run {
    /// A figure of the measurement, when it is there and finite.
    #[must_use]
    pub fn metric(&self, key: &str) -> Option<f64> {
        self.metrics
            .as_ref()?
            .get(key)?
            .as_f64()
            .filter(|value| value.is_finite())
    }

    /// Whether it is a valid measurement.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.status == Status::Ok
    }
}

/// Something that a reader must know and that is not a measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// UTC.
    pub at: String,
    /// What happened.
    pub event: Event,
    /// In words.
    pub text: String,
}

/// What a note is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Event {
    /// The lab was asked to stop; the process that ran then is not a measurement.
    Interrupted,
    /// The last line was torn by a crash and has been cut off.
    Torn,
}

/// The end of a session that ran to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seal {
    /// UTC.
    pub at: String,
    /// Run records before it.
    pub runs: u64,
    /// Those of them that failed.
    pub failed: u64,
}
