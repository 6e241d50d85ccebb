//! Deadlines, late replies, and servers that say nothing any more.

use std::io::Write;
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use arknet::Outcome;
use arknet::redis::{Client, cmd};
use arknet_testkit::need;
use arknet_testkit::proxy::{FaultProxy, Plan};
use arknet_testkit::servers::redis::{Options, RedisServer};
use futures_util::future::join_all;

use crate::support::{Fake, PATIENCE, config, on_a_lane, on_all_lanes};

/// What a test machine with much else to do may be late by.
const LATE: Duration = Duration::from_millis(500);

#[test]
fn a_reply_that_comes_too_late_is_thrown_away() {
    let fake = Fake::start(|| {
        |words: &[Vec<u8>], stream: &mut TcpStream| {
            if words[1] == b"slow" {
                thread::sleep(Duration::from_millis(300));
            }
            let said = String::from_utf8_lossy(&words[1]).into_owned();
            let _ = stream.write_all(format!("+{said}\r\n").as_bytes());
        }
    });
    on_all_lanes(async |lanes| {
        let client = Client::connect(config(fake.address()), lanes)
            .await
            .unwrap();
        let brief = client.within(Some(Duration::from_millis(100)));
        let error = brief
            .run(cmd::<String>("GET").arg("slow"))
            .await
            .unwrap_err();
        assert!(error.is_timeout());
        assert_eq!(error.outcome(), Outcome::Unknown);
        for number in 0..10 {
            let said = format!("quick {number}");
            let heard = client.run(cmd::<String>("GET").arg(&said)).await;
            assert_eq!(heard.unwrap(), said);
        }
        assert_eq!(client.stats().connects, 1);
        assert_eq!(client.stats().timed_out, 1);
    });
}

#[test]
fn deadlines_are_kept() {
    let server = need!(RedisServer::start(Options::default()));
    on_all_lanes(async |lanes| {
        let client = Client::connect(config(server.addr()), lanes).await.unwrap();
        server.freeze();
        let wait = async |number: u64| {
            let limit = Duration::from_millis(20 + number);
            let (start, client) = (Instant::now(), client.within(Some(limit)));
            let error = client.run(cmd::<()>("PING")).await.unwrap_err();
            let waited = start.elapsed();
            assert!(error.is_timeout());
            assert!(waited >= limit, "{waited:?} of {limit:?}");
            waited - limit
        };
        let late = join_all((0..50).map(wait)).await;
        server.thaw();
        let latest = late.iter().max().unwrap();
        assert!(*latest < LATE);
        client.run(cmd::<()>("PING")).await.unwrap();
    });
}

#[test]
fn a_connection_into_a_black_hole_is_replaced() {
    let server = need!(RedisServer::start(Options::default()));
    let proxy = FaultProxy::start(server.addr()).unwrap();
    on_a_lane(async |lanes| {
        let limit = Duration::from_millis(200);
        let config = config(proxy.addr()).request_timeout(Some(limit));
        let client = Client::connect(config, lanes).await.unwrap();
        proxy.set_nth(
            0,
            arknet_testkit::proxy::Direction::ToServer,
            Plan::black_hole(),
        );
        let start = Instant::now();
        let mut failed = 0;
        while client.run(cmd::<()>("PING")).await.is_err() {
            failed += 1;
            assert!(start.elapsed() < PATIENCE);
        }
        assert!(failed > 0);
        assert_eq!(client.stats().connects, 2);
    });
}
