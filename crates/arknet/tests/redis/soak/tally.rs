//! What callers were told, in numbers.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use arknet::Outcome;
use arknet::redis::Error;

/// What became of all requests.
#[derive(Debug, Default)]
pub(super) struct Tally {
    done: AtomicU64,
    unknown: AtomicU64,
    not_sent: AtomicU64,
    refused: AtomicU64,
    cancelled: AtomicU64,
}

impl Tally {
    /// The value, if there is one; `None` is a request that was dropped.
    ///
    /// # Panics
    ///
    /// When the server has answered something that this request cannot be answered with.
    pub(super) fn value<T>(&self, result: Option<Result<T, Error>>) -> Option<T> {
        self.note(result, &mut Executed::default())
    }

    /// The same for what is counted on the server.
    pub(super) fn note<T>(
        &self,
        result: Option<Result<T, Error>>,
        executed: &mut Executed,
    ) -> Option<T> {
        let (counter, value) = match result {
            Some(Ok(value)) => {
                executed.surely += 1;
                (&self.done, Some(value))
            }
            None => {
                executed.perhaps += 1;
                (&self.cancelled, None)
            }
            Some(Err(error)) => match error.outcome() {
                Outcome::NotSent => (&self.not_sent, None),
                Outcome::Unknown => {
                    executed.perhaps += 1;
                    (&self.unknown, None)
                }
                Outcome::Replied => {
                    // It reads its file again, and has carried nothing out.
                    let code = error.server().map(|said| said.code().to_owned());
                    let loading = matches!(code.as_deref(), Some("LOADING" | "EXECABORT"));
                    assert!(loading, "not what was asked for: {error}");
                    (&self.refused, None)
                }
            },
        };
        counter.fetch_add(1, Ordering::Relaxed);
        value
    }

    pub(super) fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        write!(
            f,
            "{} done, {} unknown, {} not sent, {} refused, {} cancelled",
            read(&self.done),
            read(&self.unknown),
            read(&self.not_sent),
            read(&self.refused),
            read(&self.cancelled)
        )
    }
}

/// How often the server has carried something out, as far as its callers know.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Executed {
    pub(super) surely: u64,
    pub(super) perhaps: u64,
}

impl Executed {
    pub(super) fn check(self, what: &str, count: u64) {
        let Self { surely, perhaps } = self;
        assert!(
            (surely..=surely + perhaps).contains(&count),
            "{what}: carried out {count} times, and told {surely} times, with {perhaps} unknown"
        );
    }
}

/// Which numbers there were, at a bit each.
#[derive(Debug, Default)]
pub(super) struct Numbers(Vec<u64>);

impl Numbers {
    /// Whether it is new.
    pub(super) fn insert(&mut self, number: u64) -> bool {
        let (word, bit) = Self::place(number);
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        let new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        new
    }

    pub(super) fn contains(&self, number: u64) -> bool {
        let (word, bit) = Self::place(number);
        self.0.get(word).is_some_and(|bits| bits & bit != 0)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u64> {
        let all = 0..self.0.len() as u64 * 64;
        all.filter(|number| self.contains(*number))
    }

    fn place(number: u64) -> (usize, u64) {
        (usize::try_from(number / 64).unwrap(), 1 << (number % 64))
    }
}
