//! Progress on standard error: which cell runs, how many are done, how long it will take.

use std::time::Duration;

use arknet_lab::run::plan::{Cell, Plan};
use arknet_lab::run::record::Run;
use arknet_lab::run::runner::Observer;
use arknet_lab::run::schedule::Step;
use indicatif::{ProgressBar, ProgressStyle};

use super::exit::say;

/// What starting, connecting and ending a process takes beyond its traffic, roughly; only the
/// first estimate uses it.
const OVERHEAD: f64 = 0.15;

/// A progress bar when standard error is a terminal; one line per failure in any case.
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// For a session of this plan.
    pub(crate) fn new(plan: &Plan) -> Self {
        let bar = ProgressBar::new(u64::try_from(plan.processes()).unwrap_or(u64::MAX));
        let style =
            ProgressStyle::with_template("{bar:30.cyan/dim} {pos}/{len} · {eta} left · {wide_msg}");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(500));
        say(&format!(
            "{}: {} processes, about {}",
            plan.name,
            plan.processes(),
            minutes(estimate(plan))
        ));
        Self { bar }
    }

    /// Clears the bar.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for Progress {
    fn started(&mut self, cell: &Cell, step: &Step, done: usize, _total: usize) {
        self.bar
            .set_position(u64::try_from(done).unwrap_or(u64::MAX));
        let workload = &cell.workload;
        self.bar.set_message(format!(
            "{} · {} · {}",
            cell.group,
            workload.label(),
            step.execution
        ));
    }

    fn ended(&mut self, run: &Run) {
        self.bar.inc(1);
        if let Some(error) = &run.error {
            let text = format!("{} failed: {} {}: {error}", run.id, run.cell, run.arm);
            self.bar.suspend(|| say(&text));
        }
    }
}

/// Seconds that a session takes, before any of it has run.
pub(crate) fn estimate(plan: &Plan) -> f64 {
    let cells = plan.cells();
    let once: f64 = cells
        .iter()
        .map(|cell| cell.workload.seconds() + OVERHEAD)
        .sum();
    once * 2.0 * f64::from(plan.repetitions)
}

/// Seconds as a person says them.
pub(crate) fn minutes(seconds: f64) -> String {
    if seconds < 90.0 {
        format!("{seconds:.0} s")
    } else {
        format!("{:.1} min", seconds / 60.0)
    }
}
