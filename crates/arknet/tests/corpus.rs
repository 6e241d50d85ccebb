//! Replays every committed fuzz input of the targets that need arknet, as the test of the same name in
//! arknet-proto does for the engines.

#![cfg(feature = "tls")]
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

#[test]
fn tls_pump() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/tls_pump");
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
        if std::panic::catch_unwind(|| fuzz_bodies::tls_pump::run(&data)).is_err() {
            panic!("{} breaks a rule, see above", path.display());
        }
    }
}
