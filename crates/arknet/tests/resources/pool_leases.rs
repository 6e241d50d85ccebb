//! In the steady state an acquire and its release cost no allocation, and a pool that is closed has given everything back.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use arknet::Lanes;
use arknet::pool::{Manager, Pool, PoolConfig, Reset};
use arknet_testkit::alloc;

use crate::support::PATIENCE;

const TURNS: u64 = 100_000;

/// Connections that allocate when they are made, and not afterwards.
struct Boxes;

impl Manager for Boxes {
    type Connection = Box<u64>;
    type Error = Infallible;

    async fn connect(&self, _: Instant) -> Result<Box<u64>, Infallible> {
        Ok(Box::default())
    }

    fn reset(&self, _: &mut Box<u64>) -> Reset {
        Reset::Clean
    }

    fn is_reusable(&self, _: &mut Box<u64>, _: Duration) -> bool {
        true
    }

    async fn farewell(&self, _: Box<u64>) {}
}

/// A pool with two idle connections, whose lane has nothing to do.
fn pool(lanes: &Lanes) -> Pool<Boxes> {
    let config = PoolConfig::new().min_connections(2).max_connections(2);
    let pool = Pool::new(Boxes, config, lanes).unwrap();
    let deadline = Instant::now() + PATIENCE;
    while pool.stats().idle < 2 {
        assert!(Instant::now() < deadline);
        std::thread::yield_now();
    }
    assert!(alloc::wait_until_quiet(Duration::from_millis(50), PATIENCE));
    pool
}

#[test]
fn allocations_of_an_acquire_that_finds_an_idle_connection() {
    assert!(alloc::installed());
    let lanes = Lanes::sharded(1).unwrap();
    let pool = pool(&lanes);
    let counts = alloc::measure(|| {
        for _ in 0..TURNS {
            let (mut first, mut second) =
                (pool.try_acquire().unwrap(), pool.try_acquire().unwrap());
            **first += 1;
            **second += 1;
        }
    });
    assert_eq!((counts.allocations, counts.frees), (0, 0));
    let turns = async {
        let before = alloc::counts();
        for _ in 0..TURNS {
            **pool.acquire().await.unwrap() += 1;
        }
        alloc::counts().since(&before)
    };
    let counts = futures_util::FutureExt::now_or_never(turns).unwrap();
    assert_eq!((counts.allocations, counts.frees), (0, 0));
    assert!(lanes.block_on(pool.close(PATIENCE)).unwrap().finished);
}

#[test]
fn memory_of_pools_that_come_and_go() {
    let lanes = Lanes::sharded(1).unwrap();
    let cycle = || {
        let pool = pool(&lanes);
        drop(pool.try_acquire().unwrap());
        assert!(lanes.block_on(pool.close(PATIENCE)).unwrap().finished);
        drop(pool);
        assert!(alloc::wait_until_quiet(Duration::from_millis(50), PATIENCE));
    };
    cycle();
    let before = alloc::counts();
    for _ in 0..10 {
        cycle();
    }
    // Tables of the lane may have grown once; what a pool leaves behind would be there ten times.
    let held = alloc::counts().since(&before).live_bytes;
    assert!(held < 1024, "{held} bytes after ten pools");
}
