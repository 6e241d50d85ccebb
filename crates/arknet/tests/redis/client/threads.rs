//! Many threads, one client.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use arknet::Lanes;
use arknet::redis::{Client, cmd};
use arknet_testkit::need;
use arknet_testkit::servers::redis::{Options, RedisServer};
use futures_util::future::join_all;

use crate::support::{LANES, PATIENCE, config};

const ROUNDS: usize = 200;
const TASKS: usize = 16;

/// Asks from a runtime of its own.
fn hammer(client: &Client, thread: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let ask = async |task: usize| {
        for round in 0..ROUNDS {
            let said = format!("{thread} {task} {round}");
            let heard = client.run(cmd::<String>("ECHO").arg(&said)).await;
            assert_eq!(heard.unwrap(), said);
        }
    };
    runtime.block_on(join_all((0..TASKS).map(ask)));
}

#[test]
fn threads_of_others_ask_at_the_same_time() {
    let server = need!(RedisServer::start(Options::default()));
    for (name, make) in LANES {
        if name == "current" || name == "manual" {
            continue;
        }
        let lanes = make();
        let client = lanes
            .block_on(Client::connect(config(server.addr()), &lanes))
            .unwrap()
            .unwrap();
        let called = Arc::new(AtomicU64::new(0));
        thread::scope(|scope| {
            for number in 0..3 {
                let client = client.clone();
                scope.spawn(move || hammer(&client, number));
            }
            let (client, called) = (client.clone(), called.clone());
            scope.spawn(move || {
                for _ in 0..ROUNDS {
                    let called = called.clone();
                    let function = move |result: Result<String, _>| {
                        assert_eq!(result.unwrap(), "PONG");
                        called.fetch_add(1, Ordering::Relaxed);
                    };
                    client.run_with(cmd("PING"), function).unwrap();
                }
            });
        });
        let report = lanes.block_on(client.close(PATIENCE)).unwrap();
        assert!(report.finished, "{report:?}");
        assert_eq!(called.load(Ordering::Relaxed), ROUNDS as u64);
    }
}

#[test]
fn a_thread_asks_while_another_polls_a_manual_lane() {
    let server = need!(RedisServer::start(Options::default()));
    let lanes = Lanes::manual().unwrap();
    let client = lanes
        .block_on(Client::connect(config(server.addr()), &lanes))
        .unwrap()
        .unwrap();
    thread::scope(|scope| {
        let asking = client.clone();
        let asks = scope.spawn(move || hammer(&asking, 0));
        while !asks.is_finished() {
            let soon = std::time::Instant::now() + std::time::Duration::from_millis(5);
            lanes.poll_until(soon).unwrap();
        }
    });
}
