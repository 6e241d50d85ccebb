//! What users of other clients have complained about, one kind after the other, where the other stories do not tell it
//! already. `docs/why/redis-failures.md` says which test is about which kind.

mod deadlines;
mod exhaustion;
mod hostile;
mod increments;
mod large;
mod multi;
mod pipelines;
mod pushes;
mod stale;
mod tls;

use std::future::Future;
use std::pin::pin;
use std::task::Poll;

/// xorshift: another number each time, and the same ones in each run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Polls a future so many times and drops it; what it gave, if it was ready by then.
async fn poll_and_drop<F: Future>(future: F, polls: u64) -> Option<F::Output> {
    let mut future = pin!(future);
    for _ in 0..polls {
        if let Poll::Ready(output) = futures_util::poll!(future.as_mut()) {
            return Some(output);
        }
        tokio::task::yield_now().await;
    }
    None
}

/// What this process holds in memory, in bytes.
fn resident() -> i64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: i64 = pages
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse().ok())
        .unwrap_or(0);
    pages * 4096
}
