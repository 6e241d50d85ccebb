//! What becomes of the ticks that a late owner has missed.

use std::time::{Duration, Instant};

/// What becomes of ticks whose time passed while the owner was elsewhere.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum Missed {
    /// They are skipped and counted; the next one is on the old grid. The default.
    #[default]
    Skip,
    /// They are skipped and counted; the next one is a whole period from now.
    Delay,
    /// So many of them are caught up with, without a pause; the others are skipped and counted.
    Burst(u32),
}

/// The tick after the one that was due at `due`, and how many were skipped before it. Never earlier than `due`.
pub(crate) fn after(
    due: Instant,
    now: Instant,
    period: Duration,
    missed: Missed,
) -> (Instant, u64) {
    let period = period.max(Duration::from_nanos(1));
    let late = now.saturating_duration_since(due);
    let behind = late.as_nanos() / period.as_nanos();
    let caught_up = match missed {
        Missed::Burst(most) => behind.min(u128::from(most)),
        Missed::Skip | Missed::Delay => 0,
    };
    let skipped = u64::try_from(behind - caught_up).unwrap_or(u64::MAX);
    let next = match missed {
        Missed::Delay if behind > 0 => add(now, period),
        _ => add(due, times(period, skipped.saturating_add(1))),
    };
    (next, skipped)
}

fn times(period: Duration, count: u64) -> Duration {
    let nanos = period.as_nanos().saturating_mul(u128::from(count));
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// A moment that far away, or the last one that there is.
pub(crate) fn add(instant: Instant, duration: Duration) -> Instant {
    // A century is as good as for ever, and fits any clock.
    const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
    instant
        .checked_add(duration.min(CENTURY))
        .unwrap_or(instant)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn ticks_in_time_keep_the_grid() {
        let start = Instant::now();
        let late = start + Duration::from_micros(400);
        assert_eq!(after(start, late, MS, Missed::Skip), (start + MS, 0));
        assert_eq!(after(start, late, MS, Missed::Delay), (start + MS, 0));
    }

    #[test]
    fn fifty_milliseconds_late_are_forty_nine_missed_ticks_after_the_next() {
        let start = Instant::now();
        let due = start + MS;
        let now = start + 50 * MS;
        assert_eq!(after(due, now, MS, Missed::Skip), (start + 51 * MS, 49));
        assert_eq!(after(due, now, MS, Missed::Delay), (now + MS, 49));
        assert_eq!(after(due, now, MS, Missed::Burst(3)), (start + 48 * MS, 46));
    }

    #[test]
    fn a_period_of_nothing_and_one_of_for_ever_do_no_harm() {
        let start = Instant::now();
        let (next, _) = after(start, start + MS, Duration::ZERO, Missed::Skip);
        assert!(next > start);
        let (next, skipped) = after(start, start, Duration::MAX, Missed::Skip);
        assert!(next > start && skipped == 0);
    }
}
