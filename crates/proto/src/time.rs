//! Timers without a clock.
//!
//! An engine has a handful of deadlines (connect, handshake, idle, close, the application's own),
//! each under a key, most of them set again and again. [`Timers`] keeps them in order; what time it
//! is, the caller says.
//!
//! A sorted vector, and no heap or map: with so few entries a search through memory that lies
//! together is the fastest there is, setting a timer again never allocates, and a connection
//! without timers owns no memory for them.

use std::time::{Duration, Instant};

/// Deadlines under keys, which fire in the order of their deadlines, and those of one instant in
/// the order in which they were set.
///
/// Made for few timers: setting and cancelling take time in proportion to their number.
///
/// Every mutation may change [`next_deadline`](Self::next_deadline). When it has come,
/// [`poll`](Self::poll) until `None`.
#[derive(Clone, Debug)]
pub struct Timers<K> {
    /// The next to fire is last, where taking it moves nothing. Position is all the order that
    /// timers of one instant need, so no sequence numbers are kept.
    entries: Vec<Entry<K>>,
}

#[derive(Clone, Debug)]
struct Entry<K> {
    deadline: Instant,
    key: K,
}

impl<K> Timers<K> {
    /// No timers, and no memory for any.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            entries: Vec::new(),
        }
    }

    /// When [`poll`](Self::poll) will have something to say.
    #[inline]
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        self.entries.last().map(|entry| entry.deadline)
    }

    /// Takes the first timer whose deadline has come, at `now` or before. None fires early.
    ///
    /// A timer that is set for `now` while its like are being polled fires in the same round: who
    /// sets timers again from within it gives them a delay, or bounds the round.
    #[inline]
    pub fn poll(&mut self, now: Instant) -> Option<K> {
        if self.next_deadline()? > now {
            return None;
        }
        self.entries.pop().map(|entry| entry.key)
    }

    /// Number of timers that are set.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no timer is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Cancels all timers and gives their memory back.
    pub fn clear(&mut self) {
        self.entries = Vec::new();
    }
}

impl<K: Eq> Timers<K> {
    /// Sets the timer of `key` to fire at `deadline`. One that was set under that key is replaced,
    /// and stands behind the others of its new instant.
    pub fn set(&mut self, key: K, deadline: Instant) {
        self.cancel(&key);
        let sooner = self
            .entries
            .partition_point(|entry| entry.deadline > deadline);
        self.entries.insert(sooner, Entry { deadline, key });
    }

    /// Sets the timer of `key` to fire `delay` after `now`, and says when that is. A delay that
    /// reaches beyond what an [`Instant`] can express, hundreds of years, is never over: the timer
    /// is then not set, one that was set is cancelled, and the answer is `None`.
    pub fn set_after(&mut self, key: K, now: Instant, delay: Duration) -> Option<Instant> {
        let Some(deadline) = now.checked_add(delay) else {
            self.cancel(&key);
            return None;
        };
        self.set(key, deadline);
        Some(deadline)
    }

    /// Cancels the timer of `key`; whether there was one.
    pub fn cancel(&mut self, key: &K) -> bool {
        let position = self.entries.iter().position(|entry| entry.key == *key);
        position
            .map(|position| self.entries.remove(position))
            .is_some()
    }

    /// Whether the timer of `key` is set.
    #[must_use]
    pub fn contains(&self, key: &K) -> bool {
        self.deadline(key).is_some()
    }

    /// When the timer of `key` fires.
    #[must_use]
    pub fn deadline(&self, key: &K) -> Option<Instant> {
        self.entries
            .iter()
            .find(|entry| entry.key == *key)
            .map(|entry| entry.deadline)
    }
}

impl<K> Default for Timers<K> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Key {
        Connect,
        Idle,
        User(u8),
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "an Instant can be had from a clock only"
    )]
    fn epoch() -> Instant {
        Instant::now()
    }

    fn after(start: Instant, millis: u64) -> Instant {
        start + Duration::from_millis(millis)
    }

    #[test]
    fn nothing_fires_early() {
        let start = epoch();
        let mut timers = Timers::new();
        timers.set(Key::Connect, after(start, 10));
        assert_eq!(timers.poll(start), None);
        assert_eq!(
            timers.poll(after(start, 10) - Duration::from_nanos(1)),
            None
        );
        assert_eq!(timers.poll(after(start, 10)), Some(Key::Connect));
        assert_eq!(timers.poll(after(start, 10)), None);
        assert!(timers.is_empty());
    }

    #[test]
    fn deadlines_come_first_then_the_order_of_setting() {
        let start = epoch();
        let mut timers = Timers::new();
        timers.set(Key::User(1), after(start, 20));
        timers.set(Key::User(2), after(start, 10));
        timers.set(Key::User(3), after(start, 20));
        timers.set(Key::User(4), after(start, 10));
        let fired: Vec<_> = std::iter::from_fn(|| timers.poll(after(start, 60))).collect();
        assert_eq!(
            fired,
            [Key::User(2), Key::User(4), Key::User(1), Key::User(3)]
        );
    }

    #[test]
    fn setting_again_replaces_and_goes_to_the_back() {
        let start = epoch();
        let mut timers = Timers::new();
        timers.set(Key::Idle, after(start, 10));
        timers.set(Key::Connect, after(start, 10));
        timers.set(Key::Idle, after(start, 10));
        assert_eq!(timers.len(), 2);
        assert_eq!(timers.poll(after(start, 10)), Some(Key::Connect));

        timers.set(Key::Idle, after(start, 30));
        assert_eq!(timers.poll(after(start, 10)), None);
        assert_eq!(timers.next_deadline(), Some(after(start, 30)));
        assert_eq!(timers.deadline(&Key::Idle), Some(after(start, 30)));
    }

    #[test]
    fn a_cancelled_timer_does_not_fire() {
        let start = epoch();
        let mut timers = Timers::new();
        timers.set(Key::Idle, start);
        assert!(timers.contains(&Key::Idle));
        assert!(timers.cancel(&Key::Idle));
        assert!(!timers.cancel(&Key::Idle));
        assert!(!timers.contains(&Key::Idle));
        assert_eq!(timers.poll(start), None);

        timers.set(Key::Idle, start);
        timers.set(Key::Connect, start);
        timers.clear();
        assert_eq!(timers.next_deadline(), None);
        assert_eq!(timers.len(), 0);
    }

    #[test]
    fn a_delay_beyond_time_is_never_over() {
        let start = epoch();
        let mut timers = Timers::new();
        let deadline = timers.set_after(Key::Idle, start, Duration::from_secs(60));
        assert_eq!(deadline, Some(start + Duration::from_secs(60)));
        assert_eq!(timers.set_after(Key::Idle, start, Duration::MAX), None);
        assert!(timers.is_empty());
    }

    #[test]
    fn timers_that_are_not_set_cost_no_memory() {
        let start = epoch();
        let mut timers = Timers::new();
        assert_eq!(size_of_val(&timers), 3 * size_of::<usize>());
        assert_eq!(timers.entries.capacity(), 0);
        timers.set(Key::Idle, start);
        let capacity = timers.entries.capacity();
        for millis in 0..100 {
            timers.set(Key::Idle, after(start, millis));
        }
        assert_eq!(
            timers.entries.capacity(),
            capacity,
            "setting again allocates nothing"
        );
        timers.clear();
        assert_eq!(timers.entries.capacity(), 0);
    }

    /// The same, as slow and as plain as can be: a list in the order of setting.
    #[derive(Default)]
    struct Model(Vec<(u8, u64)>);

    impl Model {
        fn cancel(&mut self, key: u8) -> bool {
            let before = self.0.len();
            self.0.retain(|(set, _)| *set != key);
            self.0.len() < before
        }

        fn set(&mut self, key: u8, deadline: u64) {
            self.cancel(key);
            self.0.push((key, deadline));
        }

        fn next(&self) -> Option<u64> {
            self.0.iter().map(|(_, deadline)| *deadline).min()
        }

        fn poll(&mut self, now: u64) -> Option<u8> {
            let next = self.next().filter(|next| *next <= now)?;
            let position = self.0.iter().position(|(_, deadline)| *deadline == next)?;
            Some(self.0.remove(position).0)
        }
    }

    #[derive(Clone, Debug)]
    enum Op {
        Set(u8, u64),
        Cancel(u8),
        Advance(u64),
        Poll,
        Clear,
    }

    fn op() -> impl Strategy<Value = Op> {
        prop_oneof![
            6 => (0..12_u8, 0..20_u64).prop_map(|(key, delay)| Op::Set(key, delay)),
            2 => (0..12_u8).prop_map(Op::Cancel),
            2 => (0..8_u64).prop_map(Op::Advance),
            4 => Just(Op::Poll),
            1 => Just(Op::Clear),
        ]
    }

    proptest! {
        #[test]
        fn they_do_what_the_model_does(ops in prop::collection::vec(op(), 0..200)) {
            let start = epoch();
            let mut now = 0;
            let (mut timers, mut model) = (Timers::new(), Model::default());
            for op in ops {
                match op {
                    Op::Set(key, delay) => {
                        timers.set(key, after(start, now + delay));
                        model.set(key, now + delay);
                    }
                    Op::Cancel(key) => prop_assert_eq!(timers.cancel(&key), model.cancel(key)),
                    Op::Advance(millis) => now += millis,
                    Op::Poll => prop_assert_eq!(timers.poll(after(start, now)), model.poll(now)),
                    Op::Clear => {
                        timers.clear();
                        model.0.clear();
                    }
                }
                prop_assert_eq!(timers.len(), model.0.len());
                let next = model.next().map(|millis| after(start, millis));
                prop_assert_eq!(timers.next_deadline(), next);
                for key in 0..12 {
                    let set = model.0.iter().any(|(known, _)| *known == key);
                    prop_assert_eq!(timers.contains(&key), set);
                }
            }
        }
    }
}
