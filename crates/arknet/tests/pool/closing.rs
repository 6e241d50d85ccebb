//! Closing in good order, by a deadline.

use std::time::Duration;

use arknet::pool::{AcquireError, PoolConfig};
use futures_util::future::{join, join_all};

use crate::rig::{LIMIT, Rig, eventually, wait};
use crate::server::Mood;

on_all_lanes!(
    a_close_under_load_loses_nobody,
    a_close_reports_the_leases_that_are_out,
    a_close_waits_for_the_leases_that_are_out,
    a_close_gives_up_connects_that_run,
    a_farewell_that_does_not_end_is_cut,
    the_shutdown_of_the_lanes_closes_the_pool,
    dropping_the_pool_ends_its_background_work,
);

fn a_close_under_load_loses_nobody(rig: Rig) {
    let pool = rig.pool(PoolConfig::new().max_connections(3));
    let one = || async {
        let mut leases = 0;
        loop {
            match pool.acquire().await {
                Ok(lease) => {
                    lease.begin();
                    tokio::task::yield_now().await;
                    lease.end();
                    leases += 1;
                }
                Err(error) => {
                    assert!(matches!(error, AcquireError::Closed), "{error}");
                    return leases;
                }
            }
        }
    };
    let load = join_all((0..50).map(|_| one()));
    let close = async {
        while pool.stats().lent < 200 {
            tokio::task::yield_now().await;
        }
        pool.close(LIMIT).await
    };
    let (leases, report) = wait("a close", join(load, close));
    assert!(report.finished, "{report:?}");
    let stats = pool.stats();
    assert_eq!(leases.iter().sum::<u64>(), stats.lent);
    assert_eq!(rig.server.live(), 0);
    assert_eq!(rig.server.farewells() as u64, stats.connected);
    assert!(pool.try_acquire().unwrap_err().is_closed());
    rig.finish(pool);
}

fn a_close_reports_the_leases_that_are_out(rig: Rig) {
    let pool = rig.pool(PoolConfig::new().max_connections(2));
    let leases = wait("leases", join_all([pool.acquire(), pool.acquire()]));
    let report = wait("a close", pool.close(Duration::from_millis(10)));
    assert!(!report.finished);
    assert_eq!((report.leases_left, report.ending_left), (2, 0));
    // They are of no danger: each ends its connection.
    drop(leases);
    eventually("no connection is left", || rig.server.live() == 0);
    rig.finish(pool);
}

fn a_close_waits_for_the_leases_that_are_out(rig: Rig) {
    let pool = rig.pool(PoolConfig::new());
    let lease = wait("a lease", pool.acquire()).unwrap();
    let report = wait("a close", async {
        let mut close = Box::pin(pool.close(LIMIT));
        for _ in 0..10 {
            assert!(futures_util::poll!(close.as_mut()).is_pending());
            tokio::task::yield_now().await;
        }
        drop(lease);
        close.await
    });
    assert!(report.finished);
    assert_eq!(rig.server.farewells(), 1);
    rig.finish(pool);
}

fn a_close_gives_up_connects_that_run(rig: Rig) {
    rig.server.set(Mood::Hangs);
    let pool = rig.pool(PoolConfig::new().min_connections(2));
    eventually("connects run", || rig.server.connects() == 2);
    let report = wait("a close", pool.close(LIMIT));
    assert!(report.finished, "{report:?}");
    rig.finish(pool);
}

fn a_farewell_that_does_not_end_is_cut(rig: Rig) {
    let pool = rig.pool(PoolConfig::new());
    drop(wait("a lease", pool.acquire()).unwrap());
    rig.server.set(Mood::FarewellHangs);
    let report = wait("a close", pool.close(Duration::from_millis(20)));
    eventually("the connection is cut", || rig.server.live() == 0);
    assert!(report.finished || report.ending_left == 1);
    rig.finish(pool);
}

fn the_shutdown_of_the_lanes_closes_the_pool(rig: Rig) {
    let pool = rig.pool(PoolConfig::new().max_connections(2).min_connections(2));
    eventually("two connections", || pool.stats().idle == 2);
    let lease = pool.try_acquire().unwrap();
    wait("the lanes end", async {
        let other = pool.acquire().await.unwrap();
        let mut waiting = Box::pin(pool.acquire());
        assert!(futures_util::poll!(waiting.as_mut()).is_pending());
        drop(other);
        let _ = waiting.await.unwrap();
        let report = rig.lanes.shutdown(LIMIT).await;
        assert!(report.finished, "{report:?}");
        assert!(pool.acquire().await.unwrap_err().is_closed());
    });
    assert!(pool.is_closed());
    // It has nowhere to say goodbye, and ends all the same.
    drop(lease);
    eventually("no connection is left", || rig.server.live() == 0);
    drop(pool);
}

fn dropping_the_pool_ends_its_background_work(rig: Rig) {
    let idle = PoolConfig::new().max_idle(Some(LIMIT * 100));
    let pool = rig.pool(idle.min_connections(1).max_connections(3));
    let lease = wait("a lease", pool.acquire()).unwrap();
    let clone = pool.clone();
    drop(pool);
    assert!(!clone.is_closed());
    drop(clone.try_acquire());
    drop(clone);
    drop(lease);
    eventually("no connection is left", || rig.server.live() == 0);
    let report = wait("the lanes end", rig.lanes.shutdown(LIMIT));
    assert!(report.finished, "{report:?}");
}
