//! The handles, with nothing behind them.

use std::time::Duration;

use super::{Labels, Unit};

/// A name that nobody hears.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Metric;

impl Metric {
    pub(crate) const fn new(_: &'static str, _: Unit, _: &'static str) -> Self {
        Self
    }
}

/// What only grows.
#[derive(Debug)]
pub(crate) struct Counter;

impl Counter {
    pub(crate) fn new(_: &Metric, _: Labels<'_>) -> Self {
        Self
    }

    #[inline]
    pub(crate) fn add(&self, _: usize) {}
}

/// A counter that follows a total that is kept elsewhere.
#[derive(Debug)]
pub(crate) struct Tally;

impl Tally {
    pub(crate) fn new(_: &Metric, _: Labels<'_>) -> Self {
        Self
    }

    #[inline]
    pub(crate) fn follow(&mut self, _: u64) {}
}

/// What goes up and down.
#[derive(Debug)]
pub(crate) struct Gauge;

impl Gauge {
    pub(crate) fn new(_: &Metric, _: Labels<'_>) -> Self {
        Self
    }

    #[inline]
    pub(crate) fn set(&mut self, _: usize) {}
}

/// How long something took.
#[derive(Debug)]
pub(crate) struct Times;

impl Times {
    pub(crate) fn new(_: &Metric, _: Labels<'_>) -> Self {
        Self
    }

    pub(crate) fn record(&self, _: impl FnOnce() -> Duration) {}
}
