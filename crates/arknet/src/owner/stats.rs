//! What an owner has done so far, in numbers that cost next to nothing to keep.

use std::cell::Cell;
use std::time::Duration;

use super::core::Core;
use super::source::CLASSES;

/// One for each power of two of nanoseconds.
const BUCKETS: usize = 64;

/// Durations, by the power of two that they are below: enough to see a change of a quarter is not, of a half is.
pub(crate) struct Durations {
    buckets: [Cell<u64>; BUCKETS],
    most: Cell<Duration>,
}

impl Default for Durations {
    fn default() -> Self {
        Self {
            buckets: [const { Cell::new(0) }; BUCKETS],
            most: Cell::new(Duration::ZERO),
        }
    }
}

impl Durations {
    pub(crate) fn add(&self, duration: Duration, count: u64) {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let bucket = (BUCKETS - nanos.leading_zeros() as usize).min(BUCKETS - 1);
        if let Some(bucket) = self.buckets.get(bucket) {
            bucket.set(bucket.get().saturating_add(count));
        }
        self.most.set(self.most.get().max(duration));
    }

    fn snapshot(&self) -> Distribution {
        let count = self.buckets.iter().map(Cell::get).sum();
        Distribution {
            count,
            median: self.quantile(count.div_ceil(2)),
            p99: self.quantile(count - count / 100),
            most: self.most.get(),
        }
    }

    /// The upper end of the bucket that the value with this rank is in.
    fn quantile(&self, rank: u64) -> Duration {
        let mut seen = 0;
        for (index, bucket) in self.buckets.iter().enumerate() {
            seen += bucket.get();
            if seen >= rank && seen > 0 {
                let nanos = 1_u64.checked_shl(u32::try_from(index).unwrap_or(u32::MAX));
                return Duration::from_nanos(nanos.unwrap_or(u64::MAX)).min(self.most.get());
            }
        }
        Duration::ZERO
    }
}

#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) busy: Cell<u64>,
    pub(crate) ran: [Cell<u64>; CLASSES],
    pub(crate) hit_operations: Cell<u64>,
    pub(crate) hit_time: Cell<u64>,
    pub(crate) hit_per_source: Cell<u64>,
    pub(crate) rejected: Cell<u64>,
    pub(crate) panics: Cell<u64>,
    pub(crate) slow: Cell<u64>,
    pub(crate) missed: Cell<u64>,
    pub(crate) abandoned: Cell<u64>,
    pub(crate) update_time: Durations,
    pub(crate) wait: Durations,
    pub(crate) lateness: Durations,
}

impl Counters {
    pub(crate) fn ran_in_all(&self) -> u64 {
        self.ran.iter().map(Cell::get).sum()
    }
}

/// A distribution of durations. The quantiles are upper bounds, within a factor of two.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Distribution {
    /// How many there were.
    pub count: u64,
    /// Half are no longer than this.
    pub median: Duration,
    /// 99 of 100 are no longer than this.
    pub p99: Duration,
    /// The longest, exactly.
    pub most: Duration,
}

/// What an owner has done so far.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// Updates.
    pub updates: u64,
    /// Those in which something was to be done.
    pub busy_updates: u64,
    /// Operations of the network.
    pub network: u64,
    /// Operations of services.
    pub databases: u64,
    /// Timers that fired.
    pub timers: u64,
    /// Tasks that were resumed.
    pub tasks: u64,
    /// Functions that were posted or deferred, and results of blocking work.
    pub posts: u64,
    /// Operations that are ready now.
    pub depth: usize,
    /// Tasks that have not ended.
    pub tasks_alive: usize,
    /// Timers that are set.
    pub timers_set: usize,
    /// Groups that have not ended.
    pub groups: usize,
    /// How long busy updates took.
    pub update_time: Distribution,
    /// How long operations waited, by the owner's clock, from the update that took them in to the one that delivered them.
    pub wait: Distribution,
    /// How late ticks of a fixed cadence began.
    pub lateness: Distribution,
    /// Ticks that were missed.
    pub missed_ticks: u64,
    /// Updates that ended with their budget of operations.
    pub ended_by_operations: u64,
    /// Updates that ended with their budget of time.
    pub ended_by_time: u64,
    /// Updates that ended with the budget of a source.
    pub ended_by_source: u64,
    /// How often the host was woken.
    pub wakes: u64,
    /// What was refused.
    pub rejected: u64,
    /// Panics that were contained.
    pub panics: u64,
    /// Operations that were longer than the builder allows, where it was told a time.
    pub slow: u64,
    /// Operations that a drain gave up.
    pub abandoned: u64,
}

pub(crate) fn snapshot<W>(core: &Core<W>) -> Stats {
    let counters = &core.counters;
    let [network, databases, timers, tasks, posts] = [0, 1, 2, 3, 4]
        .map(|class: usize| counters.ran.get(class).map(Cell::get).unwrap_or_default());
    Stats {
        updates: core.tick.get(),
        busy_updates: counters.busy.get(),
        network,
        databases,
        timers,
        tasks,
        posts,
        depth: core.waiting.get(),
        tasks_alive: core.tasks.len(),
        timers_set: core.timers.len(),
        groups: core.groups.borrow().len(),
        update_time: counters.update_time.snapshot(),
        wait: counters.wait.snapshot(),
        lateness: counters.lateness.snapshot(),
        missed_ticks: counters
            .missed
            .get()
            .saturating_add(core.timers.missed.get()),
        ended_by_operations: counters.hit_operations.get(),
        ended_by_time: counters.hit_time.get(),
        ended_by_source: counters.hit_per_source.get(),
        wakes: core.signal.wakes(),
        rejected: counters.rejected.get().saturating_add(core.posts.refused()),
        panics: counters.panics.get(),
        slow: counters.slow.get(),
        abandoned: counters.abandoned.get(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_upper_bounds_within_a_factor_of_two() {
        let durations = Durations::default();
        assert_eq!(durations.snapshot(), Distribution::default());
        for micros in 1..=1000 {
            durations.add(Duration::from_micros(micros), 1);
        }
        let seen = durations.snapshot();
        assert_eq!(seen.count, 1000);
        assert_eq!(seen.most, Duration::from_micros(1000));
        assert!(
            seen.median >= Duration::from_micros(500) && seen.median <= Duration::from_micros(1000)
        );
        assert!(seen.p99 >= Duration::from_micros(990) && seen.p99 <= seen.most);
    }
}
