//! What the cases share: cells, hosts, and endpoints that tell a [`Probe`] what they see.

use std::future::Future;
use std::time::{Duration, Instant};

#[macro_use]
mod cells;
mod endpoints;
mod host;
mod probe;

pub(crate) use cells::{Cell, Model, Style, Transport};
pub(crate) use endpoints::Role;
pub(crate) use host::{Host, certificates};
pub(crate) use probe::{Log, Probe, log};

/// How long a case waits for what has to happen. Nothing here takes a second on an idle machine; a busy one has ten.
pub(crate) const LIMIT: Duration = Duration::from_secs(10);

/// The first refusal of a bounded wait: a case fails, and does not hang.
pub(crate) fn receive<T>(from: &std::sync::mpsc::Receiver<T>, what: &str) -> T {
    from.recv_timeout(LIMIT)
        .unwrap_or_else(|error| panic!("{what}: {error} within {LIMIT:?}"))
}

/// Waits for a state that nobody announces.
pub(crate) fn eventually(what: &str, mut is: impl FnMut() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !is() {
        assert!(Instant::now() < deadline, "{what}: not within {LIMIT:?}");
        std::thread::yield_now();
    }
}

/// Waits for a future on the calling thread, which is no lane.
pub(crate) fn wait<F: Future>(what: &str, future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        tokio::time::timeout(LIMIT, future)
            .await
            .unwrap_or_else(|_| panic!("{what}: not within {LIMIT:?}"))
    })
}

/// Bytes that are not those of another seed or place.
pub(crate) fn pattern(seed: usize, length: usize) -> Vec<u8> {
    let mut state = seed as u32 ^ 0x9e37_79b9;
    let byte = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..length).map(byte).collect()
}
