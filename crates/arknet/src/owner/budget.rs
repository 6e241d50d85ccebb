//! How much an update may do, and what it says that it did.

use std::time::Duration;

use super::error::Panicked;

/// How often the clock is looked at while a budget of time runs: every so many operations.
pub(crate) const OPERATIONS_PER_LOOK: u32 = 16;

/// What an update may do. It stops at the first limit that it reaches; at least one ready operation runs.
///
/// ```
/// use std::time::Duration;
/// use arknet::owner::Budget;
///
/// let budget = Budget::operations(512).time(Duration::from_micros(300)).per_source(256);
/// # let _ = budget;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    pub(crate) operations: u32,
    pub(crate) time: Option<Duration>,
    pub(crate) per_source: u32,
    pub(crate) reentry: Reentry,
}

impl Budget {
    /// So many operations: callbacks run and tasks resumed. 0 means 1.
    pub fn operations(operations: u32) -> Self {
        Self {
            operations: operations.max(1),
            time: None,
            per_source: u32::MAX,
            reentry: Reentry::Next,
        }
    }

    /// All that was ready when the update began.
    pub fn unlimited() -> Self {
        Self::operations(u32::MAX)
    }

    /// As much time as this, by the system's clock, looked at every 16 operations. One operation is never cut short.
    #[must_use]
    pub fn time(mut self, time: Duration) -> Self {
        self.time = Some(time);
        self
    }

    /// So many operations of each source (network, databases, timers, tasks, posts). 0 means 1.
    #[must_use]
    pub fn per_source(mut self, operations: u32) -> Self {
        self.per_source = operations.max(1);
        self
    }

    /// What becomes of work that becomes ready during the update. Default: the next update does it.
    #[must_use]
    pub fn reentry(mut self, reentry: Reentry) -> Self {
        self.reentry = reentry;
        self
    }
}

impl Default for Budget {
    /// 1,024 operations: 25 to 70 µs of the owner's own work.
    fn default() -> Self {
        Self::operations(1024)
    }
}

/// What becomes of work that becomes ready during an update.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum Reentry {
    /// The next update does it.
    #[default]
    Next,
    /// The same update does it, in at most so many further rounds, within the same budget.
    Same(u32),
}

/// Why an update stopped.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum EndedBy {
    /// Nothing was left of what was ready when it began.
    #[default]
    Empty,
    /// The budget of operations.
    Operations,
    /// The budget of time.
    Time,
    /// The budget per source.
    PerSource,
    /// A panic, under [`PanicPolicy::Propagate`](super::PanicPolicy::Propagate).
    Panic,
}

/// What an update did.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct UpdateReport {
    /// The tick: how many updates there were, this one included.
    pub tick: u64,
    /// Operations that ran.
    pub ran: u32,
    /// Operations that are ready and were not run, for want of budget or because they became ready during the update.
    pub left: usize,
    /// How long the oldest of them has been waiting, by the owner's clock, since an update first saw it.
    pub oldest_wait: Duration,
    /// Which limit ended it.
    pub ended_by: EndedBy,
    /// Ticks of a fixed cadence that were skipped before this one.
    pub missed_ticks: u64,
    /// Panics that were contained.
    pub panics: Vec<Panicked>,
}
