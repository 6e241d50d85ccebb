//! Counts operations and takes the figures of the measured phase.
//!
//! Tasks run freely; a thread that sleeps otherwise reads all counters, the clock and the
//! processor time twice. Nothing is drained in between, no task reads a clock, and the processor
//! time is that of this process, which holds a client and no server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use arknet_lab::measure::usage::Usage;

use crate::failure::Failure;
use crate::sample::Sample;

/// How long a measured phase may wait for its first operation.
const PATIENCE: Duration = Duration::from_secs(20);

/// How often it looks meanwhile.
const TICK: Duration = Duration::from_millis(10);

/// How long a run takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Phases {
    /// Seconds before a run counts.
    pub(crate) warmup: f64,
    /// Seconds that count.
    pub(crate) seconds: f64,
}

/// What the tasks of a run share.
#[derive(Debug)]
pub(crate) struct Meter {
    counters: Box<[Counter]>,
    stopped: AtomicBool,
}

/// One task's count, on a cache line of its own: neighbours are written by other threads.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Counter(AtomicU64);

impl Meter {
    /// A meter for so many tasks.
    pub(crate) fn new(tasks: usize) -> Arc<Self> {
        Arc::new(Self {
            counters: (0..tasks).map(|_| Counter::default()).collect(),
            stopped: AtomicBool::new(false),
        })
    }

    /// Whether the measured phase is over.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Counts operations of one task, which alone writes its counter.
    pub(crate) fn count(&self, task: usize, operations: u64) {
        if let Some(Counter(count)) = self.counters.get(task) {
            let sum = count.load(Ordering::Relaxed).wrapping_add(operations);
            count.store(sum, Ordering::Relaxed);
        }
    }

    /// Watches the phases from a thread of its own, then stops the tasks.
    ///
    /// # Errors
    ///
    /// When the system refuses a thread.
    pub(crate) fn watch(self: &Arc<Self>, phases: Phases) -> Result<Watch, Failure> {
        let meter = self.clone();
        let seconds = |text: f64| Duration::try_from_secs_f64(text).unwrap_or_default();
        let (warmup, measured) = (seconds(phases.warmup), seconds(phases.seconds));
        let thread = thread::Builder::new().name("meter".to_owned());
        let thread = thread
            .spawn(move || {
                thread::sleep(warmup);
                let begin = meter.stamp();
                thread::sleep(measured);
                let mut end = meter.stamp();
                // On a machine with much else to do, the phase goes on until it can say something.
                while end.operations == begin.operations && end.at < begin.at + PATIENCE {
                    thread::sleep(TICK);
                    end = meter.stamp();
                }
                meter.stopped.store(true, Ordering::Relaxed);
                (begin, end)
            })
            .map_err(Failure::io("starting the meter"))?;
        Ok(Watch(thread))
    }

    /// Measures what the calling thread does alone: `pass` again and again, each one operation.
    ///
    /// # Errors
    ///
    /// With the first failure of a pass, or as [`Watch::sample`].
    pub(crate) fn alone(
        phases: Phases,
        mut pass: impl FnMut() -> Result<(), Failure>,
    ) -> Result<Sample, Failure> {
        let meter = Self::new(1);
        let watch = meter.watch(phases)?;
        while !meter.is_stopped() {
            pass()?;
            meter.count(0, 1);
        }
        watch.sample()
    }

    fn stamp(&self) -> Stamp {
        let counters = self.counters.iter();
        Stamp {
            operations: counters.map(|c| c.0.load(Ordering::Relaxed)).sum(),
            usage: Usage::now(),
            at: Instant::now(),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Stamp {
    operations: u64,
    usage: Option<Usage>,
    at: Instant,
}

/// The phases of a run that is under way.
#[derive(Debug)]
pub(crate) struct Watch(JoinHandle<(Stamp, Stamp)>);

impl Watch {
    /// The figures; waits for the end of the measured phase.
    ///
    /// # Errors
    ///
    /// When the system does not tell the CPU time.
    pub(crate) fn sample(self) -> Result<Sample, Failure> {
        let lost = |why: &str| Failure::Invalid(why.to_owned());
        let (begin, end) = self.0.join().map_err(|_| lost("the meter panicked"))?;
        let usages = end.usage.zip(begin.usage);
        let (end_usage, begin_usage) =
            usages.ok_or_else(|| lost("the system does not tell the CPU time"))?;
        let used = end_usage.since(begin_usage);
        Ok(Sample {
            messages: end.operations.saturating_sub(begin.operations),
            elapsed_seconds: end.at.duration_since(begin.at).as_secs_f64(),
            cpu_user_seconds: used.user_us as f64 / 1e6,
            cpu_system_seconds: used.system_us as f64 / 1e6,
            rtt_p50_us: None,
            rtt_p99_us: None,
            errors: 0,
        })
    }
}
