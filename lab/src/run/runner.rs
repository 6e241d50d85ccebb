//! Follows a plan: one fresh process a step, one record each, until the end or an interruption.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use serde_json::Value;
use thiserror::Error;
use tokio::sync::watch;

use super::build_info::BuildInfo;
use super::chain::{self, Writer};
use super::clock;
use super::directory::{Directory, DirectoryError, PLAN_FILE, RUNS_FILE};
use super::machine::Machine;
use super::measurement;
use super::noise::{self, Noise};
use super::plan::{Cell, Plan, PlanError};
use super::process::{self, Ended};
use super::record::{Body, Event, Note, Resources, Run, Seal, Session, Status};
use super::redact::Redactor;
use super::schedule::{Step, schedule};
use super::workload::Workload;

/// What a process may take beyond its traffic, as in the originals: connecting, draining and
/// closing have deadlines of their own that add up to less.
const GRACE: Duration = Duration::from_secs(45);
/// How much of an output that is not a measurement is kept.
const MAX_KEPT_STDOUT: usize = 4096;

/// What to run and where to keep it.
#[derive(Clone, Debug)]
pub struct Request {
    /// The measuring binary.
    pub executable: PathBuf,
    /// The session's directory.
    pub directory: PathBuf,
    /// What to follow.
    pub plan: Plan,
    /// Whether to go on in a directory that exists.
    pub resume: bool,
}

/// Told of every step; for progress bars.
pub trait Observer {
    /// A process is about to start: how many ended before it, how many there are.
    fn started(&mut self, cell: &Cell, step: &Step, done: usize, total: usize);
    /// It ended.
    fn ended(&mut self, run: &Run);
}

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The plan was followed to its end.
    Complete {
        /// Runs that failed.
        failed: usize,
    },
    /// It was asked to stop; the directory can be resumed.
    Interrupted,
}

/// Why a session could not go on.
#[derive(Debug, Error)]
pub enum RunError {
    /// The directory is there already.
    #[error("{0} exists; choose another directory, or continue it with --resume")]
    Exists(PathBuf),
    /// The directory follows another plan.
    #[error("{0} follows another plan than the one asked for; its plan.toml cannot be changed")]
    OtherPlan(PathBuf),
    /// The directory was begun by another binary.
    #[error("{0} was begun with another build of the lab; figures of two builds are not mixed")]
    OtherBinary(PathBuf),
    /// The records cannot be continued.
    #[error("{path} cannot be resumed: {problem}")]
    Broken {
        /// The directory.
        path: PathBuf,
        /// The first fault.
        problem: String,
    },
    /// The plan cannot be written.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The directory cannot be read.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// A file or a process failed.
    #[error("{doing}: {source}")]
    Io {
        /// What was being done.
        doing: String,
        /// What the system said.
        source: io::Error,
    },
}

impl RunError {
    /// Whether the caller asked for something that cannot be; nothing was written then.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        !matches!(self, Self::Io { .. })
    }
}

fn doing(what: impl Into<String>) -> impl FnOnce(io::Error) -> RunError {
    let doing = what.into();
    move |source| RunError::Io { doing, source }
}

/// Follows the plan until its end, or until `interrupt` turns true: then the process that runs is
/// ended, a note is left, and the directory can be resumed.
///
/// # Errors
/// When the directory cannot be used, or a file or process fails. A measurement that fails is a
/// record, not an error.
pub async fn run(
    request: &Request,
    observer: &mut dyn Observer,
    interrupt: watch::Receiver<bool>,
) -> Result<Outcome, RunError> {
    let binary = std::fs::read(&request.executable)
        .map_err(doing(format!("reading {}", request.executable.display())))?;
    let redactor = Redactor::current();
    let build = BuildInfo::current(&redactor);
    let mut opened = open(request, &chain::hash(&binary))?;
    if opened.sealed {
        return Ok(Outcome::Complete {
            failed: opened.failed,
        });
    }
    let session = Session {
        id: format!("s{}", opened.sessions.saturating_add(1)),
        plan: opened.plan_hash.clone(),
        started: clock::now_utc(),
        binary: chain::hash(&binary),
        binary_bytes: u64::try_from(binary.len()).unwrap_or(u64::MAX),
        build,
        machine: Machine::read(),
    };
    let id = session.id.clone();
    opened.append(Body::Session(session))?;
    let mut runner = Runner {
        request,
        redactor,
        session: id,
        opened,
        interrupt,
    };
    runner.follow(observer).await
}

/// A directory that can be appended to, and what it already holds.
struct Opened {
    writer: Writer,
    plan_hash: String,
    sealed: bool,
    sessions: usize,
    runs: u64,
    failed: usize,
    /// Attempts that each pair has had, and whether the last one is whole.
    pairs: BTreeMap<(String, u32), (u32, bool)>,
}

impl Opened {
    fn append(&mut self, body: Body) -> Result<(), RunError> {
        self.writer
            .append(body)
            .map_err(doing(format!("writing {RUNS_FILE}")))
    }
}

fn open(request: &Request, binary: &str) -> Result<Opened, RunError> {
    let text = request.plan.to_toml()?;
    let plan_hash = chain::hash(text.as_bytes());
    if std::fs::symlink_metadata(&request.directory).is_err() {
        return create(&request.directory, &text, plan_hash);
    }
    if !request.resume {
        return Err(RunError::Exists(request.directory.clone()));
    }
    resume(request, binary)
}

fn create(path: &Path, plan: &str, plan_hash: String) -> Result<Opened, RunError> {
    std::fs::create_dir_all(path).map_err(doing(format!("creating {}", path.display())))?;
    std::fs::write(path.join(PLAN_FILE), plan).map_err(doing(format!("writing {PLAN_FILE}")))?;
    let writer = Writer::create(&path.join(RUNS_FILE), plan_hash.clone())
        .map_err(doing(format!("creating {RUNS_FILE}")))?;
    let pairs = BTreeMap::new();
    Ok(Opened {
        writer,
        plan_hash,
        sealed: false,
        sessions: 0,
        runs: 0,
        failed: 0,
        pairs,
    })
}

fn resume(request: &Request, binary: &str) -> Result<Opened, RunError> {
    let path = &request.directory;
    let found = Directory::open(path)?;
    if found.plan != request.plan {
        return Err(RunError::OtherPlan(path.clone()));
    }
    if found.sessions().any(|session| session.binary != binary) {
        return Err(RunError::OtherBinary(path.clone()));
    }
    let verified = super::verify::verify(&found);
    if let Some(problem) = verified.problems.first() {
        return Err(RunError::Broken {
            path: path.clone(),
            problem: problem.clone(),
        });
    }
    let writer = Writer::resume(&path.join(RUNS_FILE), &found.chain)
        .map_err(doing(format!("opening {RUNS_FILE}")))?;
    let mut opened = Opened {
        writer,
        plan_hash: found.plan_hash.clone(),
        sealed: found.seal().is_some(),
        sessions: found.sessions().count(),
        runs: u64::try_from(verified.runs).unwrap_or(u64::MAX),
        failed: verified.failed,
        pairs: attempts(&found),
    };
    if found.chain.torn {
        let text = "the last line was torn and has been cut off".to_owned();
        opened.append(note(Event::Torn, text))?;
    }
    Ok(opened)
}

fn attempts(found: &Directory) -> BTreeMap<(String, u32), (u32, bool)> {
    let mut pairs = BTreeMap::new();
    for run in found.runs() {
        let entry = pairs
            .entry((run.cell.clone(), run.pair))
            .or_insert((0, false));
        entry.0 = entry.0.max(run.attempt.saturating_add(1));
    }
    for cell in found.plan.cells() {
        for pair in found.pairs(&cell) {
            if let Some(entry) = pairs.get_mut(&(cell.name.clone(), pair.a.pair)) {
                entry.1 = true;
            }
        }
    }
    pairs
}

fn note(event: Event, text: String) -> Body {
    Body::Note(Note {
        at: clock::now_utc(),
        event,
        text,
    })
}

struct Runner<'a> {
    request: &'a Request,
    redactor: Redactor,
    session: String,
    opened: Opened,
    interrupt: watch::Receiver<bool>,
}

impl Runner<'_> {
    async fn follow(&mut self, observer: &mut dyn Observer) -> Result<Outcome, RunError> {
        let cells = self.request.plan.cells();
        let steps = schedule(&self.request.plan);
        for (done, step) in steps.iter().enumerate() {
            let Some(cell) = cells.get(step.cell) else {
                continue;
            };
            let attempt = match self.opened.pairs.get(&(cell.name.clone(), step.pair)) {
                Some((_, true)) => continue,
                Some((attempts, false)) => *attempts,
                None => 0,
            };
            observer.started(cell, step, done, steps.len());
            match self.step(cell, step, attempt).await? {
                Some(run) => observer.ended(&run),
                None => return self.interrupted(cell, step),
            }
        }
        let (runs, failed) = (self.opened.runs, self.opened.failed);
        let seal = Seal {
            at: clock::now_utc(),
            runs,
            failed: u64::try_from(failed).unwrap_or(0),
        };
        self.opened.append(Body::Seal(seal))?;
        Ok(Outcome::Complete { failed })
    }

    fn interrupted(&mut self, cell: &Cell, step: &Step) -> Result<Outcome, RunError> {
        let text = format!(
            "interrupted during pair {} of {}, {} arm; that process was ended",
            step.pair.saturating_add(1),
            cell.name,
            step.execution
        );
        self.opened.append(note(Event::Interrupted, text))?;
        Ok(Outcome::Interrupted)
    }

    /// Runs one process and records it; `None` when it was cut short by an interruption.
    async fn step(
        &mut self,
        cell: &Cell,
        step: &Step,
        attempt: u32,
    ) -> Result<Option<Run>, RunError> {
        let arguments = cell.workload.arguments(step.execution);
        let started = clock::now_utc();
        let (before, used) = (Noise::read(), Resources::of_children());
        let ended = {
            let work = process::run(&self.request.executable, &arguments, limit(&cell.workload));
            tokio::select! {
                biased;
                Ok(_) = self.interrupt.wait_for(|stop| *stop) => return Ok(None),
                ended = work => ended.map_err(doing("running a measurement"))?,
            }
        };
        let (after, resources) = (Noise::read(), Resources::of_children().since(used));
        let judged = Judged::of(&ended, cell, step);
        let wall_seconds = ended.wall.as_secs_f64();
        let run = Run {
            id: format!("r{:04}", self.opened.writer.next_seq()),
            session: self.session.clone(),
            cell: cell.name.clone(),
            pair: step.pair,
            attempt,
            slot: step.slot,
            arm: step.execution,
            workload: cell.workload.clone(),
            argv: std::iter::once("arknet-lab".to_owned())
                .chain(arguments)
                .collect(),
            env: self.environment(),
            started,
            wall_seconds,
            status: judged.status,
            exit: ended.status.and_then(|status| status.code()),
            signal: ended.status.and_then(signal),
            error: judged.error.map(|error| self.redactor.clean(&error)),
            counters: judged.counters,
            stderr_tail: self.redactor.clean(&ended.stderr),
            metrics: judged.metrics,
            stdout_tail: judged.stdout.map(|text| self.redactor.clean(&text)),
            resources,
            before,
            after,
            noisy: noise::judge(&before, &after, wall_seconds, &self.request.plan.exclusion),
        };
        self.opened.runs = self.opened.runs.saturating_add(1);
        self.opened.failed = self.opened.failed.saturating_add(usize::from(!run.is_ok()));
        self.opened.append(Body::Run(run.clone()))?;
        Ok(Some(run))
    }

    fn environment(&self) -> BTreeMap<String, String> {
        let clean = |(name, value): (String, String)| (name, self.redactor.clean(&value));
        process::environment().into_iter().map(clean).collect()
    }
}

fn limit(workload: &Workload) -> Duration {
    // Both are checked against their ranges when the plan is read.
    Duration::from_secs_f64(workload.most_seconds()).saturating_add(GRACE)
}

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal(_: ExitStatus) -> Option<i32> {
    None
}

/// What became of a process.
struct Judged {
    status: Status,
    error: Option<String>,
    counters: BTreeMap<String, u64>,
    metrics: Option<Value>,
    stdout: Option<String>,
}

impl Judged {
    fn of(ended: &Ended, cell: &Cell, step: &Step) -> Self {
        let metrics: Option<Value> = serde_json::from_str(&ended.stdout)
            .ok()
            .filter(Value::is_object);
        let error = Self::error(ended, metrics.as_ref(), cell, step);
        let status = match (&error, ended.status) {
            (None, _) => Status::Ok,
            (Some(_), Some(_)) => Status::Failed,
            (Some(_), None) => Status::Timeout,
        };
        let stdout = metrics
            .is_none()
            .then(|| ended.stdout.chars().take(MAX_KEPT_STDOUT).collect());
        let counters = metrics
            .as_ref()
            .map(measurement::counters)
            .unwrap_or_default();
        Self {
            status,
            error,
            counters,
            metrics,
            stdout,
        }
    }

    /// A reason to discard it, the most telling first.
    fn error(ended: &Ended, metrics: Option<&Value>, cell: &Cell, step: &Step) -> Option<String> {
        let Some(status) = ended.status else {
            let seconds = limit(&cell.workload).as_secs();
            return Some(format!(
                "it was ended because it took longer than {seconds} s"
            ));
        };
        if let Some(signal) = signal(status) {
            return Some(format!("signal {signal} ended it"));
        }
        let judged = metrics.map(|it| measurement::judge(it, &cell.workload, step.execution));
        match (judged, status.code()) {
            (Some(Err(error)), _) => Some(error),
            (_, Some(code)) if code != 0 => Some(format!("its exit status is {code}")),
            (None, _) => Some("it did not print one JSON object".to_owned()),
            (Some(Ok(())), _) if !ended.stderr.is_empty() => {
                Some("it exited with 0 but wrote to standard error".to_owned())
            }
            (Some(Ok(())), _) => None,
        }
    }
}
