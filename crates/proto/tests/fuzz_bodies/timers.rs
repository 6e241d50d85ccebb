//! Any order of setting, cancelling and polling: the timers do what a plain list does.
//!
//! Input is a sequence of operations, a byte for the operation and a byte for its argument, which
//! is a key in its low four bits and milliseconds in its high four.

use std::time::{Duration, Instant};

use arknet_proto::time::Timers;

use super::Input;

/// Operations that are read from one input; the list compares every timer with every other.
const MOST_OPERATIONS: usize = 4_096;

/// Runs one input.
pub(crate) fn run(data: &[u8]) {
    let mut input = Input(data);
    let mut pair = Pair::new();
    for _ in 0..MOST_OPERATIONS {
        if input.is_empty() {
            break;
        }
        let (operation, argument) = (input.byte(), input.byte());
        pair.apply(operation % 6, argument & 0x0f, u64::from(argument >> 4));
        pair.compare();
    }
    pair.drain();
}

/// The timers, and a list in the order of setting.
struct Pair {
    start: Instant,
    now: u64,
    timers: Timers<u8>,
    list: Vec<(u8, u64)>,
}

impl Pair {
    #[allow(
        clippy::disallowed_methods,
        reason = "an Instant can be had from a clock only"
    )]
    fn new() -> Self {
        Self {
            start: Instant::now(),
            now: 0,
            timers: Timers::new(),
            list: Vec::new(),
        }
    }

    fn apply(&mut self, operation: u8, key: u8, millis: u64) {
        match operation {
            0 | 1 => {
                self.timers.set(key, self.at(self.now + millis));
                self.list.retain(|(set, _)| *set != key);
                self.list.push((key, self.now + millis));
            }
            2 => {
                let was_set = self.list.iter().any(|(set, _)| *set == key);
                self.list.retain(|(set, _)| *set != key);
                assert_eq!(self.timers.cancel(&key), was_set);
            }
            3 => self.now += millis,
            4 => {
                self.poll();
            }
            _ if key == 0 => {
                self.timers.clear();
                self.list.clear();
            }
            _ => {
                // Reaches beyond time: the same as cancelling.
                self.list.retain(|(set, _)| *set != key);
                let now = self.at(self.now);
                assert_eq!(self.timers.set_after(key, now, Duration::MAX), None);
            }
        }
    }

    fn poll(&mut self) -> Option<u8> {
        let due = self.next().filter(|next| *next <= self.now);
        let position = due.and_then(|due| self.list.iter().position(|(_, at)| *at == due));
        let expected = position.map(|position| self.list.remove(position).0);
        let fired = self.timers.poll(self.at(self.now));
        assert_eq!(fired, expected);
        fired
    }

    fn compare(&self) {
        assert_eq!(self.timers.len(), self.list.len());
        assert_eq!(self.timers.is_empty(), self.list.is_empty());
        assert_eq!(
            self.timers.next_deadline(),
            self.next().map(|next| self.at(next))
        );
        for key in 0..16 {
            let set = self.list.iter().find(|(set, _)| *set == key);
            let deadline = set.map(|(_, deadline)| self.at(*deadline));
            assert_eq!(self.timers.deadline(&key), deadline);
            assert_eq!(self.timers.contains(&key), deadline.is_some());
        }
    }

    /// In the end everything fires, and once.
    fn drain(&mut self) {
        self.now += 16;
        while self.poll().is_some() {}
        self.compare();
        assert!(self.timers.is_empty());
    }

    fn next(&self) -> Option<u64> {
        self.list.iter().map(|(_, deadline)| *deadline).min()
    }

    fn at(&self, millis: u64) -> Instant {
        self.start + Duration::from_millis(millis)
    }
}
