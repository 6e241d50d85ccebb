//! What lending costs when nothing is in the way: a pool whose connections are numbers, one thread, no contention.
//!
//! `cargo bench -p arknet --bench pool` prints nanoseconds and allocations for an acquire and the release after it. The
//! parts that it is made of are printed beside it, so that a figure can be read on another machine.

#![allow(missing_docs, reason = "a program")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench fails by panicking"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::convert::Infallible;
use std::hint::black_box;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use arknet::Lanes;
use arknet::pool::{Manager, Pool, PoolConfig, Reset};

/// Counts allocations.
struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static COUNTING: Counting = Counting;

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Connections that cost nothing, so that only the pool is measured.
struct Numbers;

impl Manager for Numbers {
    type Connection = u64;
    type Error = Infallible;

    async fn connect(&self, _: Instant) -> Result<u64, Infallible> {
        Ok(0)
    }

    fn reset(&self, _: &mut u64) -> Reset {
        Reset::Clean
    }

    fn is_reusable(&self, _: &mut u64, idle: Duration) -> bool {
        idle < Duration::from_secs(3600)
    }

    async fn farewell(&self, _: u64) {}
}

fn main() {
    // `cargo test` runs benches without this flag: only whether they work is asked then.
    let measure = std::env::args().any(|argument| argument == "--bench");
    let (rounds, turns) = if measure { (9, 200_000) } else { (1, 100) };
    let lanes = Lanes::sharded(1).unwrap();
    let pool = Pool::new(Numbers, PoolConfig::new(), &lanes).unwrap();
    drop(lanes.block_on(pool.acquire()).unwrap().unwrap());

    report("try_acquire and drop", rounds, turns, || {
        let mut lease = pool.try_acquire().unwrap();
        *lease += 1;
    });
    report("acquire().await and drop", rounds, turns, || {
        let mut acquire = pin!(pool.acquire());
        let mut cx = Context::from_waker(Waker::noop());
        let Poll::Ready(lease) = acquire.as_mut().poll(&mut cx) else {
            unreachable!("it is idle");
        };
        *lease.unwrap() += 1;
    });
    let lock = Mutex::new(0_u64);
    report("one lock and unlock", rounds, turns, || {
        *black_box(&lock).lock().unwrap() += 1;
    });
    let arc = Arc::new(0_u64);
    report("one clone and drop of an Arc", rounds, turns, || {
        drop(black_box(arc.clone()));
    });
    report("one look at the clock", rounds, turns, || {
        black_box(Instant::now());
    });
    let _ = lanes.block_on(pool.close(Duration::from_secs(1))).unwrap();
}

/// The median and the least of the rounds, in nanoseconds per turn, and the allocations of all of them.
fn report(what: &str, rounds: usize, turns: usize, mut turn: impl FnMut()) {
    // Until caches are warm and the lane has gone to sleep.
    for _ in 0..turns {
        turn();
    }
    let mut times = Vec::with_capacity(rounds);
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    for _ in 0..rounds {
        let start = Instant::now();
        for _ in 0..turns {
            turn();
        }
        times.push(start.elapsed().as_secs_f64() * 1e9 / turns as f64);
    }
    times.sort_by(f64::total_cmp);
    let allocations = ALLOCATIONS.load(Ordering::Relaxed) - before;
    let (least, median) = (times[0], times[rounds / 2]);
    println!(
        "{what}: {median:.1} ns, at least {least:.1}; {allocations} allocations in {turns} times {rounds}"
    );
}
