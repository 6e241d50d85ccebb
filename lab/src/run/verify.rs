//! Reads a session back and believes nothing: schema, chain, counts, exit statuses, standard
//! errors.

use std::collections::BTreeSet;

use serde::Serialize;

use super::directory::Directory;
use super::measurement;
use super::record::{Body, Run, Status};

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// Whether the records can be believed.
    pub ok: bool,
    /// Whether the plan was followed to its end.
    pub complete: bool,
    /// The plan's name.
    pub plan: String,
    /// Hash of the plan.
    pub plan_hash: String,
    /// Hash of the last line.
    pub last: String,
    /// Processes that the plan asks for.
    pub expected: usize,
    /// Run records.
    pub runs: usize,
    /// Run records that failed: kept, and not a fault of the records.
    pub failed: usize,
    /// What does not hold.
    pub problems: Vec<String>,
    /// What a reader should know and does not break anything.
    pub notes: Vec<String>,
}

/// Checks a session.
#[must_use]
pub fn verify(directory: &Directory) -> Verification {
    let runs: Vec<&Run> = directory.runs().collect();
    let mut problems = directory.chain.problems.clone();
    problems.extend(structure(directory));
    for run in &runs {
        problems.extend(check(directory, run).map(|problem| format!("{}: {problem}", run.id)));
    }
    let mut notes: Vec<String> = directory
        .notes()
        .map(|note| format!("{}: {}", note.at, note.text))
        .collect();
    if directory.chain.torn {
        notes.push("the file ends within a line; resuming cuts it off".to_owned());
    }
    Verification {
        ok: problems.is_empty(),
        complete: directory.seal().is_some() && problems.is_empty() && !directory.chain.torn,
        plan: directory.plan.name.clone(),
        plan_hash: directory.plan_hash.clone(),
        last: directory.chain.last.clone(),
        expected: directory.plan.processes(),
        runs: runs.len(),
        failed: runs.iter().filter(|run| !run.is_ok()).count(),
        problems,
        notes,
    }
}

/// The order of kinds, the counts of the seal, and that the plan was followed.
fn structure(directory: &Directory) -> Vec<String> {
    let mut problems = Vec::new();
    let lines = &directory.chain.lines;
    if !matches!(
        lines.first().map(|line| &line.body),
        Some(Body::Session(_)) | None
    ) {
        problems.push("the first line is not a session record".to_owned());
    }
    let seals = lines
        .iter()
        .filter(|line| matches!(line.body, Body::Seal(_)))
        .count();
    if seals > usize::from(directory.seal().is_some()) {
        problems.push("something follows the seal".to_owned());
    }
    for session in directory.sessions() {
        if session.plan != directory.plan_hash {
            problems.push(format!("session {} followed another plan", session.id));
        }
    }
    problems.extend(sealed(directory));
    problems.extend(repeated(directory));
    problems
}

/// What only a session that ran to its end must have.
fn sealed(directory: &Directory) -> Vec<String> {
    let Some(seal) = directory.seal() else {
        return Vec::new();
    };
    let mut problems = Vec::new();
    let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    let runs = count(directory.runs().count());
    let failed = count(directory.runs().filter(|run| !run.is_ok()).count());
    if (seal.runs, seal.failed) != (runs, failed) {
        problems.push(format!(
            "the seal counts {} runs and {} failures, there are {runs} and {failed}",
            seal.runs, seal.failed
        ));
    }
    for cell in directory.plan.cells() {
        let pairs = directory.pairs(&cell).len();
        if u32::try_from(pairs) != Ok(directory.plan.repetitions) {
            let wanted = directory.plan.repetitions;
            problems.push(format!(
                "{}: {pairs} whole pairs, the plan has {wanted}",
                cell.name
            ));
        }
    }
    problems
}

/// No run may be there twice.
fn repeated(directory: &Directory) -> Vec<String> {
    let mut seen = BTreeSet::new();
    directory
        .runs()
        .filter(|run| !seen.insert((&run.cell, run.pair, run.arm, run.attempt)))
        .map(|run| {
            format!(
                "{}: the same pair, arm and attempt as an earlier run",
                run.id
            )
        })
        .collect()
}

/// One run against the plan and against itself.
fn check(directory: &Directory, run: &Run) -> Option<String> {
    let cells = directory.plan.cells();
    let Some(cell) = cells.iter().find(|cell| cell.name == run.cell) else {
        return Some("its cell is not in the plan".to_owned());
    };
    if run.workload != cell.workload {
        return Some("its workload is not the plan's".to_owned());
    }
    if run.argv.get(1..) != Some(run.workload.arguments(run.arm).as_slice()) {
        return Some("its command is not that of its workload".to_owned());
    }
    if run.pair >= directory.plan.repetitions {
        return Some(format!("pair {} is not in the plan", run.pair));
    }
    if !directory
        .sessions()
        .any(|session| session.id == run.session)
    {
        return Some(format!("there is no session {}", run.session));
    }
    match run.status {
        Status::Ok => succeeded(run),
        Status::Failed | Status::Timeout if run.error.is_none() => {
            Some("it failed and does not say why".to_owned())
        }
        Status::Failed | Status::Timeout => None,
    }
}

fn succeeded(run: &Run) -> Option<String> {
    if run.exit != Some(0) {
        return Some(format!("it counts, but its exit status is {:?}", run.exit));
    }
    if !run.stderr_tail.is_empty() {
        return Some("it counts, but it wrote to standard error".to_owned());
    }
    match &run.metrics {
        None => Some("it counts, but has no figures".to_owned()),
        Some(metrics) => measurement::judge(metrics, &run.workload, run.arm).err(),
    }
}
