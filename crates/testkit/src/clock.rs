//! A virtual clock: time that moves only when a story says so.
//!
//! Engines take `now` as a parameter, so a story about an hour of silence needs no hour. An
//! [`Instant`] cannot be made from nothing, so the clock reads the real one once, when it is
//! made, and counts from there.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A clock that stands still until [`advance`](VirtualClock::advance) moves it.
///
/// Clones share the time: all parties of a story live in the same moment. The clock can be
/// shared between threads; it never goes backwards.
#[derive(Clone, Debug)]
pub struct VirtualClock {
    base: Instant,
    /// Nanoseconds since `base`; 64 bits of them are 584 years.
    elapsed: Arc<AtomicU64>,
}

impl VirtualClock {
    /// A clock that starts at the present moment.
    #[must_use]
    pub fn new() -> Self {
        Self::starting_at(Instant::now())
    }

    /// A clock that starts at `base`, for stories that must agree with another clock.
    #[must_use]
    pub fn starting_at(base: Instant) -> Self {
        Self {
            base,
            elapsed: Arc::new(AtomicU64::new(0)),
        }
    }

    /// The present moment of the story.
    ///
    /// # Panics
    ///
    /// When the platform's [`Instant`] cannot hold the moment; on Linux it holds any.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.base + self.elapsed()
    }

    /// How far the clock has moved since it was made.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.elapsed.load(Ordering::Acquire))
    }

    /// Moves the time of all clones forward by `by` and returns the new present.
    ///
    /// # Panics
    ///
    /// When the clock would leave the 584 years that it can count.
    pub fn advance(&self, by: Duration) -> Instant {
        let by = u64::try_from(by.as_nanos()).unwrap_or(u64::MAX);
        let moved = self
            .elapsed
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |then| {
                then.checked_add(by)
            });
        assert!(
            moved.is_ok(),
            "advance the virtual clock: it counts 584 years and no more"
        );
        self.now()
    }

    /// Moves the time of all clones forward to `to` and returns the new present; a moment that
    /// has passed already changes nothing.
    ///
    /// # Panics
    ///
    /// As [`advance`](VirtualClock::advance).
    pub fn advance_to(&self, to: Instant) -> Instant {
        self.advance(to.saturating_duration_since(self.now()))
    }
}

impl Default for VirtualClock {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    #[test]
    fn stands_still_until_it_is_moved() {
        let clock = VirtualClock::new();
        let start = clock.now();
        assert_eq!(clock.now(), start);
        assert_eq!(clock.advance(HOUR), start + HOUR);
        assert_eq!(clock.elapsed(), HOUR);
    }

    #[test]
    fn clones_share_the_time() {
        let clock = VirtualClock::new();
        let other = clock.clone();
        clock.advance(HOUR);
        assert_eq!(other.now(), clock.now());
        assert_eq!(other.elapsed(), HOUR);
    }

    #[test]
    fn advance_to_never_goes_backwards() {
        let clock = VirtualClock::new();
        let start = clock.now();
        clock.advance_to(start + HOUR);
        assert_eq!(clock.advance_to(start), start + HOUR);
    }

    #[test]
    #[should_panic(expected = "584 years")]
    fn refuses_to_leave_its_range() {
        let clock = VirtualClock::new();
        clock.advance(Duration::from_nanos(1));
        clock.advance(Duration::MAX);
    }
}
