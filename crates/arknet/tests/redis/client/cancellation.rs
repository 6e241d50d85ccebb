//! Cancelling a request cancels its delivery, never the wire.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use arknet::redis::{Client, cmd};
use arknet_testkit::need;
use arknet_testkit::proxy::{Direction, FaultProxy, Plan};
use arknet_testkit::servers::redis::{Options, RedisServer};
use futures_util::future::join_all;

use crate::support::{config, on_a_lane, on_all_lanes};

/// Starts a future and drops it after so long, wherever it is then.
pub(crate) async fn for_a_while<F: Future>(future: F, time: Duration) {
    let mut future = pin!(future);
    let end = Instant::now() + time;
    loop {
        let polled = future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
        if polled.is_ready() || Instant::now() >= end {
            return;
        }
        tokio::task::yield_now().await;
    }
}

#[test]
fn nobody_gets_the_reply_of_a_request_that_was_dropped() {
    let server = need!(RedisServer::start(Options::default()));
    on_all_lanes(async |lanes| {
        let client = Client::connect(config(server.addr()), lanes).await.unwrap();
        for number in 0..2_000_u64 {
            let set = cmd::<()>("SET").arg("k").arg(number);
            client.run(set).await.unwrap();
            let get = client.run(cmd::<String>("GET").arg("k"));
            for_a_while(get, Duration::from_micros(number % 60)).await;
            let said = format!("e{number}");
            let heard = client.run(cmd::<String>("ECHO").arg(&said)).await;
            assert_eq!(heard.unwrap(), said);
        }
        assert_eq!(client.stats().connects, 1);
    });
}

#[test]
fn nobody_gets_it_when_replies_are_slow_either() {
    let server = need!(RedisServer::start(Options::default()));
    let proxy = FaultProxy::start(server.addr()).unwrap();
    let slow = Plan::pass().delayed(Duration::from_millis(5));
    proxy.set(Direction::ToClient, slow);
    on_a_lane(async |lanes| {
        let client = Client::connect(config(proxy.addr()), lanes).await.unwrap();
        let story = async |task: u64| {
            for number in 0..100 {
                let get = client.run(cmd::<String>("ECHO").arg("dropped"));
                for_a_while(get, Duration::from_micros((task * 100 + number) % 60)).await;
                let said = format!("e{task} {number}");
                let heard = client.run(cmd::<String>("ECHO").arg(&said)).await;
                assert_eq!(heard.unwrap(), said);
            }
        };
        join_all((0..20).map(story)).await;
        assert_eq!(client.stats().connects, 1);
        assert!(client.stats().abandoned > 1_000);
    });
}

#[test]
fn a_request_that_was_never_polled_was_never_sent() {
    let server = need!(RedisServer::start(Options::default()));
    on_a_lane(async |lanes| {
        let client = Client::connect(config(server.addr()), lanes).await.unwrap();
        drop(client.run(cmd::<i64>("INCR").arg("counter")));
        let counter = client.run(cmd::<Option<i64>>("GET").arg("counter")).await;
        assert_eq!(counter.unwrap(), None);
        assert_eq!(client.stats().abandoned, 0);
    });
}

#[test]
fn a_request_that_was_dropped_before_it_was_taken_is_not_sent() {
    let server = need!(RedisServer::start(Options::default()));
    // Nothing takes it before the lane is polled.
    let lanes = arknet::Lanes::manual().unwrap();
    let client = lanes
        .block_on(Client::connect(config(server.addr()), &lanes))
        .unwrap()
        .unwrap();
    {
        let mut incr = pin!(client.run(cmd::<i64>("INCR").arg("counter")));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(incr.as_mut().poll(&mut cx).is_pending());
        assert_eq!(client.stats().waiting, 1);
    }
    assert_eq!(client.stats().waiting, 0);
    let counter = client.run(cmd::<Option<i64>>("GET").arg("counter"));
    assert_eq!(lanes.block_on(counter).unwrap().unwrap(), None);
}
