//! When an owner that runs by itself updates.

use std::time::{Duration, Instant};

use super::budget::Budget;
use super::missed::{self, Missed};

/// How long an owner that parks looks for work before it sleeps: longer than a request to a database on the same machine
/// takes, shorter than what a core's frequency needs to fall.
const SPIN: Duration = Duration::from_micros(50);

/// When [`Owner::run`](super::Owner::run) updates.
///
/// ```
/// use std::time::Duration;
/// use arknet::owner::{Budget, Cadence, Missed};
///
/// let cadence = Cadence::every(Duration::from_millis(50))
///     .missed(Missed::Skip)
///     .budget(Budget::operations(4096));
/// # let _ = cadence;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Cadence {
    pub(crate) kind: Kind,
    pub(crate) budget: Budget,
    pub(crate) missed: Missed,
    pub(crate) spin: Duration,
    pub(crate) at_once: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Continuous,
    Every(Duration),
    Parked,
}

impl Cadence {
    fn of(kind: Kind) -> Self {
        Self {
            kind,
            budget: Budget::default(),
            missed: Missed::default(),
            spin: SPIN,
            at_once: false,
        }
    }

    /// Without a pause: the shortest delay, for a whole core.
    pub fn continuous() -> Self {
        Self::of(Kind::Continuous)
    }

    /// At absolute moments, `period` apart. Ticks that are missed are not caught up with, unless [`missed`](Self::missed)
    /// says so.
    pub fn every(period: Duration) -> Self {
        Self::of(Kind::Every(period))
    }

    /// When there is something to do: it looks for work for up to 50 µs, less where that has been in vain, and then sleeps
    /// until it is woken or a timer is due.
    pub fn parked() -> Self {
        Self::of(Kind::Parked)
    }

    /// What each update may do. Default: 1,024 operations.
    #[must_use]
    pub fn budget(self, budget: Budget) -> Self {
        Self { budget, ..self }
    }

    /// What becomes of ticks that are missed, with [`every`](Self::every). Default: they are skipped and counted.
    #[must_use]
    pub fn missed(self, missed: Missed) -> Self {
        Self { missed, ..self }
    }

    /// How long to look for work before sleeping, with [`parked`](Self::parked). Default 50 µs; none is the least CPU.
    #[must_use]
    pub fn spin(self, spin: Duration) -> Self {
        Self { spin, ..self }
    }

    /// With [`every`](Self::every): what becomes ready between two ticks is delivered when it does. Default: at the tick.
    #[must_use]
    pub fn at_once(self) -> Self {
        Self {
            at_once: true,
            ..self
        }
    }
}

/// What a run's function wants.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Next {
    /// Another tick.
    Continue,
    /// The end of the run.
    Stop,
}

/// One tick of a run.
#[derive(Debug)]
#[non_exhaustive]
pub struct Tick {
    /// How many ticks of this run there were before it.
    pub number: u64,
    /// The owner's clock.
    pub now: Instant,
    /// Ticks that were missed before this one.
    pub missed: u64,
    /// How late it began, with a fixed cadence.
    pub late: Duration,
    /// What its update did.
    pub update: super::UpdateReport,
}

/// What a run did.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct RunReport {
    /// Ticks.
    pub ticks: u64,
    /// Ticks that were missed.
    pub missed: u64,
    /// Operations that ran.
    pub ran: u64,
}

/// The moments of a fixed cadence.
#[derive(Debug)]
pub(crate) struct Pacer {
    period: Duration,
    missed: Missed,
    due: Instant,
    /// Missed before the tick that is due.
    skipped: u64,
}

impl Pacer {
    /// The first tick is due at once.
    pub(crate) fn new(start: Instant, period: Duration, missed: Missed) -> Self {
        Self {
            period,
            missed,
            due: start,
            skipped: 0,
        }
    }

    pub(crate) fn due(&self) -> Instant {
        self.due
    }

    /// The tick that is due begins at `now`: how many were missed before it, and how late it is. Late by more than a
    /// period, it stands for the last one that it should have been.
    pub(crate) fn begin(&mut self, now: Instant) -> (u64, Duration) {
        let (next, skipped) = missed::after(self.due, now, self.period, self.missed);
        let late = now.saturating_duration_since(self.due);
        self.due = next;
        self.skipped = skipped;
        (skipped, late)
    }
}

/// How long to look for work: as long as it has been worth it.
#[derive(Debug)]
pub(crate) struct Spin {
    most: Duration,
    now: Duration,
}

impl Spin {
    pub(crate) fn new(most: Duration) -> Self {
        Self { most, now: most }
    }

    pub(crate) fn length(&self) -> Duration {
        self.now
    }

    /// A wait lasted so long, spin and sleep. Had a full spin seen its end, the next one is full; otherwise it is halved,
    /// down to none.
    pub(crate) fn waited(&mut self, wait: Duration) {
        if wait <= self.most {
            self.now = self.most;
        } else {
            self.now /= 2;
            if self.now < Duration::from_micros(1) {
                self.now = Duration::ZERO;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_stall_of_fifty_milliseconds_is_one_tick_and_forty_nine_missed() {
        let start = Instant::now();
        let mut pacer = Pacer::new(start, MS, Missed::Skip);
        assert_eq!(pacer.begin(start), (0, Duration::ZERO));
        assert_eq!(pacer.begin(start + MS), (0, Duration::ZERO));
        let (missed, late) = pacer.begin(start + 51 * MS);
        assert_eq!((missed, late), (49, 49 * MS));
        assert_eq!(pacer.due(), start + 52 * MS);
        assert_eq!(pacer.begin(start + 52 * MS).0, 0);
    }

    #[test]
    fn a_burst_catches_up_as_far_as_it_is_allowed() {
        let start = Instant::now();
        let mut pacer = Pacer::new(start, MS, Missed::Burst(2));
        pacer.begin(start);
        let now = start + 10 * MS;
        let mut missed = 0;
        let mut ticks = 0;
        while pacer.due() <= now {
            missed += pacer.begin(now).0;
            ticks += 1;
        }
        assert_eq!((ticks, missed), (3, 7));
    }

    #[test]
    fn a_spin_in_vain_is_halved_and_one_that_was_worth_it_is_whole_again() {
        let mut spin = Spin::new(Duration::from_micros(50));
        for _ in 0..3 {
            spin.waited(MS);
        }
        assert_eq!(spin.length(), Duration::from_nanos(6250));
        for _ in 0..10 {
            spin.waited(MS);
        }
        assert_eq!(spin.length(), Duration::ZERO);
        spin.waited(Duration::from_micros(20));
        assert_eq!(spin.length(), Duration::from_micros(50));
    }
}
