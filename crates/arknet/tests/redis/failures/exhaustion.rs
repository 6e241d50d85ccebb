//! A pool under more users than it has connections for, some of whom go away, before a server that is not always there.

use std::time::{Duration, Instant};

use arknet::pool::PoolConfig;
use arknet::redis::{Backoff, Error, Pool, cmd};
use arknet::{Lanes, Outcome};
use arknet_testkit::need;
use arknet_testkit::proxy::{Direction, FaultProxy, Plan};
use arknet_testkit::servers::redis::{Options, RedisServer};
use futures_util::future::join_all;

use super::{Chance, poll_and_drop};
use crate::support::{PATIENCE, config, on_a_lane, until};

const NAME: &str = "counted-pool";
const TASKS: u64 = 200;
const ACQUIRES: u64 = 500;

/// Connects of which the proxy drops every tenth.
const CONNECTS: usize = 4_000;

/// Four connections, and so many who wait.
fn four(queue: usize, proxy: &FaultProxy, lanes: &Lanes) -> Pool {
    let bounds = PoolConfig::new()
        .max_connections(4)
        .queue(queue)
        .acquire_timeout(Duration::from_millis(20))
        .backoff(Backoff {
            first: Duration::from_millis(1),
            max: Duration::from_millis(5),
            ..Backoff::default()
        });
    Pool::new(config(proxy.addr()).client_name(NAME), bounds, lanes).unwrap()
}

/// Acquires, and goes away at any point, with whatever is under way then.
async fn come_and_go(pool: &Pool, seed: u64) {
    let mut chance = Chance(seed + 1);
    for number in 0..ACQUIRES {
        let polls = chance.below(4);
        let acquired = match polls {
            3 => Some(pool.acquire().await),
            polls => poll_and_drop(pool.acquire(), polls).await,
        };
        let mut lease = match acquired {
            Some(Ok(lease)) => lease,
            Some(Err(error)) => {
                // It took too long, or there is no connection, and that took too long.
                assert_eq!(error.outcome(), Outcome::NotSent, "{error}");
                continue;
            }
            None => continue,
        };
        let said = format!("{seed} {number}");
        let echo = lease.run(cmd::<String>("ECHO").arg(&said));
        let polls = chance.below(6);
        if let Some(heard) = poll_and_drop(echo, polls).await {
            assert_eq!(heard.unwrap(), said);
        }
        if chance.below(64) == 0 {
            lease.discard();
        }
    }
}

/// Waits until nothing is under way, and the server sees just what is idle.
async fn counts_agree(pool: &Pool, server: &RedisServer) {
    until("the server sees the pool's connections", || {
        let clients = server.client_list();
        let seen = clients
            .iter()
            .filter(|client| client.name() == NAME)
            .count();
        let stats = pool.stats().pool;
        let busy = stats.leased + stats.waiting + stats.connecting + stats.ending;
        busy == 0 && stats.idle == seen
    })
    .await;
}

#[test]
fn a_hundred_thousand_cancelled_acquires_lose_no_connection_while_connects_fail() {
    let server = need!(RedisServer::start(Options::default()));
    let proxy = FaultProxy::start(server.addr()).unwrap();
    for number in (0..CONNECTS).step_by(10) {
        proxy.set_nth(number, Direction::ToServer, Plan::cut_after(0));
    }
    on_a_lane(async |lanes| {
        let pool = four(TASKS as usize, &proxy, lanes);
        let start = Instant::now();
        join_all((0..TASKS).map(|task| come_and_go(&pool, task))).await;
        counts_agree(&pool, &server).await;
        let stats = pool.stats().pool;
        println!("{:?}: {stats:?}", start.elapsed());
        assert!(stats.connects_failed > 0 && stats.cancelled > 0 && stats.discarded > 0);
        assert_eq!(stats.queue_full, 0);
        let mut lease = pool.acquire_within(PATIENCE).await.unwrap();
        lease.run(cmd::<()>("PING")).await.unwrap();
        drop(lease);
        assert!(pool.close(PATIENCE).await.finished);
        until("all are closed", || server.client_list().is_empty()).await;
    });
}

#[test]
fn one_waiter_too_many_is_refused_at_once() {
    let server = need!(RedisServer::start(Options::default()));
    let proxy = FaultProxy::start(server.addr()).unwrap();
    on_a_lane(async |lanes| {
        let pool = four(8, &proxy, lanes);
        let mut leases = Vec::new();
        for _ in 0..4 {
            leases.push(pool.acquire_within(PATIENCE).await.unwrap());
        }
        // Each is done with its connection when it has it.
        let wait = async || pool.acquire_within(PATIENCE).await.map(drop);
        let eight = join_all((0..8).map(|_| wait()));
        let ninth = async {
            until("eight wait", || pool.stats().pool.waiting == 8).await;
            let error = pool.acquire().await.unwrap_err();
            assert!(matches!(error, Error::Full { limit: 8, .. }), "{error}");
            // It was not one that waited in vain.
            assert_eq!(pool.stats().pool.timed_out, 0);
            leases.clear();
        };
        let (served, ()) = futures_util::future::join(eight, ninth).await;
        assert!(served.into_iter().all(|served| served.is_ok()));
    });
}

#[test]
fn a_thousand_waiters_get_over_two_seconds_without_a_server() {
    const AWAY: Duration = Duration::from_secs(2);
    let server = need!(RedisServer::start(Options::default()));
    let proxy = FaultProxy::start(server.addr()).unwrap();
    on_a_lane(async |lanes| {
        let two = PoolConfig::new().max_connections(2);
        let pool = Pool::new(config(proxy.addr()).client_name(NAME), two, lanes).unwrap();
        proxy.refuse();
        let start = Instant::now();
        let wait = async |number: u64| {
            let mut lease = pool.acquire_within(PATIENCE).await.unwrap();
            let said = number.to_string();
            let heard: String = lease.run(cmd("ECHO").arg(&said)).await.unwrap();
            assert_eq!(heard, said);
            start.elapsed()
        };
        let back = async {
            until("a thousand wait", || pool.stats().pool.waiting == 1_000).await;
            tokio::time::sleep(AWAY).await;
            let stats = pool.stats().pool;
            assert!(stats.failing && stats.waiting == 1_000, "{stats:?}");
            // Nobody who waits makes an attempt of his own.
            assert!((1..40).contains(&stats.connects_failed), "{stats:?}");
            proxy.accept_again();
        };
        let (waited, ()) = futures_util::future::join(join_all((0..1_000).map(wait)), back).await;
        println!(
            "the first after {:?}, the last after {:?}",
            waited[0],
            waited.iter().max()
        );
        counts_agree(&pool, &server).await;
        let stats = pool.stats().pool;
        assert_eq!((stats.connected, stats.lent), (2, 1_000), "{stats:?}");
    });
}
