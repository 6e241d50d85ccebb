//! What `arknet-lab measure transport` prints, and with which status it exits.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::process::{Command, Output};

use serde_json::Value;

fn measure(line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_arknet-lab"))
        .args(["measure", "transport"])
        .args(line.split_whitespace())
        .output()
        .expect("the lab's binary runs")
}

#[test]
fn a_measurement_is_one_json_object_on_standard_output() {
    let output = measure("--clients 2 --warmup 0.02 --seconds 0.05 --execution callback");
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty());
    let record: Value = serde_json::from_slice(&output.stdout).expect("one JSON value");
    assert_eq!(record["ok"], true);
    assert_eq!(record["error"], Value::Null);
    assert_eq!(record["traffic"], "batch");
    assert_eq!(record["execution"], "callback");
    assert_eq!(record["backend"], "mio");
    assert_eq!(record["unfinished_messages"], 0);
    assert!(
        record["roundtrips_per_second"]
            .as_f64()
            .is_some_and(|rate| rate > 0.0)
    );
}

#[test]
fn usage_errors_exit_2_and_print_nothing() {
    for line in [
        "--payload 15",
        "--payload 65508",
        "--clients 65",
        "--window 0",
        "--io-threads 65",
        "--work 10000001",
        "--seconds 0",
        "--seconds 601",
        "--warmup -1",
        "--execution coroutine",
        "--protocol tcps",
        "--implementation endpoint --traffic batch",
        "--implementation endpoint --clients 1024 --window 1024 --payload 1024",
        "--unknown",
        "surplus",
    ] {
        let output = measure(line);
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(output.stdout.is_empty(), "{line}");
        assert!(!output.stderr.is_empty(), "{line}");
    }
}
