//! What may be missing is said, and nothing is missing after that.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use arknet::redis::{GapReason, Subscriber, SubscriberConfig, SubscriberEvent};
use arknet_testkit::need;
use arknet_testkit::proxy::{Direction, FaultProxy, Plan};
use arknet_testkit::servers::redis::{Options, RedisServer};

use super::next;
use crate::support::{PATIENCE, config, on_a_lane, on_all_lanes};

/// Publishes numbers to channels in turn until it is dropped.
struct Publisher {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Publisher {
    fn start(server: &Arc<RedisServer>, channels: u64) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (server, stopped) = (server.clone(), stop.clone());
        let thread = thread::spawn(move || {
            let mut number = 0_u64;
            while !stopped.load(Ordering::Relaxed) {
                number += 1;
                let channel = format!("c{}", number % channels);
                server.cli(&["PUBLISH", &channel, &number.to_string()]);
            }
        });
        Self {
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn number(payload: &[u8]) -> u64 {
    std::str::from_utf8(payload).unwrap().parse().unwrap()
}

/// So many messages, each one more than the one before.
async fn consecutive(subscriber: &mut Subscriber, count: u64, mut last: Option<u64>) -> u64 {
    for _ in 0..count {
        let SubscriberEvent::Message { payload, .. } = next(subscriber).await else {
            panic!("a gap where nothing was lost");
        };
        let number = number(&payload);
        assert!(
            last.is_none_or(|last| number == last + 1),
            "{last:?} {number}"
        );
        last = Some(number);
    }
    last.unwrap()
}

#[test]
fn after_a_gap_every_message_comes_once_and_in_order() {
    let server = Arc::new(need!(RedisServer::start(Options::default())));
    on_all_lanes(async |lanes| {
        let mut subscriber = Subscriber::new(config(server.addr()), lanes).unwrap();
        let channels = (0..200).map(|number| format!("c{number}"));
        subscriber.subscribe(channels).await.unwrap();
        let patterns = (0..10).map(|number| format!("p{number}*"));
        subscriber.psubscribe(patterns).await.unwrap();
        let publisher = Publisher::start(&server, 200);
        let mut last = consecutive(&mut subscriber, 200, None).await;
        for _ in 0..5 {
            let killed = Instant::now();
            server.kill_clients();
            // What was sent before the loss still comes, whole and in order; then the gap.
            let since = loop {
                match next(&mut subscriber).await {
                    SubscriberEvent::Message { payload, .. } => {
                        assert_eq!(number(&payload), last + 1);
                        last += 1;
                    }
                    SubscriberEvent::Gap(GapReason::Disconnected { since }) => break since,
                    other => panic!("{other:?}"),
                }
            };
            assert!(since < killed + PATIENCE);
            assert_eq!(subscriber.subscriptions(), 210);
            let first = consecutive(&mut subscriber, 1, None).await;
            assert!(first > last);
            last = consecutive(&mut subscriber, 300, Some(first)).await;
        }
        drop(publisher);
    });
}

#[test]
fn a_server_that_restarts_is_subscribed_to_again() {
    let server = Arc::new(need!(RedisServer::start(Options::default())));
    on_a_lane(async |lanes| {
        let mut subscriber = Subscriber::new(config(server.addr()), lanes).unwrap();
        subscriber.subscribe(["c0"]).await.unwrap();
        server.restart();
        let gap = next(&mut subscriber).await;
        assert!(matches!(
            gap,
            SubscriberEvent::Gap(GapReason::Disconnected { .. })
        ));
        server.cli(&["PUBLISH", "c0", "1"]);
        consecutive(&mut subscriber, 1, Some(0)).await;
    });
}

#[test]
fn what_is_asked_while_there_is_no_connection_is_done_when_there_is_one() {
    let server = need!(RedisServer::start(Options::default()));
    let proxy = FaultProxy::start(server.addr()).unwrap();
    on_a_lane(async |lanes| {
        proxy.refuse();
        let subscriber = Subscriber::new(config(proxy.addr()), lanes).unwrap();
        let asked = futures_util::future::join3(
            subscriber.subscribe(["a"]),
            subscriber.subscribe(["b"]),
            async {
                // Both are waiting by now.
                tokio::task::yield_now().await;
                proxy.accept_again();
            },
        );
        let (one, two, ()) = asked.await;
        one.unwrap();
        two.unwrap();
        assert_eq!(server.cli(&["PUBLISH", "b", "x"]).integer(), 1);
    });
}

#[test]
fn a_connection_on_which_nothing_is_heard_is_asked_and_replaced() {
    let server = need!(RedisServer::start(Options::default()));
    let proxy = FaultProxy::start(server.addr()).unwrap();
    on_a_lane(async |lanes| {
        let config = config(proxy.addr()).request_timeout(Some(Duration::from_millis(200)));
        let config = SubscriberConfig::from(config).ping_interval(Duration::from_millis(50));
        let mut subscriber = Subscriber::new(config, lanes).unwrap();
        subscriber.subscribe(["c"]).await.unwrap();
        // Silence with answers is no reason.
        tokio::time::sleep(Duration::from_millis(400)).await;
        assert_eq!(proxy.counters().accepted, 1);
        proxy.set_nth(0, Direction::ToClient, Plan::black_hole());
        let gap = next(&mut subscriber).await;
        assert!(matches!(
            gap,
            SubscriberEvent::Gap(GapReason::Disconnected { .. })
        ));
        server.cli(&["PUBLISH", "c", "x"]);
        assert!(matches!(
            next(&mut subscriber).await,
            SubscriberEvent::Message { .. }
        ));
    });
}
