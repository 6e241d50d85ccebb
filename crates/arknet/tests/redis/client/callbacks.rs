//! Results that are given to a function, on the connection's lane.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use arknet::redis::{Client, ErrorKind, cmd};
use arknet_testkit::need;
use arknet_testkit::servers::redis::{Options, RedisServer};

use crate::support::{PATIENCE, config, on_all_lanes};

#[test]
fn functions_are_called_once_in_the_order_of_the_replies() {
    let server = need!(RedisServer::start(Options::default()));
    on_all_lanes(async |lanes| {
        let client = Client::connect(config(server.addr()), lanes).await.unwrap();
        let (sender, results) = mpsc::channel();
        for number in 0..1000 {
            let sender = sender.clone();
            let echo = cmd::<usize>("ECHO").arg(number);
            client
                .run_with(echo, move |result| sender.send(result.unwrap()).unwrap())
                .unwrap();
        }
        assert!(client.close(PATIENCE).await.finished);
        assert!(results.try_iter().eq(0..1000));
    });
}

#[test]
fn a_function_that_panics_hurts_nobody_else() {
    let server = need!(RedisServer::start(Options::default()));
    on_all_lanes(async |lanes| {
        let client = Client::connect(config(server.addr()), lanes).await.unwrap();
        let ping = || cmd::<String>("PING");
        client.run_with(ping(), |_| panic!("on purpose")).unwrap();
        assert_eq!(client.run(ping()).await.unwrap(), "PONG");
        assert_eq!(client.stats().connects, 1);
    });
}

#[test]
fn functions_run_on_the_lane_and_may_ask_again() {
    let server = need!(RedisServer::start(Options::default()));
    let lanes = arknet::Lanes::sharded(1).unwrap();
    let client = lanes
        .block_on(Client::connect(config(server.addr()), &lanes))
        .unwrap()
        .unwrap();
    let (sender, results) = mpsc::channel();
    let (lane, where_it_is) = mpsc::channel();
    lanes.post(move || lane.send(thread::current().id()).unwrap());
    let again = client.clone();
    client
        .run_with(cmd::<i64>("INCR").arg("k"), move |result| {
            result.unwrap();
            let here = thread::current().id();
            let asked = again.run_with(cmd::<i64>("INCR").arg("k"), move |result| {
                sender.send((here, thread::current().id(), result)).unwrap();
            });
            asked.unwrap();
        })
        .unwrap();
    let (here, there, result) = results.recv_timeout(PATIENCE).unwrap();
    assert_eq!(result.unwrap(), 2);
    let lane = where_it_is.recv_timeout(PATIENCE).unwrap();
    assert_eq!((here, there), (lane, lane));
}

#[test]
fn functions_are_told_of_deadlines_and_losses() {
    let server = need!(RedisServer::start(Options::default()));
    on_all_lanes(async |lanes| {
        let client = Client::connect(config(server.addr()), lanes).await.unwrap();
        server.freeze();
        let (sender, mut results) = tokio::sync::mpsc::unbounded_channel();
        for limit in [Some(Duration::from_millis(50)), None] {
            let sender = sender.clone();
            client
                .within(limit)
                .run_with(cmd::<()>("PING"), move |result| {
                    sender.send(result.unwrap_err().kind()).unwrap();
                })
                .unwrap();
        }
        assert_eq!(results.recv().await.unwrap(), ErrorKind::Timeout);
        server.restart();
        assert_eq!(results.recv().await.unwrap(), ErrorKind::Lost);
    });
}
