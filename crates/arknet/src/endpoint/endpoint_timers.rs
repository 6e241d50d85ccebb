//! The timers of an endpoint: tasks on its lanes that its keys can cancel.

use std::collections::BTreeMap;

use futures_util::future::AbortHandle;

use super::timers::TimerKey;

/// Timers that may be set at once on an endpoint.
const TIMERS: usize = 1024;

/// The running timers of an endpoint, by key.
#[derive(Debug, Default)]
pub(crate) struct EndpointTimers {
    running: BTreeMap<TimerKey, AbortHandle>,
}

impl EndpointTimers {
    /// Adds a timer; one with the same key is cancelled. It is refused where there are too many.
    pub(crate) fn add(&mut self, key: TimerKey, handle: AbortHandle) -> bool {
        self.running.retain(|_, handle| !handle.is_aborted());
        if self.running.len() >= TIMERS && !self.running.contains_key(&key) {
            return false;
        }
        if let Some(replaced) = self.running.insert(key, handle) {
            replaced.abort();
        }
        true
    }

    /// Cancels a timer, and says whether there was one.
    pub(crate) fn cancel(&mut self, key: &TimerKey) -> bool {
        self.running.remove(key).is_some_and(|handle| {
            let running = !handle.is_aborted();
            handle.abort();
            running
        })
    }

    /// Cancels all.
    pub(crate) fn clear(&mut self) {
        for handle in std::mem::take(&mut self.running).into_values() {
            handle.abort();
        }
    }
}
