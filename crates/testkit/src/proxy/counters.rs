//! What the proxy has seen, and waiting until it has.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What a [`FaultProxy`](super::FaultProxy) has seen since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Connections accepted from clients; the n-th has the index n - 1.
    pub accepted: u64,
    /// Connections open now.
    pub open: u64,
    /// Connections closed at once because the proxy's bound was reached.
    pub turned_away: u64,
    /// Connections whose server did not accept; their clients were reset.
    pub unreachable: u64,
    /// Bytes handed on to the server.
    pub to_server: u64,
    /// Bytes handed on to the client.
    pub to_client: u64,
    /// Bytes of either direction that were swallowed.
    pub swallowed: u64,
    /// Faults that happened: cuts, stalls, resets, half-closes and black holes, once for each
    /// direction of a connection that met one.
    pub faults: u64,
}

/// The counters, and a bell that rings when they change.
#[derive(Debug, Default)]
pub(super) struct Board {
    counters: Mutex<Counters>,
    changed: Condvar,
}

impl Board {
    pub(super) fn update(&self, change: impl FnOnce(&mut Counters)) {
        let mut counters = self.lock();
        let before = *counters;
        change(&mut counters);
        if *counters != before {
            drop(counters);
            self.changed.notify_all();
        }
    }

    pub(super) fn read(&self) -> Counters {
        *self.lock()
    }

    pub(super) fn wait_until(
        &self,
        within: Duration,
        reached: impl Fn(&Counters) -> bool,
    ) -> Result<Counters, Counters> {
        let end = Instant::now() + within;
        let mut counters = self.lock();
        while !reached(&counters) {
            let Some(left) = end.checked_duration_since(Instant::now()) else {
                return Err(*counters);
            };
            let woken = self.changed.wait_timeout(counters, left);
            counters = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(*counters)
    }

    fn lock(&self) -> MutexGuard<'_, Counters> {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
