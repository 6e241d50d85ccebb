//! WATCH, MULTI and EXEC, and callbacks.

use std::sync::mpsc;

use arknet::pool::PoolConfig;
use arknet::redis::{Commit, Error, Lease, Pool, ResetPolicy, cmd};
use arknet_testkit::need;
use arknet_testkit::servers::redis::{Options, RedisServer};

use super::{PATIENCE, config, pool_of_one, tell};

/// Adds one by reading and writing; says how often it met a conflict.
async fn add_one(lease: &mut Lease) -> Result<u32, Error> {
    let mut conflicts = 0;
    loop {
        let mut transaction = lease.transaction();
        transaction.watch("counter").await?;
        let counter: Option<i64> = transaction.run(cmd("GET").arg("counter")).await?;
        let set = cmd::<()>("SET")
            .arg("counter")
            .arg(counter.unwrap_or(0) + 1);
        match transaction.commit(set).await? {
            Commit::Applied(set) => return set.map(|()| conflicts),
            Commit::Conflict => conflicts += 1,
        }
    }
}

#[test]
fn two_who_add_at_the_same_time_lose_nothing() {
    const EACH: i64 = 250;
    let server = need!(RedisServer::start(Options::default()));
    tell(|lanes| async move {
        let pool = Pool::new(config(&server), PoolConfig::new(), &lanes).unwrap();
        let adders = [pool.clone(), pool.clone()].map(|pool| async move {
            let mut conflicts = 0;
            for _ in 0..EACH {
                let mut lease = pool.acquire().await.unwrap();
                conflicts += add_one(&mut lease).await.unwrap();
            }
            conflicts
        });
        let [one, other] = adders;
        let (one, other) = tokio::join!(one, other);
        let counter: i64 = pool.run(cmd("GET").arg("counter")).await.unwrap();
        assert_eq!(counter, 2 * EACH, "with {one} and {other} conflicts");
        // A transaction that has ended leaves nothing behind.
        assert_eq!(pool.stats().resets, 0);
    });
}

#[test]
fn a_command_that_cannot_be_queued_undoes_all() {
    let server = need!(RedisServer::start(Options::default()));
    tell(|lanes| async move {
        let pool = pool_of_one(config(&server), ResetPolicy::Automatic, &lanes);
        let mut lease = pool.acquire().await.unwrap();
        let nonsense = cmd::<()>("SET").arg("only a key");
        let error = lease.transaction().commit(nonsense).await.unwrap_err();
        let said = error.server().unwrap().text();
        assert!(said.contains("wrong number of arguments"), "{said}");
        let wrong = cmd::<i64>("LPUSH").arg("k").arg(1);
        lease.run(cmd::<()>("SET").arg("k").arg(1)).await.unwrap();
        let refused = lease.transaction().commit(wrong).await.unwrap();
        let refused = refused.applied().unwrap().unwrap_err();
        assert_eq!(refused.server().unwrap().code(), "WRONGTYPE");
    });
}

#[test]
fn callbacks_get_the_lease_back_with_each_result() {
    let server = need!(RedisServer::start(Options::default()));
    tell(|lanes| async move {
        let pool = Pool::new(config(&server), PoolConfig::new(), &lanes).unwrap();
        let (told, results) = mpsc::channel();
        pool.acquire_with(move |lease| {
            let set = cmd::<()>("SET").arg("k").arg("v");
            lease.unwrap().run_with(set, move |lease, set| {
                set.unwrap();
                lease.run_with(cmd::<String>("GET").arg("k"), move |_lease, value| {
                    told.send(value.unwrap()).unwrap();
                });
            });
        });
        let result = tokio::task::spawn_blocking(move || results.recv_timeout(PATIENCE));
        assert_eq!(result.await.unwrap().unwrap(), "v");
        assert!(pool.close(PATIENCE).await.finished);
        assert!(pool.acquire().await.unwrap_err().is_closed());
    });
}
