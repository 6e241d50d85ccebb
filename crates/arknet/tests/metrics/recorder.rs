//! A recorder that a test can ask.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder,
    SharedString, Unit,
};

/// What one metric with its labels has heard.
#[derive(Debug, Default)]
struct Heard(Mutex<Values>);

#[derive(Clone, Debug, Default)]
struct Values {
    sum: f64,
    recorded: Vec<f64>,
}

impl CounterFn for Heard {
    fn increment(&self, value: u64) {
        self.0.lock().unwrap().sum += value as f64;
    }

    fn absolute(&self, _: u64) {
        panic!("several clients of one name would overwrite each other");
    }
}

impl GaugeFn for Heard {
    fn increment(&self, value: f64) {
        self.0.lock().unwrap().sum += value;
    }

    fn decrement(&self, value: f64) {
        self.0.lock().unwrap().sum -= value;
    }

    fn set(&self, _: f64) {
        panic!("several pools of one name would overwrite each other");
    }
}

impl HistogramFn for Heard {
    fn record(&self, value: f64) {
        self.0.lock().unwrap().recorded.push(value);
    }
}

/// What has been described: a kind, a unit and a text for each name.
pub(crate) type Described = BTreeMap<String, (&'static str, Unit, String)>;

#[derive(Debug, Default)]
struct Inner {
    metrics: Mutex<BTreeMap<String, Arc<Heard>>>,
    described: Mutex<Described>,
}

/// See the [module](self).
#[derive(Clone, Debug, Default)]
pub(crate) struct Notes(Arc<Inner>);

impl Notes {
    /// Makes something whose metrics this recorder gets.
    pub(crate) fn while_making<T>(&self, make: impl FnOnce() -> T) -> T {
        metrics::with_local_recorder(self, make)
    }

    /// The value of a counter or a gauge whose labels have all these values.
    pub(crate) fn value(&self, name: &str, labels: &[&str]) -> f64 {
        self.heard(name, labels).sum
    }

    /// What a histogram has recorded.
    pub(crate) fn recorded(&self, name: &str, labels: &[&str]) -> Vec<f64> {
        self.heard(name, labels).recorded
    }

    fn heard(&self, name: &str, labels: &[&str]) -> Values {
        let metrics = self.0.metrics.lock().unwrap();
        let mut found = metrics.iter().filter(|(key, _)| {
            let mut parts = key.split('|');
            let named = parts.next() == Some(name);
            let parts: Vec<&str> = parts.collect();
            named && labels.iter().all(|label| parts.contains(label))
        });
        let (_, heard) = found
            .next()
            .unwrap_or_else(|| panic!("{name} of {labels:?}"));
        assert!(found.next().is_none(), "{name} of {labels:?} is not one");
        heard.0.lock().unwrap().clone()
    }

    pub(crate) fn described(&self) -> Described {
        self.0.described.lock().unwrap().clone()
    }

    fn register(&self, key: &Key) -> Arc<Heard> {
        let mut name = key.name().to_owned();
        for label in key.labels() {
            name.push('|');
            name.push_str(label.value());
        }
        let mut metrics = self.0.metrics.lock().unwrap();
        metrics.entry(name).or_default().clone()
    }

    fn describe(&self, kind: &'static str, key: KeyName, unit: Option<Unit>, text: SharedString) {
        let described = (kind, unit.unwrap(), text.into_owned());
        let mut all = self.0.described.lock().unwrap();
        all.insert(key.as_str().to_owned(), described);
    }
}

impl Recorder for Notes {
    fn describe_counter(&self, key: KeyName, unit: Option<Unit>, text: SharedString) {
        self.describe("counter", key, unit, text);
    }

    fn describe_gauge(&self, key: KeyName, unit: Option<Unit>, text: SharedString) {
        self.describe("gauge", key, unit, text);
    }

    fn describe_histogram(&self, key: KeyName, unit: Option<Unit>, text: SharedString) {
        self.describe("histogram", key, unit, text);
    }

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.register(key))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.register(key))
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(self.register(key))
    }
}
