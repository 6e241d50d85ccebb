//! The result of one measurement of a database client, as the one JSON object that is printed and
//! recorded.

use std::collections::BTreeMap;
use std::num::NonZero;

use serde::Serialize;

use super::config::{Access, Api, DatabaseConfig, Engine, Update};
use super::course::Total;
use crate::measure::config::Execution;
use crate::measure::latency::Latency;
use crate::measure::usage::{Roles, Usage};

/// The version of the record; it changes when a key changes its meaning.
pub const SCHEMA_VERSION: u32 = 1;

/// What one measurement was asked to do and what it found.
///
/// Times ending in `_us` are microseconds, from the moment an operation is begun, which is before a
/// lease is asked for, to the moment its reply has come. Rates are per second of `elapsed_seconds`.
/// Processor figures are those of the measured operations in the client's process; the server is
/// another process and is in none of them.
#[derive(Clone, Debug, Serialize)]
#[allow(
    missing_docs,
    reason = "the fields are the keys of the record, described as a whole above"
)]
pub struct DatabaseMeasurement {
    pub schema_version: u32,
    pub engine: Engine,
    pub api: Api,
    pub access: Access,
    pub execution: Execution,
    /// `embedded` or `url`.
    pub server: &'static str,
    pub io: String,
    /// When the owner updates: `continuous`, `1ms` or `parked`; of a client without an owner null.
    pub update: Option<Update>,
    /// How long a parked owner spins, where that was asked for.
    pub spin_us: Option<u64>,
    /// Processors that the process may use: an owner that spins beside an IO thread and a server needs three.
    pub processors: Option<usize>,
    pub connections: usize,
    pub outstanding: usize,
    pub payload_bytes: usize,
    pub warmup_operations: u64,
    /// Measured operations whose reply was right.
    pub operations: u64,
    pub elapsed_seconds: f64,
    pub operations_per_second: f64,
    pub client_cpu_ns_per_operation: Option<f64>,
    /// The part of it spent in user code.
    pub client_cpu_user_ns_per_operation: Option<f64>,
    pub cpu_seconds: Option<f64>,
    pub cpu_percent: Option<f64>,
    pub cpu_by_role: BTreeMap<String, f64>,
    pub context_switches_voluntary: Option<u64>,
    pub context_switches_involuntary: Option<u64>,
    pub observations: u64,
    pub p50_us: f64,
    pub p95_us: f64,
    pub p99_us: f64,
    /// Percentiles with fewer than 50 samples above them.
    pub marked: Vec<&'static str>,
    /// Every response time in nanoseconds: HDR, V2 with deflate, base64.
    pub latency_histogram: Option<String>,
    pub peak_rss_bytes: Option<u64>,
    /// Failed operations and wrong replies, in the warm-up too.
    pub errors: u64,
    pub ok: bool,
    pub error: Option<String>,
}

/// What was seen of the measured operations.
#[derive(Debug, Default)]
pub(super) struct Observed {
    /// Seconds on the wall.
    pub(super) elapsed: f64,
    /// Processor time of the process; `None` where the system does not say.
    pub(super) usage: Option<Usage>,
    /// Processor seconds by thread role.
    pub(super) roles: Roles,
    /// The process' largest resident size, in bytes.
    pub(super) peak_rss: Option<u64>,
}

impl DatabaseMeasurement {
    /// The result of a run that came to its end, valid or not.
    pub(super) fn new(
        config: &DatabaseConfig,
        warmup: &Total,
        measured: &Total,
        observed: &Observed,
    ) -> Self {
        let mut record = Self::blank(config);
        record.operations = measured.operations;
        record.elapsed_seconds = observed.elapsed;
        if observed.elapsed > 0.0 {
            record.operations_per_second = measured.operations as f64 / observed.elapsed;
        }
        record.times(&measured.latency);
        record.processor(observed);
        record.errors = warmup.errors + measured.errors;
        record.error = measured.error.clone().or_else(|| {
            let error = warmup.error.as_ref()?;
            Some(format!("warm-up: {error}"))
        });
        record.ok = record.errors == 0 && measured.operations == config.operations;
        if !record.ok && record.error.is_none() {
            let text = format!(
                "{} of {} operations completed",
                measured.operations, config.operations
            );
            record.error = Some(text);
        }
        record
    }

    /// The result of a run that could not be made.
    pub fn failed(config: &DatabaseConfig, error: &str) -> Self {
        let mut record = Self::blank(config);
        record.error = Some(error.to_owned());
        record
    }

    fn blank(config: &DatabaseConfig) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            engine: config.engine,
            api: config.api,
            access: config.access,
            execution: config.execution,
            server: config.server.name(),
            io: config.io.to_string(),
            update: config.update,
            spin_us: config
                .spin
                .map(|spin| u64::try_from(spin.as_micros()).unwrap_or(u64::MAX)),
            processors: std::thread::available_parallelism().ok().map(NonZero::get),
            connections: config.connections,
            outstanding: config.outstanding,
            payload_bytes: config.payload,
            warmup_operations: config.warmup_operations,
            operations: 0,
            elapsed_seconds: 0.0,
            operations_per_second: 0.0,
            client_cpu_ns_per_operation: None,
            client_cpu_user_ns_per_operation: None,
            cpu_seconds: None,
            cpu_percent: None,
            cpu_by_role: BTreeMap::new(),
            context_switches_voluntary: None,
            context_switches_involuntary: None,
            observations: 0,
            p50_us: 0.0,
            p95_us: 0.0,
            p99_us: 0.0,
            marked: Vec::new(),
            latency_histogram: None,
            peak_rss_bytes: None,
            errors: 0,
            ok: false,
            error: None,
        }
    }

    fn times(&mut self, latency: &Latency) {
        self.observations = latency.len();
        self.latency_histogram = latency.encoded();
        let percentiles = [
            ("p50_us", 0.50, &mut self.p50_us),
            ("p95_us", 0.95, &mut self.p95_us),
            ("p99_us", 0.99, &mut self.p99_us),
        ];
        for (name, quantile, value) in percentiles {
            *value = latency.quantile_us(quantile);
            if !latency.supports(quantile) {
                self.marked.push(name);
            }
        }
    }

    fn processor(&mut self, observed: &Observed) {
        self.peak_rss_bytes = observed.peak_rss;
        self.cpu_by_role = observed.roles.0.clone();
        let Some(usage) = observed.usage else { return };
        self.cpu_seconds = Some(usage.cpu_seconds());
        self.context_switches_voluntary = Some(usage.voluntary);
        self.context_switches_involuntary = Some(usage.involuntary);
        if observed.elapsed > 0.0 {
            self.cpu_percent = Some(usage.cpu_seconds() / observed.elapsed * 100.0);
        }
        if self.operations > 0 {
            let operations = self.operations as f64;
            self.client_cpu_ns_per_operation = Some(usage.cpu_seconds() * 1e9 / operations);
            self.client_cpu_user_ns_per_operation = Some(usage.user_us as f64 * 1e3 / operations);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::database::config::Server;

    fn config() -> DatabaseConfig {
        DatabaseConfig {
            operations: 1_000,
            ..DatabaseConfig::new(Server::Url("redis://:secret@127.0.0.1".to_owned()))
        }
    }

    fn total(operations: u64) -> Total {
        let mut latency = Latency::new();
        for _ in 0..operations {
            latency.record(2_000);
        }
        Total {
            operations,
            errors: 0,
            error: None,
            latency,
        }
    }

    fn observed() -> Observed {
        let usage = Usage {
            user_us: 1_000,
            system_us: 3_000,
            voluntary: 5,
            involuntary: 6,
        };
        Observed {
            elapsed: 0.008,
            usage: Some(usage),
            ..Default::default()
        }
    }

    #[test]
    fn rates_and_costs_are_what_was_observed_divided() {
        let record = DatabaseMeasurement::new(&config(), &total(0), &total(1_000), &observed());
        assert!(record.ok && record.error.is_none());
        assert_eq!(record.operations_per_second, 125_000.0);
        assert_eq!(record.client_cpu_ns_per_operation, Some(4_000.0));
        assert_eq!(record.client_cpu_user_ns_per_operation, Some(1_000.0));
        assert_eq!(record.cpu_percent, Some(50.0));
        assert_eq!(record.marked, ["p99_us"]);
    }

    #[test]
    fn operations_that_are_missing_and_errors_in_the_warm_up_make_a_run_invalid() {
        let missing = DatabaseMeasurement::new(&config(), &total(0), &total(999), &observed());
        assert!(!missing.ok);
        assert_eq!(
            missing.error.as_deref(),
            Some("999 of 1000 operations completed")
        );
        let warmup = Total {
            errors: 1,
            error: Some("a reply differed".to_owned()),
            ..total(5)
        };
        let failed = DatabaseMeasurement::new(&config(), &warmup, &total(1_000), &observed());
        assert!(!failed.ok);
        assert_eq!(failed.error.as_deref(), Some("warm-up: a reply differed"));
    }

    #[test]
    fn a_failed_run_has_every_key_of_a_good_one_and_no_secret() {
        let good = DatabaseMeasurement::new(&config(), &total(0), &total(1_000), &observed());
        let bad = DatabaseMeasurement::failed(&config(), "connect failed");
        let json = |record| serde_json::to_value(record).expect("a record is JSON");
        let keys = |record| {
            let keys = json(record)
                .as_object()
                .map(|o| o.keys().cloned().collect());
            keys.unwrap_or_else(Vec::new)
        };
        assert!(!json(good.clone()).to_string().contains("secret"));
        assert_eq!(keys(good), keys(bad.clone()));
        assert_eq!(
            (bad.ok, bad.error.as_deref()),
            (false, Some("connect failed"))
        );
    }
}
