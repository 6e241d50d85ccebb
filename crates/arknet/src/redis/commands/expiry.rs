//! When a key ends.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use arknet_proto::redis::ToArg;

/// When a key ends, in milliseconds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Expiry {
    /// After so long. Less than a millisecond counts as one: the server refuses none.
    In(Duration),
    /// At that time, by the server's clock. Before 1970 is 1970. Redis 6.2.
    At(SystemTime),
}

impl ToArg for Expiry {
    fn append_to(&self, command: &mut arknet_proto::redis::Command) {
        match self {
            Self::In(after) => ("PX", millis(*after)).append_to(command),
            Self::At(at) => ("PXAT", unix_millis(*at)).append_to(command),
        }
    }

    fn count(&self) -> usize {
        2
    }
}

/// Milliseconds, at least one.
pub(super) fn millis(after: Duration) -> u128 {
    after.as_millis().max(1)
}

pub(super) fn unix_millis(at: SystemTime) -> u128 {
    at.duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_millis()
}

/// How long a command may wait, in seconds, as blocking commands take it: `None` is for ever, which the server writes as
/// zero, so that a limit of less than a millisecond counts as one.
pub(super) fn seconds(within: Option<Duration>) -> f64 {
    within.map_or(0.0, |within| within.as_secs_f64().max(0.001))
}
