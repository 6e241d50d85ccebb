//! Replays every committed fuzz input, on any compiler and in a moment: what fuzzing once reached
//! stays covered, and what it once broke stays mended.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::path::Path;

mod fuzz_bodies;

/// A corpus with fewer files has been moved or emptied, and its test would pass for nothing.
const LEAST_FILES: usize = 12;

fn replay(target: &str, run: fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(target);
    let mut paths: Vec<_> = fs::read_dir(&corpus)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    assert!(
        paths.len() >= LEAST_FILES,
        "{} files in {}",
        paths.len(),
        corpus.display()
    );
    for path in paths {
        let data = fs::read(&path).unwrap();
        if std::panic::catch_unwind(|| run(&data)).is_err() {
            panic!("{} breaks a rule, see above", path.display());
        }
    }
}

#[test]
fn framing() {
    replay("framing", fuzz_bodies::framing::run);
}

#[test]
fn inbound() {
    replay("inbound", fuzz_bodies::inbound::run);
}

#[test]
fn redis_exchange() {
    replay("redis_exchange", fuzz_bodies::redis_exchange::run);
}

#[test]
fn redis_reply() {
    replay("redis_reply", fuzz_bodies::redis_reply::run);
}

#[test]
fn mysql_handshake() {
    replay("mysql_handshake", fuzz_bodies::mysql_handshake::run);
}

#[test]
fn mysql_packets() {
    replay("mysql_packets", fuzz_bodies::mysql_packets::run);
}

#[test]
fn mysql_rows() {
    replay("mysql_rows", fuzz_bodies::mysql_rows::run);
}

#[test]
fn redis_request() {
    replay("redis_request", fuzz_bodies::redis_request::run);
}

#[test]
fn pool() {
    replay("pool", fuzz_bodies::pool::run);
}

#[test]
fn send_queue() {
    replay("send_queue", fuzz_bodies::send_queue::run);
}

#[test]
fn session() {
    replay("session", fuzz_bodies::session::run);
}

#[test]
fn timers() {
    replay("timers", fuzz_bodies::timers::run);
}

#[test]
fn uri() {
    replay("uri", fuzz_bodies::uri::run);
}
