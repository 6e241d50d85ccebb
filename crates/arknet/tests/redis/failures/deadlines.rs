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

/// Lets the proxy take 0 to 100 ms for what it hands on, each time another, as long as something runs.
async fn delay(proxy: &FaultProxy, running: &Cell<usize>) {
    let mut chance = Chance(7);
    while running.get() > 0 {
        let slow = Plan::pass().delayed(Duration::from_millis(chance.below(100)));
        proxy.set(Direction::ToClient, slow);
        tokio::time::sleep(Duration::from_millis(20)).await;
        proxy.set(Direction::ToClient, Plan::pass());
        tokio::time::sleep(Duration::from_millis(chance.below(20))).await;
    }
}

/// Runs five thousand requests; says how long the longest took, and how many were too late.
async fn measure(
    proxy: &FaultProxy,
    request: impl AsyncFn(&str) -> Result<String, Error>,
) -> (Duration, usize) {
    let running = Cell::new(TASKS);
    let task = async |task: usize| {
        let (mut longest, mut late) = (Duration::ZERO, 0);
        for number in 0..EACH {
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
        running.set(running.get() - 1);
        (longest, late)
    };
    let tasks = join_all((0..TASKS).map(task));
    let (measured, ()) = join(tasks, delay(proxy, &running)).await;
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
