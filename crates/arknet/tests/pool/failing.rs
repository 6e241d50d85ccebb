//! Connects that fail end nobody's waiting, and are told to who waited in vain.

use std::time::Duration;

use arknet::pool::{ConnectFailure, PoolConfig};

use crate::rig::{Model, Rig, eventually, wait};
use crate::server::{Mood, Refused};

on_all_lanes!(
    a_deadline_says_why_there_is_no_connection,
    a_connect_that_does_not_end_is_cut,
    a_pool_finds_its_server_again,
    the_least_number_is_kept,
);

fn a_deadline_says_why_there_is_no_connection(rig: Rig) {
    let pool = rig.pool(PoolConfig::new());
    rig.server.set(Mood::Refuses);
    let within = Duration::from_millis(50);
    let error = wait("a refusal", pool.acquire_within(within)).unwrap_err();
    let Some(ConnectFailure::Error(Refused(number))) = error.connect_failure() else {
        panic!("{error:?}")
    };
    assert_eq!(
        error.to_string(),
        format!(
            "acquire a connection: none within 50ms, the last attempt to make one failed: refusal {number}"
        )
    );
    assert!(pool.stats().failing);
    // The reason of an outage that is over is not told any more.
    rig.server.set(Mood::Good);
    let lease = wait("a lease", pool.acquire()).unwrap();
    assert!(!pool.stats().failing);
    drop(lease);
    rig.finish(pool);
}

fn a_connect_that_does_not_end_is_cut(rig: Rig) {
    let config = PoolConfig::new().connect_timeout(Duration::from_millis(10));
    let pool = rig.pool(config.max_connections(1));
    rig.server.set(Mood::Hangs);
    let within = Duration::from_millis(400);
    let error = wait("a refusal", pool.acquire_within(within)).unwrap_err();
    assert!(
        matches!(
            error.connect_failure(),
            Some(ConnectFailure::Timeout { within }) if *within == Duration::from_millis(10)
        ),
        "{error:?}"
    );
    rig.server.set(Mood::Good);
    drop(wait("a lease", pool.acquire()).unwrap());
    rig.finish(pool);
}

fn a_pool_finds_its_server_again(rig: Rig) {
    let pool = rig.pool(PoolConfig::new().max_connections(2));
    drop(wait("a lease", pool.acquire()).unwrap());
    rig.server.set(Mood::Refuses);
    rig.server.kill_all();
    wait("an outage", async {
        let mut waiting = Box::pin(pool.acquire());
        assert!(futures_util::poll!(waiting.as_mut()).is_pending());
        let failed = pool.stats().connects_failed;
        while pool.stats().connects_failed < failed + 4 {
            tokio::task::yield_now().await;
        }
        rig.server.set(Mood::Good);
        drop(waiting.await.unwrap());
    });
    rig.finish(pool);
}

fn the_least_number_is_kept(rig: Rig) {
    rig.server.refuse(3);
    let pool = rig.pool(PoolConfig::new().min_connections(2).max_connections(4));
    eventually("two connections", || pool.stats().idle == 2);
    pool.try_acquire().unwrap().discard();
    eventually("two connections again", || pool.stats().idle == 2);
    assert_eq!(rig.server.live(), 2);
    rig.finish(pool);
}

#[test]
fn while_connects_fail_one_runs_at_a_time() {
    let rig = Rig::new(Model::Sharded2);
    rig.server.set(Mood::Refuses);
    let pool = rig.pool(PoolConfig::new().min_connections(8));
    eventually("some failures", || {
        let stats = pool.stats();
        let first_wave = stats.connects_failed < 8;
        assert!(first_wave || stats.connecting <= 1, "{stats:?}");
        stats.connects_failed >= 20
    });
    rig.server.set(Mood::Good);
    eventually("all connections", || pool.stats().idle == 8);
    rig.finish(pool);
}
