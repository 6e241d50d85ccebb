//! The timers of an endpoint: tasks on its lanes that its keys can cancel.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::AbortHandle;

use super::timers::TimerKey;

/// Timers that may be set at once on an endpoint.
const TIMERS: usize = 1024;

/// The running timers of an endpoint, by key.
#[derive(Debug, Default)]
pub(crate) struct EndpointTimers {
    running: BTreeMap<TimerKey, Timer>,
    ended: bool,
}

#[derive(Debug)]
struct Timer {
    handle: AbortHandle,
    fired: Arc<AtomicBool>,
}

impl Timer {
    fn is_pending(&self) -> bool {
        !self.handle.is_aborted() && !self.fired.load(Ordering::Acquire)
    }
}

impl EndpointTimers {
    /// Adds a timer, which sets `fired` when it will not run again; one with the same key is cancelled. It is refused
    /// where there are too many, and after the end.
    pub(crate) fn add(
        &mut self,
        key: TimerKey,
        handle: AbortHandle,
        fired: Arc<AtomicBool>,
    ) -> bool {
        if self.running.len() >= TIMERS {
            self.running.retain(|_, timer| timer.is_pending());
        }
        let is_full = self.running.len() >= TIMERS && !self.running.contains_key(&key);
        if self.ended || is_full {
            return false;
        }
        if let Some(replaced) = self.running.insert(key, Timer { handle, fired }) {
            replaced.handle.abort();
        }
        true
    }

    /// Cancels a timer, and says whether there was one that had not fired for the last time.
    pub(crate) fn cancel(&mut self, key: &TimerKey) -> bool {
        self.running.remove(key).is_some_and(|timer| {
            let pending = timer.is_pending();
            timer.handle.abort();
            pending
        })
    }

    /// Cancels all, and refuses more.
    pub(crate) fn end(&mut self) {
        self.ended = true;
        for timer in std::mem::take(&mut self.running).into_values() {
            timer.handle.abort();
        }
    }
}
