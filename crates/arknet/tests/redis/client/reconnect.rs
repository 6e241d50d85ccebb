//! A lost connection is made again, and nobody has to ask for it.

use std::time::Duration;

use arknet::redis::{Client, Config, ErrorKind, Protocol, ReconnectPolicy, cmd};
use arknet_testkit::need;
use arknet_testkit::servers::redis::{Options, RedisServer};

use crate::support::{config, on_a_lane, on_all_lanes, until};

#[test]
fn a_server_that_restarts_is_found_again() {
    let server = need!(RedisServer::start(Options::default()));
    on_all_lanes(async |lanes| {
        let client = Client::connect(config(server.addr()), lanes).await.unwrap();
        for round in 1..=3 {
            server.restart();
            // What was on the old connection failed with it; the next waits for the new one.
            until("it is noticed", || client.stats().connects > round).await;
            client.run(cmd::<()>("PING")).await.unwrap();
        }
    });
}

#[test]
fn connections_that_the_server_kills_are_made_again() {
    let server = need!(RedisServer::start(Options::default()));
    on_a_lane(async |lanes| {
        let config = config(server.addr()).database(3).client_name("again");
        let client = Client::connect(config, lanes).await.unwrap();
        for round in 1..=20 {
            server.kill_clients();
            until("it is noticed", || client.stats().connects > round).await;
            let info = client.run(cmd::<String>("CLIENT INFO")).await.unwrap();
            assert!(
                info.contains("db=3") && info.contains("name=again"),
                "{info}"
            );
        }
    });
}

#[test]
fn without_a_policy_the_loss_is_the_end() {
    let server = need!(RedisServer::start(Options::default()));
    on_a_lane(async |lanes| {
        let config = config(server.addr()).reconnect(ReconnectPolicy::off());
        let client = Client::connect(config, lanes).await.unwrap();
        server.kill_clients();
        until("it is noticed", || !client.stats().connected).await;
        let error = client.run(cmd::<()>("PING")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Lost, "{error}");
    });
}

#[test]
fn a_wrong_password_is_told_at_once() {
    let server = need!(RedisServer::start(Options::default().password("right")));
    on_a_lane(async |lanes| {
        let wrong = config(server.addr()).password("wrong");
        let error = Client::connect(wrong.clone(), lanes).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Auth, "{error}");
        assert!(!error.to_string().contains("wrong"));
        // Those who wait for a client that connects in the background are told too.
        let client = Client::new(wrong, lanes).unwrap();
        let error = client.run(cmd::<()>("PING")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Auth, "{error}");
        let right = config(server.addr()).password("right");
        let client = Client::connect(right, lanes).await.unwrap();
        client.run(cmd::<()>("PING")).await.unwrap();
    });
}

#[test]
fn a_server_that_takes_no_writes_any_more_is_left() {
    let server = need!(RedisServer::start(Options::default()));
    on_a_lane(async |lanes| {
        let client = Client::connect(config(server.addr()), lanes).await.unwrap();
        // A connection that is new is not given up for it.
        tokio::time::sleep(Duration::from_millis(1100)).await;
        server.cli(&["REPLICAOF", "127.0.0.1", "1"]);
        let error = client.run(cmd::<i64>("INCR").arg("k")).await.unwrap_err();
        assert_eq!(error.server().unwrap().code(), "READONLY");
        until("another is made", || client.stats().connects > 1).await;
        server.cli(&["REPLICAOF", "NO", "ONE"]);
        assert_eq!(client.run(cmd::<i64>("INCR").arg("k")).await.unwrap(), 1);
    });
}

#[test]
fn both_versions_of_the_protocol_are_spoken() {
    let server = need!(RedisServer::start(Options::default()));
    on_a_lane(async |lanes| {
        for (protocol, version) in [
            (Protocol::Resp2, "resp=2"),
            (Protocol::Resp3, "resp=3"),
            (Protocol::Resp3WithFallback, "resp=3"),
        ] {
            let config: Config = config(server.addr()).protocol(protocol);
            let client = Client::connect(config, lanes).await.unwrap();
            let info = client.run(cmd::<String>("CLIENT INFO")).await.unwrap();
            assert!(info.contains(version), "{info}");
        }
    });
}
