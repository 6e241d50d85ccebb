//! An acquire that is dropped, at whichever point, loses nothing.

use std::pin::Pin;

use arknet::pool::{Acquire, Lease, Pool, PoolConfig};
use futures_util::future::join_all;

use crate::rig::{Rig, eventually, wait};
use crate::server::Server;

on_all_lanes!(
    a_hundred_thousand_acquires_dropped_at_random_leave_the_pool_whole,
    an_acquire_dropped_after_it_was_granted_passes_its_turn_on,
    an_acquire_can_be_dropped_after_any_number_of_polls,
);

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

/// Polls a number of times; a lease, if it came by then.
async fn poll(mut acquire: Pin<&mut Acquire<'_, Server>>, times: u64) -> Option<Lease<Server>> {
    for _ in 0..times {
        if let std::task::Poll::Ready(result) = futures_util::poll!(acquire.as_mut()) {
            return Some(result.unwrap());
        }
        tokio::task::yield_now().await;
    }
    None
}

async fn acquire_and_drop(pool: &Pool<Server>, seed: u64, turns: usize) {
    let mut chance = Chance(seed);
    for _ in 0..turns {
        let mut acquire = std::pin::pin!(pool.acquire());
        let mut lease = poll(acquire.as_mut(), chance.below(4)).await;
        if lease.is_none() && chance.below(4) == 0 {
            lease = Some(acquire.await.unwrap());
        }
        let Some(lease) = lease else { continue };
        lease.begin();
        for _ in 0..chance.below(3) {
            tokio::task::yield_now().await;
        }
        match chance.below(64) {
            0 => lease.discard(),
            _ => lease.end(),
        }
    }
}

fn a_hundred_thousand_acquires_dropped_at_random_leave_the_pool_whole(rig: Rig) {
    let pool = rig.pool(PoolConfig::new().max_connections(2));
    std::thread::scope(|scope| {
        for thread in 1..=2 {
            let pool = &pool;
            scope.spawn(move || {
                let tasks = (0..10).map(|task| acquire_and_drop(pool, thread * 1000 + task, 5_000));
                wait("acquires", join_all(tasks));
            });
        }
    });
    eventually("no connect runs", || pool.stats().connecting == 0);
    let stats = pool.stats();
    assert_eq!((stats.leased, stats.waiting), (0, 0));
    assert_eq!(stats.idle, rig.server.live());
    assert!(stats.cancelled > 1_000, "{stats:?}");
    assert!(rig.server.most() <= 2);
    rig.finish(pool);
}

fn an_acquire_dropped_after_it_was_granted_passes_its_turn_on(rig: Rig) {
    let pool = rig.pool(PoolConfig::new().max_connections(1));
    let lease = wait("a lease", pool.acquire()).unwrap();
    wait("a turn that is passed on", async {
        let mut first = Box::pin(pool.acquire());
        let mut second = Box::pin(pool.acquire());
        assert!(futures_util::poll!(first.as_mut()).is_pending());
        assert!(futures_util::poll!(second.as_mut()).is_pending());
        drop(lease);
        // Granted to the first, which does not look.
        assert_eq!((pool.stats().leased, pool.stats().waiting), (1, 1));
        drop(first);
        drop(second.await.unwrap());
    });
    assert_eq!(pool.stats().cancelled, 1);
    rig.finish(pool);
}

fn an_acquire_can_be_dropped_after_any_number_of_polls(rig: Rig) {
    let pool = rig.pool(PoolConfig::new().max_connections(1));
    for polls in 0..20 {
        rig.server.kill_all();
        wait("some polls", async {
            let mut acquire = std::pin::pin!(pool.acquire());
            drop(poll(acquire.as_mut(), polls).await);
        });
        drop(wait("a lease", pool.acquire()).unwrap());
        assert_eq!((pool.stats().leased, pool.stats().waiting), (0, 0));
    }
    rig.finish(pool);
}
