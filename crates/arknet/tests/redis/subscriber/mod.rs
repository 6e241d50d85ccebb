//! Publish and subscribe.

mod bounds;
mod callbacks;
mod ends;
mod gaps;
mod works;

use std::time::Duration;

use arknet::redis::{Subscriber, SubscriberEvent};

use crate::support::PATIENCE;

/// The next event, within the patience of a test.
async fn next(subscriber: &mut Subscriber) -> SubscriberEvent {
    let received = tokio::time::timeout(PATIENCE, subscriber.recv()).await;
    received
        .expect("an event is missing")
        .expect("it has ended")
}

/// The next event, which is a message: where, by which pattern, and what.
async fn message(subscriber: &mut Subscriber) -> (String, Option<String>, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    match next(subscriber).await {
        SubscriberEvent::Message {
            channel,
            pattern,
            payload,
        } => (text(&channel), pattern.as_deref().map(text), text(&payload)),
        other => panic!("{other:?}"),
    }
}

/// Nothing comes for a while.
async fn silence(subscriber: &mut Subscriber) {
    let received = tokio::time::timeout(Duration::from_millis(50), subscriber.recv()).await;
    assert!(received.is_err(), "{received:?}");
}
