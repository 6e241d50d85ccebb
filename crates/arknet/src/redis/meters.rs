//! What the connections to a server count for the application's recorder.

use crate::meter::{Counter, Labels, Metric, Unit};

const REQUESTS: Metric = Metric::new(
    "arknet_redis_requests_total",
    Unit::Count,
    "requests that were taken in, a pipeline of ten being ten",
);
const REPLIES: Metric = Metric::new(
    "arknet_redis_replies_total",
    Unit::Count,
    "replies that came, those that nobody wanted any more with them",
);
const ERRORS: Metric = Metric::new(
    "arknet_redis_errors_total",
    Unit::Count,
    "replies that were errors",
);
const TIMEOUTS: Metric = Metric::new(
    "arknet_redis_timeouts_total",
    Unit::Count,
    "requests whose deadline passed",
);
const LOST: Metric = Metric::new(
    "arknet_redis_lost_total",
    Unit::Count,
    "requests that were lost with their connection",
);
const SENT: Metric = Metric::new(
    "arknet_redis_sent_bytes_total",
    Unit::Bytes,
    "bytes that were handed over, without TLS's own",
);
const RECEIVED: Metric = Metric::new(
    "arknet_redis_received_bytes_total",
    Unit::Bytes,
    "bytes that came, without TLS's own",
);
const CONNECTS: Metric = Metric::new(
    "arknet_redis_connects_total",
    Unit::Count,
    "sessions that began",
);
const FAILED_CONNECTS: Metric = Metric::new(
    "arknet_redis_failed_connects_total",
    Unit::Count,
    "attempts to connect and log in that failed",
);
const PUSHES: Metric = Metric::new(
    "arknet_redis_pushes_total",
    Unit::Count,
    "messages that answer no request, published ones among them",
);
const DROPPED: Metric = Metric::new(
    "arknet_redis_pushes_dropped_total",
    Unit::Count,
    "messages that a receiver had no room for",
);

/// How a server is used.
#[derive(Clone, Copy, Debug)]
pub(super) enum Access {
    Shared,
    Lease,
    Subscriber,
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Meters {
    pub(super) requests: Counter,
    pub(super) replies: Counter,
    pub(super) errors: Counter,
    pub(super) timeouts: Counter,
    pub(super) lost: Counter,
    pub(super) sent: Counter,
    pub(super) received: Counter,
    pub(super) connects: Counter,
    pub(super) failed_connects: Counter,
    pub(super) pushes: Counter,
    pub(super) dropped: Counter,
}

impl Meters {
    pub(super) fn new(access: Access, server: &str) -> Self {
        let access = match access {
            Access::Shared => "shared",
            Access::Lease => "lease",
            Access::Subscriber => "subscriber",
        };
        let labels: Labels<'_> = &[("server", server), ("access", access)];
        Self {
            requests: Counter::new(&REQUESTS, labels),
            replies: Counter::new(&REPLIES, labels),
            errors: Counter::new(&ERRORS, labels),
            timeouts: Counter::new(&TIMEOUTS, labels),
            lost: Counter::new(&LOST, labels),
            sent: Counter::new(&SENT, labels),
            received: Counter::new(&RECEIVED, labels),
            connects: Counter::new(&CONNECTS, labels),
            failed_connects: Counter::new(&FAILED_CONNECTS, labels),
            pushes: Counter::new(&PUSHES, labels),
            dropped: Counter::new(&DROPPED, labels),
        }
    }
}
