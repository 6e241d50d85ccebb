//! The result of one measurement, as the one JSON object that is printed and recorded.

use std::collections::BTreeMap;

use serde::Serialize;

use super::conduct::Observed;
use super::config::{
    AddressFamily, Execution, Implementation, IoModel, Protocol, Traffic, TransportConfig,
};
use super::counters::Counters;
use super::latency::Latency;
use super::run::{Phase, Run};

/// The version of the record; it changes when a key changes its meaning.
pub const SCHEMA_VERSION: u32 = 1;

/// What one measurement was asked to do and what it found.
///
/// Times ending in `_us` are microseconds; rates are per second of `elapsed_seconds`; processor
/// figures cover `cpu_interval` and include client and server, except `cpu_ns_per_message`, which
/// covers the measured phase.
#[derive(Clone, Debug, Serialize)]
#[allow(
    missing_docs,
    reason = "the fields are the keys of the record, described as a whole above"
)]
pub struct Measurement {
    pub schema_version: u32,
    pub implementation: Implementation,
    pub execution: Execution,
    pub backend: String,
    pub protocol: Protocol,
    pub address_family: AddressFamily,
    pub payload_bytes: usize,
    pub clients: usize,
    pub window: usize,
    pub io_model: IoModel,
    pub io_threads: usize,
    pub io_contexts: usize,
    pub requested_seconds: f64,
    pub warmup_seconds: f64,
    pub handler_work: u32,
    /// Sharded only: connections whose two ends are not on the same lane. None are meant to be.
    pub unpaired_connections: Option<usize>,
    pub traffic: Traffic,
    pub latency_mode: &'static str,
    pub elapsed_seconds: f64,
    pub messages_sent: u64,
    pub messages: u64,
    pub payload_roundtrip_bytes: u64,
    pub roundtrips_per_second: f64,
    pub payload_mib_per_second: f64,
    pub rtt_observations: u64,
    pub rtt_p50_us: f64,
    pub rtt_p95_us: f64,
    pub rtt_p99_us: f64,
    /// Percentiles with fewer than 50 samples above them.
    pub marked: Vec<&'static str>,
    /// Every round trip in nanoseconds: HDR, V2 with deflate, base64.
    pub rtt_histogram: Option<String>,
    pub warmup_messages: u64,
    pub cpu_interval: &'static str,
    pub cpu_elapsed_seconds: f64,
    pub cpu_seconds: Option<f64>,
    pub cpu_user_seconds: Option<f64>,
    pub cpu_system_seconds: Option<f64>,
    pub cpu_percent: Option<f64>,
    pub cpu_by_role: BTreeMap<String, f64>,
    /// Over the measured phase, whatever `cpu_interval` is.
    pub cpu_ns_per_message: Option<f64>,
    /// The part of it spent in user code.
    pub cpu_user_ns_per_message: Option<f64>,
    pub context_switches_voluntary: Option<u64>,
    pub context_switches_involuntary: Option<u64>,
    pub peak_rss_bytes: Option<u64>,
    /// The thirteen counters of the measured phase.
    #[serde(flatten)]
    pub counters: BTreeMap<&'static str, u64>,
    /// Sends that were accepted and never completed.
    pub pending_completions: u64,
    pub warmup_ok: bool,
    /// The sum of the warm-up's counters.
    pub warmup_errors: u64,
    pub ok: bool,
    pub error: Option<String>,
}

impl Measurement {
    /// The result of a run that came to its end, valid or not. `backend` names what moved the bytes.
    pub fn new(config: &TransportConfig, backend: &str, run: &Run, observed: &Observed) -> Self {
        let warmup = run.total(Phase::Warmup);
        let measured = run.total(Phase::Measured);
        let mut record = Measurement::blank(config, backend);
        record.warmup_messages = warmup.messages;
        record.warmup_errors = run.counters(Phase::Warmup).total();
        record.warmup_ok =
            record.warmup_errors == 0 && (config.warmup.is_zero() || warmup.messages > 0);
        record.counters = run.counters(Phase::Measured).named().collect();
        record.rate(config, measured.sent, measured.messages, observed.elapsed);
        record.times(&measured.latency);
        record.processor(observed, measured.messages);
        record.judge(run);
        record
    }

    /// The result of a run that could not be made.
    pub fn failed(config: &TransportConfig, error: &str) -> Self {
        let mut record = Measurement::blank(config, "none");
        record.error = Some(error.to_owned());
        record
    }

    fn blank(config: &TransportConfig, backend: &str) -> Self {
        let per_batch = config.traffic == Traffic::Batch && config.window > 1;
        Measurement {
            schema_version: SCHEMA_VERSION,
            implementation: config.implementation,
            execution: config.execution,
            backend: backend.to_owned(),
            protocol: config.protocol,
            address_family: config.address_family,
            payload_bytes: config.payload,
            clients: config.clients,
            window: config.window,
            io_model: config.io_model,
            io_threads: config.io_threads,
            io_contexts: config.io_contexts(),
            requested_seconds: config.seconds.as_secs_f64(),
            warmup_seconds: config.warmup.as_secs_f64(),
            handler_work: config.work,
            unpaired_connections: (config.io_model == IoModel::Sharded).then_some(0),
            traffic: config.traffic,
            latency_mode: if per_batch { "batch" } else { "message" },
            elapsed_seconds: 0.0,
            messages_sent: 0,
            messages: 0,
            payload_roundtrip_bytes: 0,
            roundtrips_per_second: 0.0,
            payload_mib_per_second: 0.0,
            rtt_observations: 0,
            rtt_p50_us: 0.0,
            rtt_p95_us: 0.0,
            rtt_p99_us: 0.0,
            marked: Vec::new(),
            rtt_histogram: None,
            warmup_messages: 0,
            cpu_interval: "none",
            cpu_elapsed_seconds: 0.0,
            cpu_seconds: None,
            cpu_user_seconds: None,
            cpu_system_seconds: None,
            cpu_percent: None,
            cpu_by_role: BTreeMap::new(),
            cpu_ns_per_message: None,
            cpu_user_ns_per_message: None,
            context_switches_voluntary: None,
            context_switches_involuntary: None,
            peak_rss_bytes: None,
            counters: Counters::default().named().collect(),
            pending_completions: 0,
            warmup_ok: false,
            warmup_errors: 0,
            ok: false,
            error: None,
        }
    }

    fn rate(&mut self, config: &TransportConfig, sent: u64, messages: u64, elapsed: f64) {
        let bytes = messages
            .saturating_mul(config.payload as u64)
            .saturating_mul(2);
        self.messages_sent = sent;
        self.messages = messages;
        self.elapsed_seconds = elapsed;
        self.payload_roundtrip_bytes = bytes;
        if elapsed > 0.0 {
            self.roundtrips_per_second = messages as f64 / elapsed;
            self.payload_mib_per_second = bytes as f64 / elapsed / f64::from(1 << 20);
        }
    }

    fn times(&mut self, latency: &Latency) {
        self.rtt_observations = latency.len();
        self.rtt_histogram = latency.encoded();
        let percentiles = [
            ("rtt_p50_us", 0.50, &mut self.rtt_p50_us),
            ("rtt_p95_us", 0.95, &mut self.rtt_p95_us),
            ("rtt_p99_us", 0.99, &mut self.rtt_p99_us),
        ];
        for (name, quantile, value) in percentiles {
            *value = latency.quantile_us(quantile);
            if !latency.supports(quantile) {
                self.marked.push(name);
            }
        }
    }

    fn processor(&mut self, observed: &Observed, messages: u64) {
        self.peak_rss_bytes = observed.peak_rss;
        self.cpu_interval = observed.cpu_interval;
        self.cpu_elapsed_seconds = observed.cpu.seconds;
        self.cpu_by_role = observed.roles.0.clone();
        if let Some(usage) = observed.cpu.usage {
            self.cpu_seconds = Some(usage.cpu_seconds());
            self.cpu_user_seconds = Some(usage.user_us as f64 / 1e6);
            self.cpu_system_seconds = Some(usage.system_us as f64 / 1e6);
            self.context_switches_voluntary = Some(usage.voluntary);
            self.context_switches_involuntary = Some(usage.involuntary);
            if observed.cpu.seconds > 0.0 {
                self.cpu_percent = Some(usage.cpu_seconds() / observed.cpu.seconds * 100.0);
            }
        }
        if let Some(usage) = observed.measured.usage.filter(|_| messages > 0) {
            self.cpu_ns_per_message = Some(usage.cpu_seconds() * 1e9 / messages as f64);
            self.cpu_user_ns_per_message = Some(usage.user_us as f64 * 1e3 / messages as f64);
        }
    }

    fn judge(&mut self, run: &Run) {
        let faults = run.counters(Phase::Measured).total();
        self.ok =
            self.warmup_ok && faults == 0 && self.messages > 0 && self.pending_completions == 0;
        if self.ok {
            return;
        }
        let warmup = || {
            run.first_error(Phase::Warmup)
                .map(|text| format!("warm-up: {text}"))
        };
        let error = run.first_error(Phase::Measured).or_else(warmup);
        self.error =
            Some(error.unwrap_or_else(|| "the measurement has errors or no messages".into()));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::measure::conduct::Interval;
    use crate::measure::counters::Fault;
    use crate::measure::run::Tally;
    use crate::measure::usage::Usage;

    fn config() -> TransportConfig {
        let warmup = Duration::ZERO;
        TransportConfig {
            clients: 1,
            window: 16,
            warmup,
            ..Default::default()
        }
    }

    fn measured(run: &Run, messages: u64) {
        run.open(Phase::Measured, Duration::ZERO);
        let mut tally = Tally {
            messages,
            sent: messages,
            ..Tally::new(Phase::Measured)
        };
        for _ in 0..messages {
            tally.latency.record(2_000);
        }
        run.finish(tally);
    }

    fn observed() -> Observed {
        let usage = Usage {
            user_us: 1_000,
            system_us: 3_000,
            voluntary: 5,
            involuntary: 6,
        };
        let interval = Interval {
            usage: Some(usage),
            seconds: 0.008,
        };
        Observed {
            elapsed: 2.0,
            cpu: interval,
            measured: interval,
            ..Default::default()
        }
    }

    #[test]
    fn rates_and_costs_are_what_was_observed_divided() {
        let run = Run::new(&config());
        measured(&run, 1_000);
        let record = Measurement::new(&config(), "test", &run, &observed());
        assert!(record.ok && record.error.is_none());
        assert_eq!(record.roundtrips_per_second, 500.0);
        assert_eq!(
            record.payload_mib_per_second,
            2.0 * 1024.0 * 500.0 / 1_048_576.0
        );
        assert_eq!(record.cpu_percent, Some(50.0));
        assert_eq!(record.cpu_ns_per_message, Some(4_000.0));
        assert_eq!(record.cpu_user_ns_per_message, Some(1_000.0));
        assert_eq!(record.marked, ["rtt_p99_us"]);
        assert_eq!(record.latency_mode, "batch");
    }

    #[test]
    fn any_fault_makes_a_run_invalid_even_in_the_warm_up() {
        for phase in [Phase::Warmup, Phase::Measured] {
            let run = Run::new(&config());
            run.open(phase, Duration::ZERO);
            run.fault(Fault::OrderErrors, "out of order");
            measured(&run, 10);
            let record = Measurement::new(&config(), "test", &run, &observed());
            assert!(!record.ok);
            assert!(
                record
                    .error
                    .is_some_and(|text| text.ends_with("out of order"))
            );
            assert_eq!(record.warmup_ok, phase == Phase::Measured);
        }
    }

    #[test]
    fn a_run_without_messages_is_not_ok() {
        let run = Run::new(&config());
        assert!(!Measurement::new(&config(), "test", &run, &observed()).ok);
    }

    #[test]
    fn a_failed_run_has_every_key_of_a_good_one() {
        let run = Run::new(&config());
        measured(&run, 10);
        let good = Measurement::new(&config(), "test", &run, &observed());
        let bad = Measurement::failed(&config(), "connect failed");
        let keys = |record: &Measurement| -> Vec<String> {
            let value = serde_json::to_value(record).expect("a record is JSON");
            value
                .as_object()
                .map(|object| object.keys().cloned().collect())
                .unwrap_or_default()
        };
        assert_eq!(keys(&good), keys(&bad));
        assert!(keys(&bad).iter().any(|key| key == "drain_timeouts"));
        assert_eq!(
            (bad.ok, bad.error.as_deref()),
            (false, Some("connect failed"))
        );
    }
}
