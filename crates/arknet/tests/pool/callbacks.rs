//! Acquires with a callback: called once, whatever happens.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use arknet::pool::{AcquireError, Pool, PoolConfig};

use crate::rig::{LIMIT, Model, Rig, eventually, wait};
use crate::server::{Refused, Server};

on_all_lanes!(
    a_callback_gets_a_lease,
    callbacks_and_futures_wait_in_one_queue,
    a_callback_is_told_that_the_pool_was_closed,
    a_callback_is_told_that_the_queue_is_full,
    a_callback_that_got_a_dead_connection_gets_another,
    a_callback_that_panics_gives_its_lease_back,
);

type Answer = Result<usize, AcquireError<Refused>>;

fn acquire(pool: &Pool<Server>) -> Receiver<Answer> {
    let (send, receive) = channel();
    pool.acquire_with(move |result| send.send(result.map(|lease| lease.number)).unwrap());
    receive
}

fn a_callback_gets_a_lease(rig: Rig) {
    let pool = rig.pool(PoolConfig::new().max_connections(1));
    for _ in 0..3 {
        assert_eq!(acquire(&pool).recv_timeout(LIMIT).unwrap().unwrap(), 0);
    }
    // It was called before its lease was dropped.
    eventually("the lease is back", || pool.stats().leased == 0);
    rig.finish(pool);
}

fn callbacks_and_futures_wait_in_one_queue(rig: Rig) {
    let pool = rig.pool(PoolConfig::new().max_connections(1));
    let lease = wait("a lease", pool.acquire()).unwrap();
    let served = Arc::new(AtomicUsize::new(0));
    let count = served.clone();
    pool.acquire_with(move |lease| {
        assert_eq!(count.fetch_add(1, Ordering::Relaxed), 0);
        drop(lease.unwrap());
    });
    wait("a lease", async {
        let mut second = Box::pin(pool.acquire());
        assert!(futures_util::poll!(second.as_mut()).is_pending());
        assert_eq!(served.load(Ordering::Relaxed), 0);
        drop(lease);
        let lease = second.await.unwrap();
        assert_eq!(served.fetch_add(1, Ordering::Relaxed), 1);
        drop(lease);
    });
    rig.finish(pool);
}

fn a_callback_is_told_that_the_pool_was_closed(rig: Rig) {
    let pool = rig.pool(PoolConfig::new().max_connections(1));
    let lease = wait("a lease", pool.acquire()).unwrap();
    let waiting = acquire(&pool);
    let report = wait("a close", pool.close(Duration::ZERO));
    assert_eq!(report.leases_left, 1);
    assert!(
        waiting
            .recv_timeout(LIMIT)
            .unwrap()
            .unwrap_err()
            .is_closed()
    );
    assert!(
        acquire(&pool)
            .recv_timeout(LIMIT)
            .unwrap()
            .unwrap_err()
            .is_closed()
    );
    drop(lease);
    rig.finish(pool);
}

fn a_callback_is_told_that_the_queue_is_full(rig: Rig) {
    let pool = rig.pool(PoolConfig::new().max_connections(1).queue(1));
    let lease = wait("a lease", pool.acquire()).unwrap();
    let waiting = acquire(&pool);
    let refused = acquire(&pool).recv_timeout(LIMIT).unwrap().unwrap_err();
    assert!(matches!(refused, AcquireError::QueueFull { limit: 1 }));
    drop(lease);
    assert!(waiting.recv_timeout(LIMIT).unwrap().is_ok());
    eventually("the lease is back", || pool.stats().leased == 0);
    rig.finish(pool);
}

fn a_callback_that_got_a_dead_connection_gets_another(rig: Rig) {
    let pool = rig.pool(PoolConfig::new().max_connections(1));
    let lease = wait("a lease", pool.acquire()).unwrap();
    let waiting = acquire(&pool);
    rig.server.kill_all();
    drop(lease);
    let number = waiting.recv_timeout(LIMIT).unwrap().unwrap();
    assert!(number >= 1);
    assert_eq!(pool.stats().discarded, 1);
    eventually("the lease is back", || pool.stats().leased == 0);
    rig.finish(pool);
}

fn a_callback_that_panics_gives_its_lease_back(rig: Rig) {
    let pool = rig.pool(PoolConfig::new().max_connections(1));
    pool.acquire_with(|lease| {
        let _lease = lease.unwrap();
        panic!("a callback that panics, on purpose");
    });
    assert!(acquire(&pool).recv_timeout(LIMIT).unwrap().is_ok());
    eventually("the lease is back", || pool.stats().leased == 0);
    rig.finish(pool);
}

#[test]
fn a_callback_is_called_once_even_if_the_lanes_end_first() {
    let rig = Rig::new(Model::Sharded2);
    let pool = rig.pool(PoolConfig::new().max_connections(1));
    let lease = wait("a lease", pool.acquire()).unwrap();
    let calls = Arc::new(AtomicUsize::new(0));
    let count = |calls: &Arc<AtomicUsize>| {
        let calls = calls.clone();
        move |result: Result<_, AcquireError<Refused>>| {
            assert!(result.is_err_and(|error| error.is_closed()));
            calls.fetch_add(1, Ordering::Relaxed);
        }
    };
    pool.acquire_with(count(&calls));
    let report = wait("the lanes end", rig.lanes.shutdown(LIMIT));
    assert!(report.finished, "{report:?}");
    pool.acquire_with(count(&calls));
    eventually("two calls", || calls.load(Ordering::Relaxed) == 2);
    drop(lease);
    eventually("no connection is left", || rig.server.live() == 0);
    drop(pool);
    assert_eq!(calls.load(Ordering::Relaxed), 2);
}
