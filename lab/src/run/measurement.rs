//! Whether what a measuring process printed counts.
//!
//! The process is not believed: what it echoes must be what it was asked, every counter must be
//! there and zero, every figure finite. The same judge decides when a run is recorded and when a
//! record is verified.

use std::collections::BTreeMap;

use serde_json::Value;

use super::workload::{Database, Execution, Transport, Workload};

/// Everything that may go wrong in a measurement, as the key of its counter.
pub const COUNTERS: [&str; 13] = [
    "client_send_rejections",
    "client_send_completion_errors",
    "server_send_rejections",
    "server_send_completion_errors",
    "content_errors",
    "order_errors",
    "unexpected_messages",
    "disconnect_errors",
    "udp_lost_messages",
    "unfinished_messages",
    "callback_exceptions",
    "drain_timeouts",
    "duplicate_completions",
];

/// The counter of a database's measurement.
const ERRORS: &str = "errors";

/// Figures without which a database's measurement is of no use.
const DATABASE_FIGURES: [&str; 6] = [
    "operations_per_second",
    "operations",
    "elapsed_seconds",
    "p50_us",
    "p95_us",
    "p99_us",
];

/// Figures without which a measurement is of no use.
const FIGURES: [&str; 6] = [
    "roundtrips_per_second",
    "messages",
    "elapsed_seconds",
    "rtt_p50_us",
    "rtt_p95_us",
    "rtt_p99_us",
];

/// The counters of a measurement that are not zero.
#[must_use]
pub fn counters(metrics: &Value) -> BTreeMap<String, u64> {
    let nonzero = |key: &&str| {
        let count = metrics.get(*key)?.as_u64()?;
        (count > 0).then(|| ((*key).to_owned(), count))
    };
    let all = COUNTERS.iter().chain([&ERRORS]);
    all.filter_map(nonzero).collect()
}

/// Why `metrics` is not a valid measurement of `workload`, if it is not.
///
/// # Errors
/// With the reason, in words.
pub fn judge(metrics: &Value, workload: &Workload, arm: Execution) -> Result<(), String> {
    if metrics.get("ok").and_then(Value::as_bool) != Some(true) {
        return Err(match metrics.get("error").and_then(Value::as_str) {
            Some(error) => format!("the measurement failed: {error}"),
            None => "the measurement says that it is not ok".to_owned(),
        });
    }
    match workload {
        Workload::Transport(transport) => {
            echo(metrics, transport, arm)?;
            COUNTERS.iter().try_for_each(|key| is_zero(metrics, key))?;
            FIGURES.iter().try_for_each(|key| is_figure(metrics, key))?;
            match metrics.get("messages").and_then(Value::as_u64) {
                Some(0) | None => Err("no message was measured".to_owned()),
                Some(_) => Ok(()),
            }
        }
        Workload::Database(database) => {
            echo_database(metrics, database, arm)?;
            is_zero(metrics, ERRORS)?;
            DATABASE_FIGURES
                .iter()
                .try_for_each(|key| is_figure(metrics, key))
        }
    }
}

fn is_zero(metrics: &Value, key: &str) -> Result<(), String> {
    match metrics.get(key).and_then(Value::as_u64) {
        Some(0) => Ok(()),
        Some(count) => Err(format!("{key} is {count}, not 0")),
        None => Err(format!("{key} is missing")),
    }
}

fn is_figure(metrics: &Value, key: &str) -> Result<(), String> {
    match metrics.get(key).and_then(Value::as_f64) {
        Some(value) if value.is_finite() && value >= 0.0 => Ok(()),
        Some(value) => Err(format!("{key} is {value}")),
        None => Err(format!("{key} is missing")),
    }
}

/// The measurement repeats what it was asked, so that no result is filed under a wrong name.
fn echo(metrics: &Value, workload: &Transport, arm: Execution) -> Result<(), String> {
    let words = [
        ("protocol", workload.protocol.to_string()),
        ("io_model", workload.io.model.to_string()),
        ("execution", arm.to_string()),
        ("latency_mode", workload.latency_mode().to_owned()),
    ];
    words
        .iter()
        .try_for_each(|(key, asked)| is_word(metrics, key, asked))?;
    let implementation = workload.implementation.to_string();
    let said = word(metrics, "implementation");
    // A back end may be more exact (`native-callback`), never something else.
    if !said.starts_with(&implementation) {
        return Err(format!(
            "asked for implementation {implementation}, it measured {said}"
        ));
    }
    let numbers = [
        ("payload_bytes", workload.payload),
        ("clients", workload.clients),
        ("window", workload.window),
        ("io_threads", workload.io.threads),
        ("handler_work", workload.work),
    ];
    numbers
        .iter()
        .try_for_each(|(key, asked)| is_number(metrics, key, u64::from(*asked)))
}

fn echo_database(metrics: &Value, workload: &Database, arm: Execution) -> Result<(), String> {
    let words = [
        ("engine", workload.engine.to_string()),
        ("api", workload.api.to_string()),
        ("access", workload.access.to_string()),
        ("execution", arm.to_string()),
        ("io", workload.io.to_string()),
        ("server", "embedded".to_owned()),
    ];
    let update = workload.update.map(|update| ("update", update.to_string()));
    words
        .iter()
        .chain(&update)
        .try_for_each(|(key, asked)| is_word(metrics, key, asked))?;
    let numbers = [
        ("payload_bytes", u64::from(workload.payload)),
        ("connections", u64::from(workload.connections)),
        ("outstanding", u64::from(workload.outstanding)),
        ("operations", workload.operations),
        ("warmup_operations", workload.warmup_operations),
    ];
    numbers
        .iter()
        .try_for_each(|(key, asked)| is_number(metrics, key, *asked))
}

fn word<'a>(metrics: &'a Value, key: &str) -> &'a str {
    let said = metrics.get(key).and_then(Value::as_str);
    said.unwrap_or("nothing")
}

fn is_word(metrics: &Value, key: &str, asked: &str) -> Result<(), String> {
    let said = word(metrics, key);
    if said == asked {
        return Ok(());
    }
    Err(format!("asked for {key} {asked}, it measured {said}"))
}

fn is_number(metrics: &Value, key: &str, asked: u64) -> Result<(), String> {
    let said = metrics.get(key).and_then(Value::as_u64);
    if said == Some(asked) {
        return Ok(());
    }
    let said = said.map_or("nothing".to_owned(), |said| said.to_string());
    Err(format!("asked for {key} {asked}, it measured {said}"))
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;
    use crate::run::plan::Plan;

    /// A measurement that counts.
    pub(crate) fn valid(workload: &Workload, arm: Execution, rate: f64) -> Value {
        let workload = match workload {
            Workload::Transport(transport) => transport,
            Workload::Database(database) => return valid_database(database, arm, rate),
        };
        let mut value = json!({
            "ok": true, "error": null,
            "protocol": workload.protocol, "io_model": workload.io.model, "execution": arm,
            "implementation": workload.implementation, "backend": "fake",
            "latency_mode": workload.latency_mode(),
            "payload_bytes": workload.payload, "clients": workload.clients,
            "window": workload.window, "io_threads": workload.io.threads,
            "handler_work": workload.work,
            "roundtrips_per_second": rate, "messages": 10_000, "elapsed_seconds": 1.0,
            "rtt_observations": 10_000,
            "rtt_p50_us": 90.0, "rtt_p95_us": 120.0, "rtt_p99_us": 150.0,
            "cpu_percent": 99.0, "cpu_ns_per_message": 1e9 / rate, "peak_rss_bytes": 4_194_304,
        });
        for counter in COUNTERS {
            value[counter] = json!(0);
        }
        value
    }

    fn valid_database(workload: &Database, arm: Execution, rate: f64) -> Value {
        json!({
            "ok": true, "error": null, "errors": 0,
            "engine": workload.engine, "api": workload.api, "access": workload.access,
            "execution": arm, "io": workload.io, "server": "embedded", "update": workload.update,
            "payload_bytes": workload.payload, "connections": workload.connections,
            "outstanding": workload.outstanding, "operations": workload.operations,
            "warmup_operations": workload.warmup_operations,
            "operations_per_second": rate, "elapsed_seconds": 1.0, "observations": 10_000,
            "p50_us": 90.0, "p95_us": 120.0, "p99_us": 150.0,
            "cpu_percent": 99.0, "client_cpu_ns_per_operation": 1e9 / rate,
            "peak_rss_bytes": 4_194_304,
        })
    }

    fn workload() -> Workload {
        Plan::find("native-tcp").unwrap().cells().remove(0).workload
    }

    fn database() -> Workload {
        let cells = Plan::find("quick").unwrap().cells();
        let mut databases = cells.into_iter().map(|cell| cell.workload);
        let found = databases.find(|workload| matches!(workload, Workload::Database(_)));
        found.unwrap()
    }

    #[test]
    fn a_measurement_of_a_database_counts_when_it_did_what_was_asked_without_an_error() {
        let workload = database();
        let metrics = valid(&workload, Execution::Async, 1e5);
        judge(&metrics, &workload, Execution::Async).unwrap();
        let wrong = [
            ("errors", json!(1), "errors is 1, not 0"),
            ("operations", json!(9), "asked for operations"),
            ("access", json!("owner"), "asked for access"),
            ("server", json!("url"), "asked for server embedded"),
            ("p99_us", Value::Null, "p99_us is missing"),
        ];
        for (key, value, expected) in wrong {
            let mut metrics = metrics.clone();
            metrics[key] = value;
            let error = judge(&metrics, &workload, Execution::Async).unwrap_err();
            assert!(error.contains(expected), "{key}: {error}");
        }
    }

    #[test]
    fn a_measurement_of_what_was_asked_counts() {
        let workload = workload();
        let metrics = valid(&workload, Execution::Async, 1e5);
        judge(&metrics, &workload, Execution::Async).unwrap();
    }

    #[test]
    fn any_counter_invalidates_a_nominal_success() {
        let workload = workload();
        for counter in COUNTERS {
            let mut metrics = valid(&workload, Execution::Async, 1e5);
            metrics[counter] = json!(3);
            let error = judge(&metrics, &workload, Execution::Async).unwrap_err();
            assert_eq!(error, format!("{counter} is 3, not 0"));
            assert_eq!(counters(&metrics).get(counter), Some(&3));
        }
    }

    #[test]
    fn a_result_of_something_else_is_refused_by_what_differs() {
        let workload = workload();
        let metrics = valid(&workload, Execution::Callback, 1e5);
        assert!(
            judge(&metrics, &workload, Execution::Async)
                .unwrap_err()
                .contains("execution")
        );
        let mut metrics = valid(&workload, Execution::Async, 1e5);
        metrics["window"] = json!(2);
        assert!(
            judge(&metrics, &workload, Execution::Async)
                .unwrap_err()
                .contains("window")
        );
    }

    #[test]
    fn missing_figures_and_empty_measurements_are_refused() {
        let workload = workload();
        let mut metrics = valid(&workload, Execution::Async, 1e5);
        metrics["rtt_p99_us"] = Value::Null;
        assert!(judge(&metrics, &workload, Execution::Async).is_err());
        let mut metrics = valid(&workload, Execution::Async, 1e5);
        metrics["messages"] = json!(0);
        assert!(judge(&metrics, &workload, Execution::Async).is_err());
    }
}
