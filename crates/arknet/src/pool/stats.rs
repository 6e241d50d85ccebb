//! What a pool tells about itself.

use arknet_proto::pool::Engine;

/// A moment of a pool, and what has happened until then.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct PoolStats {
    /// Connections that are being made.
    pub connecting: usize,
    /// Connections that are nobody's.
    pub idle: usize,
    /// Connections that are lent, or granted to an acquire that has not been polled since.
    pub leased: usize,
    /// Connections that say goodbye.
    pub ending: usize,
    /// Acquires that wait.
    pub waiting: usize,
    /// Whether the last attempt to connect failed.
    pub failing: bool,
    /// Whether the pool was closed.
    pub closed: bool,
    /// Leases so far.
    pub lent: u64,
    /// Connections made so far.
    pub connected: u64,
    /// Attempts to connect that failed so far.
    pub connects_failed: u64,
    /// Connections that could not be used again so far.
    pub discarded: u64,
    /// Connections that were ended for their age so far.
    pub expired: u64,
    /// Connections that were ended because they were idle for too long so far.
    pub idled_out: u64,
    /// Acquires whose deadline passed so far.
    pub timed_out: u64,
    /// Acquires that were dropped while they waited so far.
    pub cancelled: u64,
    /// Acquires that the queue had no room for so far.
    pub queue_full: u64,
}

impl PoolStats {
    pub(super) fn of(engine: &Engine) -> Self {
        let (counts, totals) = (engine.counts(), engine.totals());
        Self {
            connecting: counts.connecting,
            idle: counts.idle,
            leased: counts.leased + counts.granted,
            ending: counts.ending,
            waiting: engine.waiting(),
            failing: engine.is_failing(),
            closed: engine.is_closed(),
            lent: totals.lent,
            connected: totals.connected,
            connects_failed: totals.connects_failed,
            discarded: totals.discarded,
            expired: totals.expired,
            idled_out: totals.idled_out,
            timed_out: totals.timed_out,
            cancelled: totals.cancelled,
            queue_full: totals.queue_full,
        }
    }
}

/// What [`Pool::close`](super::Pool::close) found.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct PoolReport {
    /// Whether nothing was left by the deadline.
    pub finished: bool,
    /// Leases that had not been returned. Each ends its connection when it is.
    pub leases_left: usize,
    /// Connections that had not said goodbye. They are dropped within a second.
    pub ending_left: usize,
    /// Connects that had not ended. They are dropped as soon as their lane comes to it.
    pub connecting_left: usize,
}

impl PoolReport {
    pub(super) fn of(engine: &Engine) -> Self {
        let counts = engine.counts();
        Self {
            finished: engine.is_drained(),
            leases_left: counts.leased,
            ending_left: counts.ending,
            connecting_left: counts.connecting,
        }
    }
}
