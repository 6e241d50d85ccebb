//! Plans, processes and records: how a session is measured and what is kept of it.
//!
//! A [`plan::Plan`] fixes everything before anything runs; [`schedule`] orders it; [`runner`]
//! starts one fresh process a step; [`chain`] appends what came of it to `runs.jsonl`, each line
//! bound to the one before; [`verify`] reads it back and believes nothing.

pub mod build_info;
pub mod calibrate;
pub mod chain;
pub mod clock;
pub mod directory;
pub mod machine;
pub mod measurement;
pub mod noise;
pub mod plan;
pub mod process;
pub mod record;
pub mod redact;
pub mod runner;
mod rusage;
pub mod same;
pub mod schedule;
#[cfg(test)]
pub(crate) mod scratch;
pub mod verify;
pub mod workload;
