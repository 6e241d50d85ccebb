//! Numbers that are published, and a subscriber who hears them in order, each at most once, and is told where some may be
//! missing.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use arknet::Lanes;
use arknet::redis::commands::pubsub;
use arknet::redis::{Subscriber, SubscriberConfig, SubscriberEvent};

use super::tally::{Executed, Numbers};
use super::world::{World, lock};
use crate::support::PATIENCE;

const CHANNELS: u64 = 4;

/// What publisher and subscriber know.
#[derive(Default)]
pub(super) struct Heard {
    /// The server has handed them to somebody.
    sent: Numbers,
    perhaps: BTreeSet<u64>,
    heard: Numbers,
    last: u64,
    /// Whether some may be missing now.
    gap: bool,
    gaps: u64,
    /// What was not heard, without a gap that says so.
    missing: Vec<Range<u64>>,
    /// What came behind a later one.
    late: Vec<u64>,
}

impl Heard {
    pub(super) fn check(&self) {
        for number in self.missing.iter().cloned().flatten() {
            assert!(
                !self.sent.contains(number),
                "{number} is missing without a gap"
            );
        }
        // Only what was under way on a connection that was given up can be carried out behind later ones.
        for number in &self.late {
            assert!(self.perhaps.contains(number), "{number} came too late");
        }
        assert!(self.heard.iter().next().is_some(), "nothing was heard");
    }

    fn hear(&mut self, number: u64) {
        assert!(self.heard.insert(number), "{number} was heard twice");
        if number < self.last {
            self.late.push(number);
            return;
        }
        if !self.gap && number > self.last + 1 {
            self.missing.push(self.last + 1..number);
        }
        (self.last, self.gap) = (number, false);
    }
}

pub(super) async fn publish(world: Arc<World>) {
    let mut number = 0;
    while world.runs() {
        number += 1;
        let channel = format!("channel:{}", number % CHANNELS);
        let published = world.client.run(pubsub::publish(channel, number)).await;
        let mut executed = Executed::default();
        let receivers = world.tally.note(Some(published), &mut executed);
        let mut heard = lock(&world.heard);
        if receivers.is_some_and(|receivers| receivers > 0) {
            heard.sent.insert(number);
        }
        if executed.perhaps == 1 {
            heard.perhaps.insert(number);
        }
    }
}

/// Listens until the end, and is subscribed to everything then.
pub(super) async fn listen(world: Arc<World>, lanes: Lanes) {
    // A server that says nothing is found out between two faults.
    let config = SubscriberConfig::from(world.config.clone());
    let config = config.ping_interval(Duration::from_millis(100));
    let mut subscriber = Subscriber::new(config, &lanes).unwrap();
    lock(&world.heard).gap = true;
    let channels = || (0..CHANNELS).map(|number| format!("channel:{number}"));
    while let Err(error) = subscriber.subscribe(channels()).await {
        assert!(error.is_timeout(), "{error}");
    }
    while world.runs() {
        let next = tokio::time::timeout(Duration::from_millis(100), subscriber.recv());
        let Ok(event) = next.await else { continue };
        match event.expect("the subscriber has ended") {
            SubscriberEvent::Message {
                channel, payload, ..
            } => {
                let number = std::str::from_utf8(&payload).unwrap().parse().unwrap();
                assert_eq!(channel, format!("channel:{}", number % CHANNELS));
                lock(&world.heard).hear(number);
            }
            SubscriberEvent::Gap(_) => {
                let mut heard = lock(&world.heard);
                heard.gap = true;
                heard.gaps += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    let report = subscriber.close(PATIENCE).await;
    assert!(report.finished, "{report:?}");
}
