//! The figures that a report compares, and how each is to be read.

use serde_json::Value;

use crate::run::record::Run;
use crate::run::workload::Workload;
use crate::stats::percentile;

/// One figure of a measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// Key in the measurement of a transport, and the section's anchor.
    pub key: &'static str,
    /// Key in the measurement of a database.
    pub database: &'static str,
    /// Heading.
    pub title: &'static str,
    /// Short name with the unit, for a column.
    pub column: &'static str,
    /// What divides the raw value for people.
    pub scale: f64,
    /// How to read it.
    pub reading: &'static str,
    /// The quantile that it is, when it is one.
    pub quantile: Option<f64>,
}

/// The figures in the order of the original reports; processor time per message is ours.
pub const FIGURES: [Figure; 6] = [
    Figure {
        key: "roundtrips_per_second",
        database: "operations_per_second",
        title: "Throughput",
        column: "Throughput/s",
        scale: 1.0,
        reading: "More is better.",
        quantile: None,
    },
    Figure {
        key: "cpu_percent",
        database: "cpu_percent",
        title: "CPU",
        column: "CPU%",
        scale: 1.0,
        reading: "Neither more nor less is better by itself: read it with throughput, or read CPU per message.",
        quantile: None,
    },
    Figure {
        key: "cpu_ns_per_message",
        database: "client_cpu_ns_per_operation",
        title: "CPU per message",
        column: "CPU ns/message",
        scale: 1.0,
        reading: "Less is better.",
        quantile: None,
    },
    Figure {
        key: "rtt_p50_us",
        database: "p50_us",
        title: "P50 response time",
        column: "P50 µs",
        scale: 1.0,
        reading: "Less is better.",
        quantile: Some(0.5),
    },
    Figure {
        key: "rtt_p99_us",
        database: "p99_us",
        title: "P99 response time",
        column: "P99 µs",
        scale: 1.0,
        reading: "Less is better.",
        quantile: Some(0.99),
    },
    Figure {
        key: "peak_rss_bytes",
        database: "peak_rss_bytes",
        title: "Peak memory (RSS)",
        column: "RSS MiB",
        scale: 1_048_576.0,
        reading: "Less is better.",
        quantile: None,
    },
];

impl Figure {
    /// The figure with this key.
    #[must_use]
    pub fn of(key: &str) -> Option<&'static Self> {
        FIGURES.iter().find(|figure| figure.key == key)
    }

    /// The figure of one run, in the unit of the column.
    #[must_use]
    pub fn read(&self, run: &Run) -> Option<f64> {
        let key = match run.workload {
            Workload::Transport(_) => self.key,
            Workload::Database(_) => self.database,
        };
        run.metric(key).map(|value| value / self.scale)
    }

    /// Samples above the percentile in a run, when that is too few to quote it.
    #[must_use]
    pub fn too_few_above(&self, run: &Run) -> Option<f64> {
        let quantile = self.quantile?;
        let observations = observations(run).unwrap_or(0);
        (!percentile::supported(observations, quantile))
            .then(|| percentile::samples_above(observations, quantile).floor())
    }
}

/// Latency observations of a run.
#[must_use]
pub fn observations(run: &Run) -> Option<u64> {
    let key = match run.workload {
        Workload::Transport(_) => "rtt_observations",
        Workload::Database(_) => "observations",
    };
    run.metrics.as_ref()?.get(key).and_then(Value::as_u64)
}
