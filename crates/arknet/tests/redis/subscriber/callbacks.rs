//! Events that are given to a function.

use arknet::redis::{Subscriber, SubscriberEvent};
use arknet_testkit::need;
use arknet_testkit::servers::redis::{Options, RedisServer};

use crate::support::{PATIENCE, config, on_all_lanes, until};

#[test]
fn a_function_gets_every_event_and_may_panic() {
    let server = need!(RedisServer::start(Options::default()));
    on_all_lanes(async |lanes| {
        let (sender, mut events) = tokio::sync::mpsc::unbounded_channel();
        let handle = Subscriber::with(config(server.addr()), lanes, move |event| {
            let SubscriberEvent::Message { payload, .. } = event else {
                return;
            };
            assert_ne!(&payload[..], b"bad", "on purpose");
            sender.send(payload).unwrap();
        })
        .unwrap();
        handle.subscribe(["c"]).await.unwrap();
        for payload in ["1", "bad", "2"] {
            server.cli(&["PUBLISH", "c", payload]);
        }
        assert_eq!(events.recv().await.unwrap(), "1");
        assert_eq!(events.recv().await.unwrap(), "2");
        assert!(handle.is_connected());
        assert!(handle.close(PATIENCE).await.finished);
        assert!(events.recv().await.is_none());
    });
}

#[test]
fn the_last_handle_closes_the_connection() {
    let server = need!(RedisServer::start(Options::default()));
    on_all_lanes(async |lanes| {
        let handle = Subscriber::with(config(server.addr()), lanes, |_| ()).unwrap();
        let clone = handle.clone();
        drop(handle);
        clone.subscribe(["c"]).await.unwrap();
        assert_eq!(server.client_list().len(), 1);
        drop(clone);
        until("it is closed", || server.client_list().is_empty()).await;
    });
}
