//! In the steady state a lease, a request on it and its return cost no allocation, dirty or not.

use std::sync::mpsc;
use std::time::Duration;

use arknet::Lanes;
use arknet::pool::PoolConfig;
use arknet::redis::commands::strings::{get, set};
use arknet::redis::{Config, Pool, cmd, pipeline};
use arknet_testkit::alloc;
use arknet_testkit::need;
use arknet_testkit::servers::redis::{Options, RedisServer};

const WARM_UP: usize = 200;
const COUNTED: usize = 10_000;

/// A debug build on a busy machine, many times over.
const WITHIN: Duration = Duration::from_secs(50);

/// What may be allocated beside: a table of the lane that grows, a timer of the pool.
const STRAY: u64 = 8;

/// Does something with a lease many times, on a lane, and says what that allocated.
fn allocations_of<F>(what: &'static str, turn: fn(Pool) -> F)
where
    F: Future<Output = Pool> + Send + 'static,
{
    assert!(alloc::installed());
    let server = need!(RedisServer::start(Options::default()));
    let lanes = Lanes::sharded(1).unwrap();
    let (done, counted) = mpsc::channel();
    let (address, lane) = (server.addr(), lanes.clone());
    // Where a server's own code is: on the lane.
    lanes.spawn(async move {
        let config = Config::new(address).unwrap().request_timeout(Some(WITHIN));
        let mut pool = Pool::new(config, PoolConfig::new().max_connections(1), &lane).unwrap();
        pool.run(set("number", 42)).await.unwrap();
        for _ in 0..WARM_UP {
            pool = turn(pool).await;
        }
        let before = alloc::counts();
        for _ in 0..COUNTED {
            pool = turn(pool).await;
        }
        done.send(alloc::counts().since(&before)).unwrap();
    });
    let counts = counted.recv_timeout(WITHIN).unwrap();
    eprintln!("{what}: {} allocations in {COUNTED}", counts.allocations);
    assert!(counts.allocations <= STRAY, "{what}: {counts:?}");
}

#[test]
fn a_lease_allocates_nothing_while_its_users_come_and_go() {
    allocations_of("lease, get, return", |pool: Pool| async move {
        let mut lease = pool.acquire().await.unwrap();
        assert_eq!(lease.run(get::<u64>("number")).await.unwrap(), 42);
        drop(lease);
        pool
    });
}

#[test]
fn a_lease_allocates_nothing_for_a_reset() {
    allocations_of("lease, select, return", |pool: Pool| async move {
        let mut lease = pool.acquire().await.unwrap();
        lease.run(cmd::<()>("SELECT").arg(1)).await.unwrap();
        assert!(lease.is_dirty());
        drop(lease);
        pool
    });
}

#[test]
fn a_lease_allocates_nothing_for_a_pipeline() {
    allocations_of("lease, two gets, return", |pool: Pool| async move {
        let mut lease = pool.acquire().await.unwrap();
        let both = pipeline().add(get::<u64>("number")).add(get("number"));
        let (one, other): (_, Result<u64, _>) = lease.run(both).await;
        assert_eq!((one.unwrap(), other.unwrap()), (42, 42));
        drop(lease);
        pool
    });
}
