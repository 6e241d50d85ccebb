//! What is counted while it happens, for whatever recorder of the `metrics` crate the application has installed.
//!
//! Handles are asked for once, when a pool or a client is made; after that a count is an addition. Without the feature
//! `metrics` the handles are empty, and so is what is done with them; without a recorder they go nowhere. Nothing is ever
//! allocated by a count. Their names are in `docs/metrics.md`, and a test holds the two together.

#[cfg(feature = "metrics")]
mod recorded;
#[cfg(not(feature = "metrics"))]
mod silent;

#[cfg(feature = "metrics")]
pub(crate) use self::recorded::{Counter, Gauge, Metric, Tally, Times};
#[cfg(not(feature = "metrics"))]
pub(crate) use self::silent::{Counter, Gauge, Metric, Tally, Times};

/// What a metric is a number of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unit {
    /// Things.
    Count,
    /// Bytes.
    #[cfg_attr(
        not(feature = "redis"),
        allow(dead_code, reason = "a client counts them")
    )]
    Bytes,
    /// Seconds, as floating point numbers.
    Seconds,
}

/// What tells the metrics of one pool or client from those of another: keys and values.
pub(crate) type Labels<'a> = &'a [(&'static str, &'a str)];
