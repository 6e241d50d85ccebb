//! Every Redis client, pool and decoder that is compared does its work right for a moment.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::process::{Command, Output};

use arknet_testkit::need;
use arknet_testkit::servers::redis::{Options, RedisServer};

fn rivals(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_arknet-rivals"))
        .args(arguments)
        .output()
        .expect("the binary starts")
}

fn works(variant: &str, work: &str, more: &[&str]) {
    let what = ["run-redis", variant, "--work", work];
    let times = ["--warmup", "0.02", "--seconds", "0.05"];
    let output = rivals(&[&what, &times, more].concat());
    let sample: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| {
        panic!(
            "{variant}: {work}: {e}: {}",
            String::from_utf8_lossy(&output.stderr)
        )
    });
    assert!(output.status.success(), "{variant}: {work}: {sample}");
    assert_eq!(sample["errors"], 0, "{variant}: {work}");
    assert!(
        sample["messages"].as_u64().unwrap() > 0,
        "{variant}: {work}"
    );
}

const SHARED: [&str; 5] = ["client", "client lanes", "redis", "fred", "rustis"];

const POOLED: [&str; 9] = [
    "lease",
    "lease lanes",
    "bb8-redis",
    "bb8-redis unchecked",
    "deadpool-redis",
    "deadpool-redis unchecked",
    "rustis",
    "rustis unchecked",
    "fred unchecked",
];

#[test]
fn every_shared_client_does_every_work() {
    let server = need!(RedisServer::start(Options::default()));
    let address = server.addr().to_string();
    for variant in SHARED {
        for work in ["sequential get", "64 tasks", "pipeline 100", "get 16 KiB"] {
            works(variant, work, &["--address", &address]);
        }
        let threads = ["--threads", "2", "--address", &address];
        works(variant, "512 tasks", &threads);
    }
}

#[test]
fn every_pool_leases_to_more_than_it_has() {
    let server = need!(RedisServer::start(Options::default()));
    let address = server.addr().to_string();
    for variant in POOLED {
        works(variant, "lease 1/4", &["--address", &address]);
        let threads = ["--threads", "2", "--address", &address];
        works(variant, "lease 4/16", &threads);
    }
}

#[test]
fn every_decoder_finds_what_was_put_in() {
    let unread = [
        "decode 1000 get 20 B",
        "decode 1000 int",
        "decode mget 100x1 KiB",
        "decode lrange 5000x50 B whole",
        "decode lrange 5000x50 B pieces",
        "decode hgetall 1000x50 B",
        "decode bulk 1 MiB",
    ];
    let read = [
        "decode 1000 get 20 B read",
        "decode 1000 int read",
        "decode mget 100x1 KiB read",
        "decode hgetall 1000x50 B read",
        "decode Vec<String>",
    ];
    for variant in ["reply", "redis", "rustis"] {
        for work in unread.iter().chain(&read) {
            works(variant, work, &[]);
        }
    }
    for work in unread {
        works("redis-protocol", work, &[]);
    }
    works("reply whole", "decode lrange 5000x50 B pieces", &[]);
}

#[test]
fn wrong_asks_exit_2_and_write_nothing() {
    let asks: [&[&str]; 5] = [
        &["run-redis", "nobody", "--work", "64 tasks"],
        &["run-redis", "bb8-redis", "--work", "64 tasks"],
        &[
            "run-redis",
            "redis-protocol",
            "--work",
            "decode Vec<String>",
        ],
        &["run-redis", "redis", "--work", "65 tasks"],
        &["redis", "--rounds", "0"],
    ];
    for ask in asks {
        let output = rivals(ask);
        assert_eq!(output.status.code(), Some(2), "{ask:?}");
        assert!(output.stdout.is_empty(), "{ask:?}");
    }
}

#[test]
fn a_comparison_has_a_line_for_every_pair() {
    drop(need!(RedisServer::start(Options::default())));
    let output = rivals(&[
        "redis",
        "--short",
        "--rounds",
        "1",
        "--only",
        "decode 1000 int",
        "--json",
    ]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    let lines: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let pairs = lines
        .iter()
        .map(|line| (line["work"].as_str(), line["peer"].as_str()));
    let expected = [
        ("decode 1000 int", "redis"),
        ("decode 1000 int", "redis-protocol"),
        ("decode 1000 int", "rustis"),
        ("decode 1000 int read", "redis"),
        ("decode 1000 int read", "rustis"),
    ];
    let expected = expected.map(|(work, peer)| (Some(work), Some(peer)));
    assert_eq!(pairs.collect::<Vec<_>>(), expected);
    for line in lines {
        assert!(
            line["cpu_ratio"].as_f64().is_some_and(|ratio| ratio > 0.0),
            "{line}"
        );
        assert_eq!(line["runs"], 1);
    }
}
