//! The handles, with a recorder behind them.

use std::time::Duration;

use metrics::{Key, KeyName, Label, Level, Metadata, SharedString, with_recorder};

use super::{Labels, Unit};

const METADATA: Metadata<'_> = Metadata::new("arknet", Level::INFO, Some("arknet"));

/// A name, its unit and what it is, for who reads the recorder's pages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Metric {
    name: &'static str,
    unit: Unit,
    text: &'static str,
}

impl Metric {
    pub(crate) const fn new(name: &'static str, unit: Unit, text: &'static str) -> Self {
        Self { name, unit, text }
    }

    fn key(&self, labels: Labels<'_>) -> Key {
        let label = |(key, value): &(&'static str, &str)| Label::new(*key, (*value).to_owned());
        Key::from_parts(self.name, labels.iter().map(label).collect::<Vec<_>>())
    }

    fn description(&self) -> (KeyName, Option<metrics::Unit>, SharedString) {
        let unit = match self.unit {
            Unit::Count => metrics::Unit::Count,
            Unit::Bytes => metrics::Unit::Bytes,
            Unit::Seconds => metrics::Unit::Seconds,
        };
        let text = SharedString::const_str(self.text);
        (KeyName::from_const_str(self.name), Some(unit), text)
    }
}

/// What only grows.
#[derive(Debug)]
pub(crate) struct Counter(metrics::Counter);

impl Counter {
    pub(crate) fn new(metric: &Metric, labels: Labels<'_>) -> Self {
        with_recorder(|recorder| {
            let (name, unit, text) = metric.description();
            recorder.describe_counter(name, unit, text);
            Self(recorder.register_counter(&metric.key(labels), &METADATA))
        })
    }

    #[inline]
    pub(crate) fn add(&self, count: usize) {
        if count > 0 {
            self.0.increment(count as u64);
        }
    }
}

/// A counter that follows a total that is kept elsewhere.
#[derive(Debug)]
pub(crate) struct Tally {
    counter: metrics::Counter,
    told: u64,
}

impl Tally {
    pub(crate) fn new(metric: &Metric, labels: Labels<'_>) -> Self {
        Self {
            counter: Counter::new(metric, labels).0,
            told: 0,
        }
    }

    /// Counts what the total has grown by.
    #[inline]
    pub(crate) fn follow(&mut self, total: u64) {
        if total > self.told {
            self.counter.increment(total - self.told);
            self.told = total;
        }
    }
}

/// What goes up and down.
#[derive(Debug)]
pub(crate) struct Gauge {
    gauge: metrics::Gauge,
    told: usize,
}

impl Gauge {
    pub(crate) fn new(metric: &Metric, labels: Labels<'_>) -> Self {
        let gauge = with_recorder(|recorder| {
            let (name, unit, text) = metric.description();
            recorder.describe_gauge(name, unit, text);
            recorder.register_gauge(&metric.key(labels), &METADATA)
        });
        Self { gauge, told: 0 }
    }

    /// Several of one name and the same labels add up.
    #[inline]
    pub(crate) fn set(&mut self, value: usize) {
        if value != self.told {
            self.gauge.increment(value as f64 - self.told as f64);
            self.told = value;
        }
    }
}

/// What is no more there is not counted on.
impl Drop for Gauge {
    fn drop(&mut self) {
        self.set(0);
    }
}

/// How long something took.
#[derive(Debug)]
pub(crate) struct Times(metrics::Histogram);

impl Times {
    pub(crate) fn new(metric: &Metric, labels: Labels<'_>) -> Self {
        with_recorder(|recorder| {
            let (name, unit, text) = metric.description();
            recorder.describe_histogram(name, unit, text);
            Self(recorder.register_histogram(&metric.key(labels), &METADATA))
        })
    }

    /// What `duration` makes of the time now.
    pub(crate) fn record(&self, duration: impl FnOnce() -> Duration) {
        self.0.record(duration());
    }
}
