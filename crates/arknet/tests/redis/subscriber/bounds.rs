//! A consumer that is too slow is told what it misses, and holds nobody up.

use arknet::redis::{GapReason, Overflow, Subscriber, SubscriberConfig, SubscriberEvent};
use arknet_testkit::need;
use arknet_testkit::servers::redis::{Options, RedisServer};

use super::{message, next};
use crate::support::{config, on_all_lanes, until};

fn publish(server: &RedisServer, count: usize) {
    for number in 0..count {
        server.cli(&["PUBLISH", "c", &number.to_string()]);
    }
}

/// Everything that was published has been read: the answer to a later subscription has come.
async fn all_arrived(subscriber: &Subscriber) {
    subscriber.subscribe(["later"]).await.unwrap();
}

#[test]
fn the_oldest_messages_make_room() {
    let server = need!(RedisServer::start(Options::default()));
    on_all_lanes(async |lanes| {
        let config = SubscriberConfig::from(config(server.addr())).queue(10);
        let mut subscriber = Subscriber::new(config, lanes).unwrap();
        subscriber.subscribe(["c"]).await.unwrap();
        publish(&server, 100);
        all_arrived(&subscriber).await;
        let gap = next(&mut subscriber).await;
        let SubscriberEvent::Gap(GapReason::Overflowed { messages: 90 }) = gap else {
            panic!("{gap:?}");
        };
        for number in 90..100 {
            assert_eq!(message(&mut subscriber).await.2, number.to_string());
        }
    });
}

#[test]
fn the_newest_messages_are_dropped() {
    let server = need!(RedisServer::start(Options::default()));
    on_all_lanes(async |lanes| {
        let config = SubscriberConfig::from(config(server.addr()))
            .queue(10)
            .overflow(Overflow::DropNewest);
        let mut subscriber = Subscriber::new(config, lanes).unwrap();
        subscriber.subscribe(["c"]).await.unwrap();
        publish(&server, 100);
        all_arrived(&subscriber).await;
        for number in 0..10 {
            assert_eq!(message(&mut subscriber).await.2, number.to_string());
        }
        let gap = next(&mut subscriber).await;
        let SubscriberEvent::Gap(GapReason::Overflowed { messages: 90 }) = gap else {
            panic!("{gap:?}");
        };
    });
}

#[test]
fn the_connection_is_closed_where_nothing_may_be_missed() {
    let server = need!(RedisServer::start(Options::default()));
    on_all_lanes(async |lanes| {
        let config = SubscriberConfig::from(config(server.addr()))
            .queue(10)
            .overflow(Overflow::Disconnect);
        let mut subscriber = Subscriber::new(config, lanes).unwrap();
        subscriber.subscribe(["c"]).await.unwrap();
        publish(&server, 100);
        until("it is closed", || server.client_list().is_empty()).await;
        for number in 0..10 {
            assert_eq!(message(&mut subscriber).await.2, number.to_string());
        }
        let gap = next(&mut subscriber).await;
        assert!(matches!(
            gap,
            SubscriberEvent::Gap(GapReason::Overflowed { .. })
        ));
        assert!(subscriber.recv().await.is_none());
        let asked = subscriber.subscribe(["d"]).await;
        assert!(asked.unwrap_err().is_closed());
    });
}
