//! Every variant that runs in this binary echoes correctly for a moment; wrong asks are usage.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::process::{Command, Output};

fn rivals(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_arknet-rivals"))
        .args(arguments)
        .output()
        .expect("the binary starts")
}

fn echoes(protocol: &str, variant: &str, threads: &str) {
    let shape = ["--clients", "3", "--window", "5", "--payload", "100"];
    let times = [
        "--threads",
        threads,
        "--warmup",
        "0.02",
        "--seconds",
        "0.05",
    ];
    let arguments = [&["run-one", protocol, variant], &shape[..], &times[..]].concat();
    let output = rivals(&arguments);
    let sample: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| {
        panic!(
            "{variant}: {e}: {}",
            String::from_utf8_lossy(&output.stderr)
        )
    });
    assert!(output.status.success(), "{variant}: {sample}");
    assert_eq!(sample["errors"], 0, "{variant}");
    assert!(sample["messages"].as_u64().unwrap() > 0, "{variant}");
    assert!(
        sample["elapsed_seconds"].as_f64().unwrap() >= 0.05,
        "{variant}"
    );
}

#[test]
fn every_tcp_variant_echoes_on_one_thread() {
    for variant in ["callback", "async", "epoll", "mio", "tokio"] {
        if variant != "epoll" || cfg!(target_os = "linux") {
            echoes("tcp", variant, "1");
        }
    }
}

#[test]
fn every_sharded_tcp_variant_echoes_on_two_threads() {
    for variant in ["callback", "async", "mio", "tokio"] {
        echoes("tcp", variant, "2");
    }
}

#[test]
fn every_tls_variant_echoes() {
    for variant in ["callback", "async", "tokio-rustls", "tokio-rustls-buffered"] {
        echoes("tls", variant, "1");
    }
}

#[test]
fn wrong_asks_exit_2_and_write_nothing() {
    let asks: [&[&str]; 5] = [
        &["run-one", "tcp", "nobody"],
        &["run-one", "tcp", "epoll", "--threads", "2"],
        &["run-one", "tcp", "epoll", "--payload", "15"],
        &["run-one", "tcp", "mio", "--clients", "0"],
        &["tcp", "--rounds", "0"],
    ];
    for ask in asks {
        let output = rivals(ask);
        assert_eq!(output.status.code(), Some(2), "{ask:?}");
        assert!(output.stdout.is_empty(), "{ask:?}");
    }
}
