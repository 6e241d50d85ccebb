//! The end of a subscriber.

use std::time::Duration;

use arknet::Outcome;
use arknet::redis::{Doing, Error, ErrorKind, Subscriber};
use arknet_testkit::need;
use arknet_testkit::servers::redis::{Options, RedisServer};

use super::message;
use crate::support::{PATIENCE, config, on_a_lane, on_all_lanes, until};

#[test]
fn what_waits_can_still_be_received_after_the_end() {
    let server = need!(RedisServer::start(Options::default()));
    on_all_lanes(async |lanes| {
        let mut subscriber = Subscriber::new(config(server.addr()), lanes).unwrap();
        subscriber.subscribe(["c"]).await.unwrap();
        server.cli(&["PUBLISH", "c", "x"]);
        subscriber.subscribe(["later"]).await.unwrap();
        assert!(subscriber.close(PATIENCE).await.finished);
        assert_eq!(message(&mut subscriber).await.2, "x");
        assert!(subscriber.recv().await.is_none());
        let asked = subscriber.subscribe(["d"]).await;
        assert!(asked.unwrap_err().is_closed());
    });
}

#[test]
fn dropping_it_closes_the_connection_whoever_holds_a_handle() {
    let server = need!(RedisServer::start(Options::default()));
    on_all_lanes(async |lanes| {
        let subscriber = Subscriber::new(config(server.addr()), lanes).unwrap();
        let handle = subscriber.handle();
        handle.subscribe(["c"]).await.unwrap();
        drop(subscriber);
        until("it is closed", || server.client_list().is_empty()).await;
        let asked = handle.subscribe(["d"]).await;
        assert!(asked.unwrap_err().is_closed());
    });
}

#[test]
fn a_call_has_a_deadline() {
    let server = need!(RedisServer::start(Options::default()));
    on_all_lanes(async |lanes| {
        let limit = Duration::from_millis(50);
        let config = config(server.addr()).request_timeout(Some(limit));
        server.freeze();
        let subscriber = Subscriber::new(config, lanes).unwrap();
        let error = subscriber.subscribe(["c"]).await.unwrap_err();
        server.thaw();
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
    });
}

#[test]
fn a_wrong_password_is_told_to_those_who_wait() {
    let server = need!(RedisServer::start(Options::default().password("right")));
    on_a_lane(async |lanes| {
        let subscriber = Subscriber::new(config(server.addr()).password("no"), lanes).unwrap();
        let error = subscriber.subscribe(["c"]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Auth, "{error}");
    });
}

#[test]
fn lanes_that_are_dropped_end_it() {
    let server = need!(RedisServer::start(Options::default()));
    let lanes = arknet::Lanes::manual().unwrap();
    let mut subscriber = Subscriber::new(config(server.addr()), &lanes).unwrap();
    lanes
        .block_on(subscriber.subscribe(["c"]))
        .unwrap()
        .unwrap();
    drop(lanes);
    on_a_lane(async |_| {
        assert!(
            subscriber
                .handle()
                .subscribe(["d"])
                .await
                .unwrap_err()
                .is_closed()
        );
    });
    assert!(
        futures_util::FutureExt::now_or_never(subscriber.recv())
            .unwrap()
            .is_none()
    );
}
