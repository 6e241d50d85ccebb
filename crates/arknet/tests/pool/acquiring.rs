//! Who gets a connection, when, and who does not.

use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use arknet::pool::{AcquireError, ConfigError, Pool, PoolConfig};
use futures_util::future::join_all;

use crate::rig::{LIMIT, Model, Rig, eventually, wait};
use crate::server::{Mood, Server};

on_all_lanes!(
    a_lease_is_exclusive_and_comes_back,
    a_thousand_waiters_share_two_connections_of_a_server_that_recovers,
    a_full_queue_refuses_at_once,
    who_only_tries_gets_one_later,
    a_deadline_says_that_all_are_in_use,
    threads_that_acquire_and_discard_leave_exact_counts,
    a_dead_connection_is_replaced_before_anybody_sees_it,
);

fn a_lease_is_exclusive_and_comes_back(rig: Rig) {
    let pool = rig.pool(PoolConfig::new().max_connections(1));
    let number = wait("a lease", async {
        let lease = pool.acquire().await.unwrap();
        lease.begin();
        assert!(matches!(
            pool.try_acquire().unwrap_err(),
            AcquireError::NoneIdle
        ));
        lease.number
    });
    let lease = pool.try_acquire().unwrap();
    assert_eq!(lease.number, number);
    assert!(lease.idle.unwrap() < LIMIT);
    drop(lease);
    assert_eq!((rig.server.connects(), rig.server.resets()), (1, 2));
    let stats = pool.stats();
    assert_eq!((stats.idle, stats.leased, stats.lent), (1, 0, 2));
    rig.finish(pool);
}

fn a_thousand_waiters_share_two_connections_of_a_server_that_recovers(rig: Rig) {
    let pool = rig.pool(PoolConfig::new().max_connections(2));
    rig.server.refuse(7);
    let one = || async {
        let lease = pool.acquire().await?;
        lease.begin();
        tokio::task::yield_now().await;
        lease.end();
        Ok::<_, AcquireError<_>>(())
    };
    let results = wait("a thousand leases", join_all((0..1000).map(|_| one())));
    assert!(results.iter().all(Result::is_ok));
    let stats = pool.stats();
    assert_eq!((stats.connects_failed, stats.lent), (7, 1000));
    assert!(!stats.failing);
    assert!(rig.server.most() <= 2);
    rig.finish(pool);
}

fn a_full_queue_refuses_at_once(rig: Rig) {
    let pool = rig.pool(PoolConfig::new().max_connections(1).queue(8));
    let lease = wait("a lease", pool.acquire()).unwrap();
    wait("nine of them", async {
        let mut waiting: Vec<_> = (0..8).map(|_| Box::pin(pool.acquire())).collect();
        for acquire in &mut waiting {
            assert!(futures_util::poll!(acquire.as_mut()).is_pending());
        }
        let refused = pool.acquire().await.unwrap_err();
        assert!(matches!(refused, AcquireError::QueueFull { limit: 8 }));
        assert_eq!(
            refused.to_string(),
            "acquire a connection: 8 wait for one already"
        );
        assert_eq!(pool.stats().queue_full, 1);
        // Who gives up makes room.
        waiting.pop();
        let mut late = Box::pin(pool.acquire());
        assert!(futures_util::poll!(late.as_mut()).is_pending());
        drop(lease);
        for acquire in waiting {
            drop(acquire.await.unwrap());
        }
        drop(late.await.unwrap());
    });
    rig.finish(pool);
}

fn who_only_tries_gets_one_later(rig: Rig) {
    let pool = rig.pool(PoolConfig::new());
    let mut lease = None;
    eventually("a connection", || {
        lease = pool.try_acquire().ok();
        lease.is_some()
    });
    drop(lease);
    assert_eq!(rig.server.connects(), 1);
    rig.finish(pool);
}

fn a_deadline_says_that_all_are_in_use(rig: Rig) {
    let pool = rig.pool(PoolConfig::new().max_connections(1));
    let lease = wait("a lease", pool.acquire()).unwrap();
    let within = Duration::from_millis(30);
    let start = Instant::now();
    let error = wait("a refusal", pool.acquire_within(within)).unwrap_err();
    assert!(start.elapsed() >= within);
    assert!(error.is_timeout() && error.connect_failure().is_none());
    assert_eq!(
        error.to_string(),
        "acquire a connection: none within 30ms, all are in use"
    );
    assert_eq!(pool.stats().timed_out, 1);
    // Whoever timed out does not get what comes later.
    drop(lease);
    assert_eq!(pool.stats().idle, 1);
    rig.finish(pool);
}

fn threads_that_acquire_and_discard_leave_exact_counts(rig: Rig) {
    let pool = rig.pool(PoolConfig::new().max_connections(3));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let pool = &pool;
            scope.spawn(move || {
                for turn in 0..500 {
                    let lease = wait("a lease", pool.acquire()).unwrap();
                    lease.begin();
                    match (thread + turn) % 7 {
                        0 => lease.discard(),
                        _ => lease.end(),
                    }
                }
            });
        }
    });
    eventually("no connect runs", || pool.stats().connecting == 0);
    let stats = pool.stats();
    assert_eq!(stats.idle, rig.server.live());
    assert_eq!((stats.leased, stats.waiting, stats.lent), (0, 0, 2000));
    assert_eq!(
        stats.connected,
        stats.discarded + u64::try_from(stats.idle).unwrap()
    );
    assert!(rig.server.most() <= 3);
    rig.finish(pool);
}

fn a_dead_connection_is_replaced_before_anybody_sees_it(rig: Rig) {
    let pool = rig.pool(PoolConfig::new().max_connections(2));
    let leases = wait("leases", join_all([pool.acquire(), pool.acquire()]));
    drop(leases);
    rig.server.kill_all();
    let lease = wait("a lease", pool.acquire()).unwrap();
    assert!(lease.number >= 2);
    assert_eq!(pool.stats().discarded, 2);
    // One that dies while somebody waits for it is replaced as well.
    let other = wait("another", pool.acquire()).unwrap();
    wait("a third", async {
        let mut third = Box::pin(pool.acquire());
        assert!(futures_util::poll!(third.as_mut()).is_pending());
        rig.server.kill_all();
        drop(other);
        assert!(third.await.unwrap().number >= 4);
    });
    drop(lease);
    rig.finish(pool);
}

#[test]
fn a_future_that_is_polled_in_no_runtime_keeps_its_deadline() {
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let rig = Rig::new(Model::Sharded2);
    rig.server.set(Mood::Hangs);
    let pool = rig.pool(PoolConfig::new());
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut acquire = Box::pin(pool.acquire_within(Duration::from_millis(20)));
    let start = Instant::now();
    let error = loop {
        match acquire.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(result) => break result.unwrap_err(),
            Poll::Pending => std::thread::park_timeout(LIMIT),
        }
    };
    assert!(error.is_timeout());
    assert!(start.elapsed() < LIMIT);
    drop(acquire);
    rig.finish(pool);
}

#[test]
fn a_configuration_that_cannot_work_is_refused() {
    let rig = Rig::new(Model::Shared1);
    let refuse = |config: PoolConfig| {
        let pool = Pool::new(Server::default(), config, &rig.lanes);
        pool.unwrap_err()
    };
    let error = refuse(PoolConfig::new().max_connections(0));
    assert!(matches!(error, ConfigError::Connections { .. }));
    let error = refuse(PoolConfig::new().max_connections(2).min_connections(3));
    assert_eq!(
        error.to_string(),
        "a pool keeps at least 3 connections and has 2 at most"
    );
}
