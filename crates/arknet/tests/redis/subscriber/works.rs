//! What everybody does with a subscriber, on all lanes and in both versions of the protocol.

use arknet::redis::{ErrorKind, Protocol, Subscriber, SubscriberEvent};
use arknet_testkit::need;
use arknet_testkit::servers::redis::{Options, RedisServer};

use super::{message, silence};
use crate::support::{config, on_a_lane, on_all_lanes};

fn some(channel: &str, pattern: Option<&str>, payload: &str) -> (String, Option<String>, String) {
    (
        channel.to_owned(),
        pattern.map(str::to_owned),
        payload.to_owned(),
    )
}

#[test]
fn messages_come_in_order_from_when_a_subscription_is_confirmed() {
    let server = need!(RedisServer::start(Options::default()));
    for protocol in [Protocol::Resp2, Protocol::Resp3] {
        on_all_lanes(async |lanes| {
            let config = config(server.addr()).protocol(protocol);
            let mut subscriber = Subscriber::new(config, lanes).unwrap();
            subscriber.subscribe(["a", "b"]).await.unwrap();
            subscriber.psubscribe(["a*"]).await.unwrap();
            subscriber.ssubscribe(["s"]).await.unwrap();
            assert_eq!(subscriber.subscriptions(), 4);
            assert_eq!(server.cli(&["PUBLISH", "a", "1"]).integer(), 2);
            assert_eq!(message(&mut subscriber).await, some("a", None, "1"));
            assert_eq!(message(&mut subscriber).await, some("a", Some("a*"), "1"));
            server.cli(&["SPUBLISH", "s", "2"]);
            assert_eq!(message(&mut subscriber).await, some("s", None, "2"));
            let large = "x".repeat(300_000);
            server.cli(&["PUBLISH", "b", &large]);
            assert_eq!(message(&mut subscriber).await, some("b", None, &large));
            subscriber.unsubscribe(["a"]).await.unwrap();
            subscriber.punsubscribe(["a*"]).await.unwrap();
            subscriber.sunsubscribe(["s"]).await.unwrap();
            assert_eq!(server.cli(&["PUBLISH", "a", "3"]).integer(), 0);
            silence(&mut subscriber).await;
        });
    }
}

#[test]
fn tens_of_thousands_of_messages_all_come() {
    let server = need!(RedisServer::start(Options::default()));
    on_all_lanes(async |lanes| {
        let mut subscriber = Subscriber::new(config(server.addr()), lanes).unwrap();
        subscriber.subscribe(["c"]).await.unwrap();
        let script = "for i = 1, 10000 do redis.call('PUBLISH', 'c', i) end";
        server.cli(&["EVAL", script, "0"]);
        for number in 1..=10_000 {
            assert_eq!(message(&mut subscriber).await.2, number.to_string());
        }
    });
}

#[test]
fn what_the_server_does_not_allow_is_told_and_hurts_nothing_else() {
    let options = Options::default().user_with("limited", "pass", &["&open*", "+@all"]);
    let server = need!(RedisServer::start(options));
    on_a_lane(async |lanes| {
        let config = config(server.addr()).user("limited").password("pass");
        let mut subscriber = Subscriber::new(config, lanes).unwrap();
        subscriber.subscribe(["open:1"]).await.unwrap();
        let refused = subscriber.subscribe(["open:2", "closed"]).await;
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Auth);
        assert_eq!(error.server().unwrap().code(), "NOPERM");
        assert_eq!(subscriber.subscriptions(), 1);
        server.cli(&["PUBLISH", "open:1", "x"]);
        assert_eq!(message(&mut subscriber).await, some("open:1", None, "x"));
    });
}

#[test]
fn a_handle_subscribes_from_elsewhere() {
    let server = need!(RedisServer::start(Options::default()));
    on_a_lane(async |lanes| {
        let mut subscriber = Subscriber::new(config(server.addr()), lanes).unwrap();
        let handle = subscriber.handle();
        let (received, ()) = futures_util::future::join(subscriber.recv(), async {
            handle.subscribe(["c"]).await.unwrap();
            server.cli(&["PUBLISH", "c", "x"]);
        })
        .await;
        assert!(matches!(received, Some(SubscriberEvent::Message { .. })));
    });
}
