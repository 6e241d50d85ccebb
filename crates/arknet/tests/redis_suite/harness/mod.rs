//! What the cases share: cells, and a client in one of them.

use std::time::{Duration, Instant};

#[macro_use]
mod cells;
mod host;

pub(crate) use arknet_testkit::servers::redis::Transport;
pub(crate) use cells::{Access, CELLS, Cell, LEASE_CELLS, Style, on_valkey, over_tcp};
pub(crate) use host::{Host, configure};

/// How long a case waits for what has to happen. Nothing here takes a second on an idle machine; a busy one has
/// ten.
pub(crate) const LIMIT: Duration = Duration::from_secs(10);

/// Waits for a state that nobody announces.
pub(crate) fn eventually(what: &str, mut is: impl FnMut() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !is() {
        assert!(Instant::now() < deadline, "{what}: not within {LIMIT:?}");
        std::thread::yield_now();
    }
}

/// Bytes of every value, in an order that is not theirs.
pub(crate) fn bytes(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_u32;
    let byte = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..length).map(byte).collect()
}
