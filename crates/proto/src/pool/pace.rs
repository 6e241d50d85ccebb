//! How fast connects follow each other.

use std::time::Instant;

use super::Config;
use crate::reconnect::{Reconnect, ReconnectPolicy};

/// Many connects at once while they succeed; one at a time, and after pauses, while they fail.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    reconnect: Reconnect,
    at_once: usize,
    /// Set while connects fail: when the next may begin.
    retry: Option<Instant>,
}

impl Pace {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            reconnect: Reconnect::new(ReconnectPolicy::backoff_with(config.backoff)),
            at_once: config.connects,
            retry: None,
        }
    }

    /// How many connects may run at once.
    pub(super) fn at_once(&self) -> usize {
        if self.is_failing() { 1 } else { self.at_once }
    }

    /// Whether the last connect to end had failed.
    pub(super) fn is_failing(&self) -> bool {
        self.retry.is_some()
    }

    /// Until when no connect may begin, if it is not over yet.
    pub(super) fn paused(&self, now: Instant) -> Option<Instant> {
        self.retry.filter(|retry| now < *retry)
    }

    pub(super) fn succeeded(&mut self) {
        self.reconnect.succeeded();
        self.retry = None;
    }

    /// Connects that began together fail together, and count as one failure.
    pub(super) fn failed(&mut self, now: Instant, random: u64) {
        if self.paused(now).is_some() {
            return;
        }
        let delay = self
            .reconnect
            .failed(random)
            .unwrap_or(ReconnectPolicy::DEFAULT_DELAY);
        // A pause beyond what the clock can express does not come: the longest is what the clock has.
        self.retry = now.checked_add(delay).or(Some(now));
    }
}
