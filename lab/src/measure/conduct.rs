//! The course of a measurement, whatever moves the bytes: warm up, measure, drain, and take the
//! figures at the right moments.

use std::time::Duration;

use super::config::{Traffic, TransportConfig};
use super::counters::Fault;
use super::run::{Phase, Run};
use super::usage::{Roles, Usage, peak_rss};

/// How long clients may take to get their last replies after the deadline of windowed traffic.
const DRAIN: Duration = Duration::from_secs(2);

/// The same for batches, as the original has it: a batch may be megabytes with work in it.
const BATCH_DRAIN: Duration = Duration::from_secs(15);

/// Processor time over a stated interval.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interval {
    /// What was used; `None` where the system does not say.
    pub usage: Option<Usage>,
    /// Seconds on the wall.
    pub seconds: f64,
}

/// What was seen while the clients ran.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// Seconds of the measured phase, with its drain; batches count them per client instead.
    pub elapsed: f64,
    /// The interval that the run's processor figures cover.
    pub cpu: Interval,
    /// What that interval is.
    pub cpu_interval: &'static str,
    /// The measured phase alone, which the cost of a message is computed from.
    pub measured: Interval,
    /// Processor seconds by thread role, over `cpu_interval`.
    pub roles: Roles,
    /// The process' largest resident size, in bytes.
    pub peak_rss: Option<u64>,
    /// Whether every client finished in time.
    pub drained: bool,
}

/// Runs the phases of `config`. `wake` makes every idle client look for a new phase; it is called
/// after each one was opened.
pub fn conduct(run: &Run, config: &TransportConfig, wake: impl FnMut()) -> Observed {
    let mut observed = match config.traffic {
        Traffic::Windowed => windowed(run, config, wake),
        Traffic::Batch => batches(run, config, wake),
    };
    observed.peak_rss = peak_rss();
    observed
}

fn windowed(run: &Run, config: &TransportConfig, mut wake: impl FnMut()) -> Observed {
    let mut observed = Observed {
        cpu_interval: "measured phase and drain",
        ..Default::default()
    };
    if !config.warmup.is_zero() {
        run.open(Phase::Warmup, config.warmup);
        wake();
        if !finished(run, config.warmup + DRAIN) {
            return observed;
        }
    }
    let roles = Roles::now();
    let stamp = Stamp::take(run);
    run.open(Phase::Measured, config.seconds);
    wake();
    observed.drained = finished(run, config.seconds + DRAIN);
    observed.measured = stamp.until_now(run);
    observed.roles = Roles::now().since(&roles);
    observed.elapsed = observed.measured.seconds;
    observed.cpu = observed.measured;
    observed
}

/// The clients pass from one phase to the next by themselves, each between two of its batches; the
/// figures of the measured phase are taken from the nominal moment.
fn batches(run: &Run, config: &TransportConfig, mut wake: impl FnMut()) -> Observed {
    let cpu_interval = "warm-up, measured phase and last batches";
    let mut observed = Observed {
        cpu_interval,
        ..Default::default()
    };
    let roles = Roles::now();
    let whole = Stamp::take(run);
    let mut measured = whole;
    if config.warmup.is_zero() {
        run.open(Phase::Measured, config.seconds);
        wake();
    } else {
        let opening = run.open(Phase::Warmup, config.warmup);
        wake();
        // Clients only end this early when their connections fail.
        run.wait_finished(run.clock().until(opening.deadline));
        measured = Stamp::take(run);
    }
    observed.drained = finished(run, config.seconds + BATCH_DRAIN);
    observed.measured = measured.until_now(run);
    observed.cpu = whole.until_now(run);
    observed.roles = Roles::now().since(&roles);
    observed.elapsed = run.total(Phase::Measured).elapsed as f64 / 1e9;
    observed
}

fn finished(run: &Run, limit: Duration) -> bool {
    let finished = run.wait_finished(limit);
    if !finished {
        run.fault(
            Fault::DrainTimeouts,
            "clients had messages in flight after the drain's deadline",
        );
    }
    finished
}

#[derive(Clone, Copy)]
struct Stamp {
    usage: Option<Usage>,
    at: u64,
}

impl Stamp {
    fn take(run: &Run) -> Self {
        Stamp {
            usage: Usage::now(),
            at: run.clock().now(),
        }
    }

    fn until_now(self, run: &Run) -> Interval {
        let now = Stamp::take(run);
        let usage = now.usage.zip(self.usage).map(|(now, then)| now.since(then));
        Interval {
            usage,
            seconds: now.at.saturating_sub(self.at) as f64 / 1e9,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::run::Tally;

    fn config(traffic: Traffic, warmup: Duration) -> TransportConfig {
        let seconds = Duration::from_nanos(1);
        TransportConfig {
            clients: 1,
            traffic,
            warmup,
            seconds,
            ..Default::default()
        }
    }

    #[test]
    fn a_run_without_warm_up_opens_one_phase_and_one_with_it_opens_two() {
        for (warmup, phases) in [(Duration::ZERO, 1), (Duration::from_nanos(1), 2)] {
            let config = config(Traffic::Windowed, warmup);
            let run = Run::new(&config);
            let mut woken = 0;
            let observed = conduct(&run, &config, || {
                woken += 1;
                run.finish(Tally::new(run.opened().1.phase));
            });
            assert_eq!(woken, phases);
            assert!(observed.drained);
            assert_eq!(run.counters(Phase::Measured).total(), 0);
        }
    }

    #[test]
    fn batches_are_woken_once() {
        let config = config(Traffic::Batch, Duration::from_nanos(1));
        let run = Run::new(&config);
        let mut woken = 0;
        let observed = conduct(&run, &config, || {
            woken += 1;
            run.finish(Tally {
                elapsed: 2_000_000_000,
                ..Tally::new(Phase::Measured)
            });
        });
        assert_eq!((woken, observed.drained, observed.elapsed), (1, true, 2.0));
        assert!(observed.cpu.seconds >= observed.measured.seconds);
    }

    #[test]
    fn a_client_that_does_not_finish_is_a_drain_timeout() {
        let run = Run::new(&config(Traffic::Windowed, Duration::ZERO));
        run.open(Phase::Measured, Duration::ZERO);
        assert!(!finished(&run, Duration::ZERO));
        assert_eq!(run.counters(Phase::Measured).get(Fault::DrainTimeouts), 1);
    }
}
