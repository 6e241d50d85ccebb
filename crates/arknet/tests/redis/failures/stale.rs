//! Connections that are still open, and good for nothing.

use std::time::{Duration, Instant};

use arknet::Outcome;
use arknet::pool::PoolConfig;
use arknet::redis::{Pool, cmd};
use arknet_testkit::need;
use arknet_testkit::proxy::{Direction, FaultProxy, Plan};
use arknet_testkit::servers::redis::{Options, RedisServer};

use crate::support::{PATIENCE, config, on_a_lane};

#[test]
fn a_lease_into_a_black_hole_costs_its_user_a_deadline_and_the_next_one_nothing() {
    const LIMIT: Duration = Duration::from_millis(200);
    let server = need!(RedisServer::start(Options::default()));
    let proxy = FaultProxy::start(server.addr()).unwrap();
    on_a_lane(async |lanes| {
        let one = PoolConfig::new().max_connections(1);
        let pool = Pool::new(config(proxy.addr()), one, lanes).unwrap();
        pool.run(cmd::<()>("PING")).await.unwrap();
        proxy.set_nth(0, Direction::ToServer, Plan::black_hole());
        let mut lease = pool.acquire().await.unwrap();
        lease.set_request_timeout(Some(LIMIT));
        let start = Instant::now();
        let incr = cmd::<i64>("INCR").arg("counter");
        let error = lease.run(incr.clone()).await.unwrap_err();
        assert!(error.is_timeout() && start.elapsed() >= LIMIT, "{error}");
        assert_eq!(error.outcome(), Outcome::Unknown);
        drop(lease);
        // The old connection is given up within the time for replies that nobody wants.
        assert_eq!(pool.run(incr).await.unwrap(), 1);
        assert!(start.elapsed() < PATIENCE / 3, "{:?}", start.elapsed());
        assert_eq!(pool.stats().pool.connected, 2);
    });
}

#[test]
fn a_lease_of_a_server_that_takes_no_writes_any_more_is_the_last_one_on_its_connection() {
    let server = need!(RedisServer::start(Options::default()));
    on_a_lane(async |lanes| {
        let one = PoolConfig::new().max_connections(1);
        let pool = Pool::new(config(server.addr()), one, lanes).unwrap();
        let incr = || cmd::<i64>("INCR").arg("counter");
        assert_eq!(pool.run(incr()).await.unwrap(), 1);
        server.cli(&["REPLICAOF", "127.0.0.1", "1"]);
        let mut lease = pool.acquire().await.unwrap();
        let error = lease.run(incr()).await.unwrap_err();
        assert_eq!(error.server().unwrap().code(), "READONLY");
        assert_eq!(error.outcome(), Outcome::Replied);
        // Reading goes on as long as it is lent.
        let counter: i64 = lease.run(cmd("GET").arg("counter")).await.unwrap();
        assert_eq!(counter, 1);
        drop(lease);
        server.cli(&["REPLICAOF", "NO", "ONE"]);
        assert_eq!(pool.run(incr()).await.unwrap(), 2);
        assert_eq!(pool.stats().pool.connected, 2);
    });
}
