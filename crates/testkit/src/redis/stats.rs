//! What an embedded server has seen.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Names of commands that are counted apart; a client that makes up more is counted without.
const MAX_NAMES: usize = 512;

/// Names that clients gave for the server in their TLS handshakes.
const MAX_SERVER_NAMES: usize = 1_024;

/// Counts of an embedded server, since its start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Connections accepted.
    pub accepted: u64,
    /// Connections that are open.
    pub open: usize,
    /// Commands received whole, executed or not.
    pub commands: u64,
    /// Clients that wait in a blocking command.
    pub blocked: usize,
    /// The server's name in each TLS handshake (SNI), in the order of their ends; none where the client
    /// gave none. At most 1,024.
    pub server_names: Vec<Option<String>>,
    by_name: BTreeMap<String, u64>,
}

impl Stats {
    /// How many commands of this name were received, in any case of letters.
    #[must_use]
    pub fn count(&self, command: &str) -> u64 {
        self.by_name
            .get(&command.to_ascii_lowercase())
            .copied()
            .unwrap_or(0)
    }

    pub(super) fn saw(&mut self, command: &[u8]) {
        self.commands += 1;
        let name = String::from_utf8_lossy(command).to_ascii_lowercase();
        if let Some(count) = self.by_name.get_mut(&name) {
            *count += 1;
        } else if self.by_name.len() < MAX_NAMES {
            self.by_name.insert(name, 1);
        }
    }

    pub(super) fn saw_server_name(&mut self, name: Option<&str>) {
        if self.server_names.len() < MAX_SERVER_NAMES {
            self.server_names.push(name.map(str::to_owned));
        }
    }
}

/// Where the server's thread shows its counts to those who wait for them.
#[derive(Debug, Default)]
pub(super) struct Board {
    stats: Mutex<Stats>,
    changed: Condvar,
    /// Without one the counts are not copied.
    waiting: AtomicUsize,
}

impl Board {
    pub(super) fn is_waited_for(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) > 0
    }

    pub(super) fn show(&self, stats: &Stats) {
        let mut shown = self.stats.lock().unwrap_or_else(PoisonError::into_inner);
        shown.clone_from(stats);
        self.changed.notify_all();
    }

    /// Announces somebody who waits. The server must be asked to show its counts behind it.
    pub(super) fn enter(&self) -> Waiting<'_> {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        Waiting(self)
    }
}

/// Somebody who waits for the counts to be as he wants them.
pub(super) struct Waiting<'a>(&'a Board);

impl Waiting<'_> {
    /// The counts that were reached, or those of the deadline.
    pub(super) fn until(
        &self,
        within: Duration,
        reached: impl Fn(&Stats) -> bool,
    ) -> Result<Stats, Stats> {
        let end = Instant::now() + within;
        let mut shown = self.0.stats.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if reached(&shown) {
                return Ok(shown.clone());
            }
            let Some(left) = end.checked_duration_since(Instant::now()) else {
                return Err(shown.clone());
            };
            shown = self
                .0
                .changed
                .wait_timeout(shown, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}
