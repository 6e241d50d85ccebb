//! What pools and clients count for a recorder of the `metrics` crate.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod names;
mod pool;
mod recorder;
mod redis;

use std::time::{Duration, Instant};

/// Longer than anything takes that goes well, on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits for a state that another thread brings about.
fn until(what: &str, mut so: impl FnMut() -> bool) {
    let late = Instant::now() + PATIENCE;
    while !so() {
        assert!(Instant::now() < late, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}
