//! What a caller is told about a request that failed, and what the server says about it.

use std::time::Duration;

use arknet::Outcome;
use arknet::redis::{Client, Doing, Error, ErrorKind, cmd};
use arknet_testkit::need;
use arknet_testkit::proxy::{Direction, FaultProxy, Plan};
use arknet_testkit::servers::redis::{Options, RedisServer};
use futures_util::future::join;

use crate::support::{PATIENCE, config, on_a_lane, until};

fn counter(server: &RedisServer) -> i64 {
    server.cli(&["INCRBY", "counter", "0"]).integer()
}

#[test]
fn the_reply_is_swallowed_and_the_outcome_unknown() {
    let server = need!(RedisServer::start(Options::default()));
    let proxy = FaultProxy::start(server.addr()).unwrap();
    on_a_lane(async |lanes| {
        let client = Client::connect(config(proxy.addr()), lanes).await.unwrap();
        proxy.set(Direction::ToClient, Plan::black_hole());
        let incr = client.run(cmd::<i64>("INCR").arg("counter"));
        let cut = async {
            until("the server has it", || counter(&server) == 1).await;
            proxy.cut_all();
            proxy.set_both(Plan::pass(), Plan::pass());
        };
        let (failed, ()) = join(incr, cut).await;
        let error = failed.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Lost);
        assert_eq!(error.outcome(), Outcome::Unknown);
        // It connects again, and nothing is sent twice.
        let value = client.run(cmd::<i64>("GET").arg("counter")).await;
        assert_eq!(value.unwrap(), 1);
    });
}

#[test]
fn a_request_that_the_server_never_saw_whole_is_unknown_too() {
    let server = need!(RedisServer::start(Options::default()));
    let proxy = FaultProxy::start(server.addr()).unwrap();
    on_a_lane(async |lanes| {
        let client = Client::connect(config(proxy.addr()), lanes).await.unwrap();
        proxy.set(Direction::ToServer, Plan::cut_after(10));
        let failed = client.run(cmd::<i64>("INCR").arg("counter")).await;
        let error = failed.unwrap_err();
        assert_eq!(error.outcome(), Outcome::Unknown);
        proxy.set(Direction::ToServer, Plan::pass());
        let value = client.run(cmd::<Option<i64>>("GET").arg("counter")).await;
        assert_eq!(value.unwrap(), None);
    });
}

#[test]
fn what_waits_for_a_connection_is_not_sent_when_its_time_is_over() {
    let server = need!(RedisServer::start(Options::default()));
    let proxy = FaultProxy::start(server.addr()).unwrap();
    on_a_lane(async |lanes| {
        let client = Client::connect(config(proxy.addr()), lanes).await.unwrap();
        proxy.refuse();
        proxy.cut_all();
        until("it is noticed", || !client.stats().connected).await;
        let brief = client.within(Some(Duration::from_millis(50)));
        let error = brief
            .run(cmd::<i64>("INCR").arg("counter"))
            .await
            .unwrap_err();
        assert!(
            matches!(
                error,
                Error::Timeout {
                    doing: Doing::Connect,
                    outcome: Outcome::NotSent,
                    ..
                }
            ),
            "{error}"
        );
        proxy.accept_again();
        let value = client.run(cmd::<i64>("INCR").arg("counter")).await;
        assert_eq!(value.unwrap(), 1);
    });
}

#[test]
fn what_waits_behind_a_large_request_is_sent_on_the_next_connection() {
    let server = need!(RedisServer::start(Options::default()));
    let proxy = FaultProxy::start(server.addr()).unwrap();
    on_a_lane(async |lanes| {
        let client = Client::connect(config(proxy.addr()), lanes).await.unwrap();
        proxy.set(Direction::ToServer, Plan::stall_after(100_000));
        let value = "v".repeat(32 << 20);
        let large = client.run(cmd::<()>("SET").arg("large").arg(&value));
        let behind = async {
            until("the large one is being written", || {
                client.stats().queued_bytes == 0
            })
            .await;
            let small = client.run(cmd::<i64>("INCR").arg("counter"));
            let cut = async {
                until("the small one waits behind it", || {
                    client.stats().queued_bytes > 0
                })
                .await;
                // In this order: what stalls could otherwise arrive before it is cut.
                proxy.cut_all();
                proxy.set(Direction::ToServer, Plan::pass());
            };
            join(small, cut).await.0
        };
        let (large, behind) = join(large, behind).await;
        assert_eq!(large.unwrap_err().outcome(), Outcome::Unknown);
        assert_eq!(behind.unwrap(), 1);
    });
}

#[test]
fn a_server_that_breaks_the_protocol_is_left() {
    let fake = crate::support::Fake::start(|| {
        |_: &[Vec<u8>], stream: &mut std::net::TcpStream| {
            use std::io::Write;
            // Nobody may be there any more.
            let _ = stream.write_all(b"?what\r\n");
        }
    });
    on_a_lane(async |lanes| {
        let client = Client::connect(config(fake.address()), lanes)
            .await
            .unwrap();
        let error = client.run(cmd::<String>("GET").arg("k")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol);
        assert_eq!(error.outcome(), Outcome::Unknown);
        until("another connection is made", || client.stats().connects > 1).await;
        assert!(client.close(PATIENCE).await.finished);
    });
}
