//! The sessions of an endpoint.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::error::CloseReason;
use super::handle::SessionHandle;
use super::shared::{Close, SessionId};
use super::shutdown::ShutdownReport;
use crate::lanes::lock;

/// How long tasks may take to end after their sessions have been cut. One that takes longer blocks its lane.
const CUT_GRACE: Duration = Duration::from_secs(1);

/// The sessions of an endpoint, and what became of those that have ended.
#[derive(Debug, Default)]
pub(super) struct Registry {
    sessions: Mutex<BTreeMap<SessionId, SessionHandle>>,
    changed: Notify,
    tally: Mutex<Tally>,
    accepted: AtomicU64,
    refused: AtomicU64,
}

#[derive(Debug, Default)]
struct Tally {
    ending: bool,
    report: ShutdownReport,
}

impl Registry {
    /// Adds a session; where there are `limit` already, it is refused and counted.
    pub(super) fn admit(&self, handle: SessionHandle, limit: usize) -> bool {
        let mut sessions = lock(&self.sessions);
        if sessions.len() >= limit {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        self.accepted.fetch_add(1, Ordering::Relaxed);
        sessions.insert(handle.id(), handle);
        true
    }

    /// Takes a session out, and notes how it ended.
    pub(super) fn remove(&self, handle: &SessionHandle, reason: &CloseReason) {
        {
            let mut tally = lock(&self.tally);
            let counters = &handle.shared().counters;
            let (bytes, messages) = counters.all_dropped();
            tally.report.dropped_bytes += bytes;
            tally.report.dropped_messages += messages;
            if tally.ending {
                match reason {
                    CloseReason::Local | CloseReason::Peer
                        if messages == 0 && !counters.was_cut() =>
                    {
                        tally.report.closed += 1;
                    }
                    _ => tally.report.forced += 1,
                }
            }
        }
        lock(&self.sessions).remove(&handle.id());
        self.changed.notify_waiters();
    }

    pub(super) fn get(&self, id: SessionId) -> Option<SessionHandle> {
        lock(&self.sessions).get(&id).cloned()
    }

    /// All sessions, in the order in which they were made.
    pub(super) fn snapshot(&self) -> Vec<SessionHandle> {
        lock(&self.sessions).values().cloned().collect()
    }

    pub(super) fn len(&self) -> usize {
        lock(&self.sessions).len()
    }

    pub(super) fn accepted(&self) -> u64 {
        self.accepted.load(Ordering::Relaxed)
    }

    pub(super) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Drains all sessions until `deadline`, cuts the rest, and reports.
    pub(super) async fn end(&self, deadline: Instant) -> ShutdownReport {
        lock(&self.tally).ending = true;
        for session in self.snapshot() {
            session.shared().close(Close::By(deadline));
        }
        self.wait_until_empty(deadline).await;
        for session in self.snapshot() {
            session.abort();
        }
        self.wait_until_empty(crate::io::after(CUT_GRACE)).await;
        let stuck = self.len();
        let mut report = lock(&self.tally).report.clone();
        report.stuck = stuck;
        report
    }

    async fn wait_until_empty(&self, deadline: Instant) {
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            if self.len() == 0
                || tokio::time::timeout_at(deadline.into(), changed)
                    .await
                    .is_err()
            {
                return;
            }
        }
    }
}
