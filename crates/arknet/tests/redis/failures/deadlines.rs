//! One deadline for everything that a request waits for, whatever it waits for.

use std::cell::Cell;
use std::time::{Duration, Instant};

use arknet::pool::PoolConfig;
use arknet::redis::{Client, Error, Pool, cmd};
use arknet_testkit::need;
use arknet_testkit::proxy::{Direction, FaultProxy, Plan};
use arknet_testkit::servers::redis::{Options, RedisServer};
use futures_util::future::{join, join_all};

use super::Chance;
use crate::support::{config, on_a_lane};

const LIMIT: Duration = Duration::from_millis(30);

/// What a test machine with much else to do may be late by. A quiet one is late by a millisecond or two.
const LATE: Duration = Duration::from_millis(500);

const TASKS: usize = 50;
const EACH: usize = 100;

/// How often the network is slow, and well again.
const ROUNDS: usize = 25;

/// Lets the proxy take 0 to 100 ms for what it hands on, each time another.
async fn delay(proxy: &FaultProxy, over: &Cell<bool>) {
    let mut chance = Chance(7);
    for _ in 0..ROUNDS {
        let slow = Plan::pass().delayed(Duration::from_millis(chance.below(100)));
        proxy.set(Direction::ToClient, slow);
        // Another plan lets go of what this one holds: twice as long as a request may take.
        tokio::time::sleep(2 * LIMIT).await;
        proxy.set(Direction::ToClient, Plan::pass());
        tokio::time::sleep(Duration::from_millis(chance.below(20))).await;
    }
    over.set(true);
}

/// Runs five thousand requests at least, as long as the network changes; says how long the longest took, and how many were too late.
async fn measure(
    proxy: &FaultProxy,
    request: impl AsyncFn(&str) -> Result<String, Error>,
) -> (Duration, usize) {
    let over = Cell::new(false);
    let task = async |task: usize| {
        let (mut longest, mut late, mut number) = (Duration::ZERO, 0, 0);
        while number < EACH || !over.get() {
            number += 1;
            let said = format!("{task} {number}");
            let start = Instant::now();
            match request(&said).await {
                Ok(heard) => assert_eq!(heard, said),
                Err(error) => {
                    assert!(error.is_timeout(), "{error}");
                    late += 1;
                }
            }
            longest = longest.max(start.elapsed());
        }
        (longest, late)
    };
    let tasks = join_all((0..TASKS).map(task));
    let (measured, ()) = join(tasks, delay(proxy, &over)).await;
    let longest = measured.iter().map(|(longest, _)| *longest).max().unwrap();
    (longest, measured.iter().map(|(_, late)| late).sum())
}

#[test]
fn ten_thousand_requests_keep_their_deadline_over_a_slow_network() {
    let server = need!(RedisServer::start(Options::default()));
    let proxy = FaultProxy::start(server.addr()).unwrap();
    on_a_lane(async |lanes| {
        let limited = config(proxy.addr()).request_timeout(Some(LIMIT));
        let client = Client::connect(limited.clone(), lanes).await.unwrap();
        let echo = |said: &str| cmd::<String>("ECHO").arg(said);
        let (longest, late) = measure(&proxy, async |said| client.run(echo(said)).await).await;
        println!("shared: the longest took {longest:?}, {late} were too late");
        assert!(longest < LIMIT + LATE && late > 0);
        // It covers the wait for a connection, and for one that is made.
        let pool = Pool::new(limited, PoolConfig::new(), lanes).unwrap();
        let (longest, late) = measure(&proxy, async |said| pool.run(echo(said)).await).await;
        println!("leased: the longest took {longest:?}, {late} were too late");
        assert!(longest < LIMIT + LATE && late > 0);
    });
}
