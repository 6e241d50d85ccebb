//! The end of a client.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use arknet::Outcome;
use arknet::redis::{Client, cmd};
use arknet_testkit::need;
use arknet_testkit::servers::redis::{Options, RedisServer};
use futures_util::future::{join, join_all};

use crate::support::{PATIENCE, config, on_a_lane, on_all_lanes, until};

#[test]
fn what_was_taken_in_is_finished_and_what_comes_later_is_refused() {
    let server = need!(RedisServer::start(Options::default()));
    on_all_lanes(async |lanes| {
        let client = Client::connect(config(server.addr()), lanes).await.unwrap();
        let (answered, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let hammer = async |number: usize| {
            loop {
                let said = number.to_string();
                match client.run(cmd::<String>("ECHO").arg(&said)).await {
                    Ok(heard) => {
                        assert_eq!(heard, said);
                        answered.fetch_add(1, Ordering::Relaxed);
                    }
                    Err(error) => {
                        assert!(error.is_closed(), "{error}");
                        refused.fetch_add(1, Ordering::Relaxed);
                        return;
                    }
                }
            }
        };
        let close = async {
            until("they are at it", || answered.load(Ordering::Relaxed) > 1000).await;
            client.close(PATIENCE).await
        };
        let (_, report) = join(join_all((0..64).map(hammer)), close).await;
        assert!(report.finished, "{report:?}");
        assert_eq!(refused.load(Ordering::Relaxed), 64);
        assert!(client.run(cmd::<()>("PING")).await.unwrap_err().is_closed());
        assert!(
            client
                .run_with(cmd::<()>("PING"), |_| ())
                .unwrap_err()
                .is_closed()
        );
        // Again, and it has ended already.
        assert_eq!(client.close(PATIENCE).await, report);
    });
}

#[test]
fn what_is_not_answered_in_time_is_cut() {
    let server = need!(RedisServer::start(Options::default()));
    on_all_lanes(async |lanes| {
        let client = Client::connect(config(server.addr()), lanes).await.unwrap();
        server.freeze();
        let requests = join_all((0..10).map(|_| client.run(cmd::<()>("PING"))));
        let start = Instant::now();
        let close = async {
            until("they are sent", || client.stats().waiting == 10).await;
            client.close(Duration::from_millis(100)).await
        };
        let (results, report) = join(requests, close).await;
        assert!(start.elapsed() < PATIENCE);
        server.thaw();
        for result in results {
            assert_eq!(result.unwrap_err().outcome(), Outcome::Unknown);
        }
        assert!(!report.finished);
        assert_eq!(report.cut, 10);
    });
}

#[test]
fn lanes_that_end_take_their_clients_with_them() {
    let server = need!(RedisServer::start(Options::default()));
    let lanes = arknet::Lanes::sharded(1).unwrap();
    let client = lanes
        .block_on(Client::connect(config(server.addr()), &lanes))
        .unwrap()
        .unwrap();
    let called = Arc::new(AtomicUsize::new(0));
    let counter = called.clone();
    server.freeze();
    client
        .run_with(cmd::<()>("PING"), move |result| {
            assert_eq!(result.unwrap_err().outcome(), Outcome::Unknown);
            counter.fetch_add(1, Ordering::Relaxed);
        })
        .unwrap();
    let ended = lanes.block_on(lanes.shutdown(Duration::from_millis(100)));
    ended.unwrap();
    server.thaw();
    on_a_lane(async |_| {
        client.close(PATIENCE).await;
        assert!(client.run(cmd::<()>("PING")).await.unwrap_err().is_closed());
    });
    assert_eq!(called.load(Ordering::Relaxed), 1);
}

#[test]
fn lanes_that_are_dropped_leave_nobody_waiting() {
    let server = need!(RedisServer::start(Options::default()));
    let lanes = arknet::Lanes::manual().unwrap();
    let client = lanes
        .block_on(Client::connect(config(server.addr()), &lanes))
        .unwrap()
        .unwrap();
    drop(lanes);
    on_a_lane(async |_| {
        let failed = client.run(cmd::<()>("PING")).await;
        assert!(failed.unwrap_err().is_closed());
    });
}
