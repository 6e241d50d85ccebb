//! Everything at once, for a while, while everything goes wrong: a shared client, a pool of leases, a queue that blocks
//! and a subscriber, behind a proxy that breaks connections, before a server that is killed and started again.
//!
//! Every reply is compared with its request, every counter of the server with what the callers were told, every
//! connection of the pool with the server's list. `scripts/soak redis` runs it for long; the tests for five seconds.

mod chance;
mod chaos;
mod leases;
mod listening;
mod queue;
mod shared;
mod tally;
mod world;

use std::sync::Arc;
use std::time::{Duration, Instant};

use arknet::Lanes;
use arknet_testkit::need;
use arknet_testkit::proxy::FaultProxy;
use arknet_testkit::servers::redis::{Options, RedisServer};
use tokio::task::JoinSet;

use self::chaos::Chaos;
use self::world::World;
use crate::support::PATIENCE;

/// How long it runs, in seconds, and the number that its chance begins with.
const SECONDS: &str = "ARKNET_SOAK_SECONDS";
const SEED: &str = "ARKNET_SOAK_SEED";

/// What the tests can afford.
const SHORT: u64 = 5;

const CALLERS: u64 = 24;
const BORROWERS: u64 = 12;
const CONSUMERS: u64 = 2;

/// What the process may hold more at the end than after a quarter of the time, when it has seen everything: what an
/// allocator keeps after bursts, and less than what a leak of a reply in a hundred makes.
const GROWTH: i64 = 32 * 1024 * 1024;

#[test]
fn a_soak_with_faults_leaves_replies_leases_and_memory_in_order() {
    let seconds = setting(SECONDS).unwrap_or(SHORT);
    let seed = setting(SEED).unwrap_or_else(chance::any);
    println!("soak redis: {seconds} s, seed {seed}");
    // What has been answered is in the file before the answer leaves, so that a killed server has lost nothing.
    let options = Options::default()
        .line("appendonly yes")
        .line("appendfsync no")
        .line("auto-aof-rewrite-percentage 0");
    let server = Arc::new(need!(RedisServer::start(options)));
    let proxy = Arc::new(FaultProxy::start(server.addr()).unwrap());
    let lanes = Lanes::sharded(1).unwrap();
    let world = Arc::new(World::new(seed, proxy.addr(), &lanes));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();

    let began = Instant::now();
    let time = Duration::from_secs(seconds);
    let chaos = Chaos::start(server.clone(), proxy.clone(), seed, time);
    let warm = runtime.block_on(async {
        let mut loads = JoinSet::new();
        for number in 0..CALLERS {
            loads.spawn(shared::call(world.clone(), number));
        }
        for number in 0..BORROWERS {
            loads.spawn(leases::borrow(world.clone(), number));
        }
        for number in 0..CONSUMERS {
            loads.spawn(queue::consume(world.clone(), number));
        }
        loads.spawn(queue::produce(world.clone()));
        loads.spawn(listening::publish(world.clone()));
        let listening = tokio::spawn(listening::listen(world.clone(), lanes.clone()));
        tokio::time::sleep(time / 4).await;
        let warm = resident();
        tokio::time::sleep_until((began + time).into()).await;
        world.stop();
        // Whoever still runs is within a request, and that has a limit.
        let ended = tokio::time::timeout(PATIENCE, async {
            while let Some(load) = loads.join_next().await {
                load.unwrap();
            }
        });
        ended.await.expect("a request goes on for ever");
        listening.await.unwrap();
        warm
    });
    let faults = chaos.end();
    let verdict = runtime.block_on(async {
        let ended = tokio::time::timeout(2 * PATIENCE, world.settle(&server));
        ended.await.expect("it does not come to rest")
    });
    let grown = resident() - warm;
    println!(
        "soak redis: {seconds} s, seed {seed}: {}; {verdict}; {faults}; {} KiB resident, {} KiB more than after {:?}",
        world.tally,
        resident() / 1024,
        grown / 1024,
        time / 4
    );
    assert!(grown <= GROWTH, "memory grows: {grown} bytes");
    assert!(world.tally.done() > 1_000 * seconds / 5, "that was no load");
}

fn setting(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is no number: {text}")),
    )
}

/// What this process holds in memory, in bytes.
fn resident() -> i64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: i64 = pages
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse().ok())
        .unwrap_or(0);
    pages * 4096
}
