//! What a pool counts for the application's recorder.

use arknet_proto::pool::Engine;

use crate::meter::{Counter, Gauge, Labels, Metric, Tally, Times, Unit};

const LEASES: Metric = Metric::new(
    "arknet_pool_leases_total",
    Unit::Count,
    "acquires that got a connection",
);
const WAITS: Metric = Metric::new(
    "arknet_pool_waits_total",
    Unit::Count,
    "acquires that had to wait",
);
const WAIT: Metric = Metric::new(
    "arknet_pool_wait_seconds",
    Unit::Seconds,
    "how long those waited that had to, and got a connection",
);
const TIMEOUTS: Metric = Metric::new(
    "arknet_pool_timeouts_total",
    Unit::Count,
    "acquires whose deadline passed",
);
const REFUSALS: Metric = Metric::new(
    "arknet_pool_refusals_total",
    Unit::Count,
    "acquires that the queue had no room for",
);
const CANCELS: Metric = Metric::new(
    "arknet_pool_cancels_total",
    Unit::Count,
    "acquires that were dropped while they waited",
);
const CONNECTS: Metric = Metric::new(
    "arknet_pool_connects_total",
    Unit::Count,
    "connections that were made",
);
const FAILED_CONNECTS: Metric = Metric::new(
    "arknet_pool_failed_connects_total",
    Unit::Count,
    "attempts to connect that failed",
);
const RESETS: Metric = Metric::new(
    "arknet_pool_resets_total",
    Unit::Count,
    "sessions that were reset when they were returned",
);
const DISCARDS: Metric = Metric::new(
    "arknet_pool_discards_total",
    Unit::Count,
    "connections that could not be used again",
);
const EXPIRIES: Metric = Metric::new(
    "arknet_pool_expiries_total",
    Unit::Count,
    "connections that were ended for their age, or because they were idle for too long",
);
const OPEN: Metric = Metric::new(
    "arknet_pool_connections_open",
    Unit::Count,
    "connections that there are, idle, lent or saying goodbye",
);
const IDLE: Metric = Metric::new(
    "arknet_pool_connections_idle",
    Unit::Count,
    "connections that are nobody's",
);
const LENT: Metric = Metric::new(
    "arknet_pool_connections_lent",
    Unit::Count,
    "connections that are lent",
);
const WAITING: Metric = Metric::new(
    "arknet_pool_acquires_waiting",
    Unit::Count,
    "acquires that wait",
);

/// What is counted without the pool's lock.
#[derive(Debug)]
pub(super) struct Meters {
    pub(super) waits: Counter,
    pub(super) wait: Times,
    pub(super) resets: Counter,
}

impl Meters {
    pub(super) fn new(labels: Labels<'_>) -> Self {
        Self {
            waits: Counter::new(&WAITS, labels),
            wait: Times::new(&WAIT, labels),
            resets: Counter::new(&RESETS, labels),
        }
    }
}

/// What follows the engine.
#[derive(Debug)]
pub(super) struct Tallies {
    leases: Tally,
    timeouts: Tally,
    refusals: Tally,
    cancels: Tally,
    connects: Tally,
    failed_connects: Tally,
    discards: Tally,
    expiries: Tally,
    open: Gauge,
    idle: Gauge,
    lent: Gauge,
    waiting: Gauge,
}

impl Tallies {
    pub(super) fn new(labels: Labels<'_>) -> Self {
        Self {
            leases: Tally::new(&LEASES, labels),
            timeouts: Tally::new(&TIMEOUTS, labels),
            refusals: Tally::new(&REFUSALS, labels),
            cancels: Tally::new(&CANCELS, labels),
            connects: Tally::new(&CONNECTS, labels),
            failed_connects: Tally::new(&FAILED_CONNECTS, labels),
            discards: Tally::new(&DISCARDS, labels),
            expiries: Tally::new(&EXPIRIES, labels),
            open: Gauge::new(&OPEN, labels),
            idle: Gauge::new(&IDLE, labels),
            lent: Gauge::new(&LENT, labels),
            waiting: Gauge::new(&WAITING, labels),
        }
    }

    /// Takes note of what the engine has counted.
    #[inline]
    pub(super) fn follow(&mut self, engine: &Engine) {
        let (counts, totals) = (engine.counts(), engine.totals());
        self.leases.follow(totals.lent);
        self.timeouts.follow(totals.timed_out);
        self.refusals.follow(totals.queue_full);
        self.cancels.follow(totals.cancelled);
        self.connects.follow(totals.connected);
        self.failed_connects.follow(totals.connects_failed);
        self.discards.follow(totals.discarded);
        self.expiries.follow(totals.expired + totals.idled_out);
        let lent = counts.leased + counts.granted;
        self.open.set(counts.idle + lent + counts.ending);
        self.idle.set(counts.idle);
        self.lent.set(lent);
        self.waiting.set(engine.waiting());
    }
}
