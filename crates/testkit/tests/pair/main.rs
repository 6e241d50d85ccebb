//! Stories of a connection, told by two engines on a virtual link.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod closing;
mod deadlines;
mod failing;
mod harness;
mod reconnecting;
mod sending;

use std::time::Duration;

use arknet_proto::endpoint::{Endpoint, Event};
use arknet_proto::framing::{Decoder, Framing};
use arknet_proto::session::Config;
use arknet_testkit::VirtualClock;
use arknet_testkit::pair::Pair;
use bytes::Bytes;

type Engine = Endpoint<u32>;
type Told = Event<u32>;
type Connection = Pair<Engine, Engine>;

const SECOND: Duration = Duration::from_secs(1);
const MILLISECOND: Duration = Duration::from_millis(1);
/// No message of these stories is larger.
const LIMIT: usize = 64 * 1024;

/// Two engines that are not open yet.
fn connecting(framing: &Framing, config: Config, seed: u64) -> Connection {
    let clock = VirtualClock::new();
    let decoder = Decoder::new(framing.clone(), LIMIT).unwrap();
    let engine = || Endpoint::new(config, decoder.clone(), clock.now());
    let (a, b) = (engine(), engine());
    Pair::new(clock, seed, a, b)
}

/// Two engines with length prefixes that have both told that they are open.
fn opened(config: Config) -> Connection {
    opened_with(&Framing::LengthPrefix, config, 1)
}

fn opened_with(framing: &Framing, config: Config, seed: u64) -> Connection {
    let mut pair = connecting(framing, config, seed);
    let now = pair.now();
    pair.a.engine.handle_opened(now);
    pair.b.engine.handle_opened(now);
    pair.drive();
    assert_eq!(pair.a.take_events(), [Event::Opened]);
    assert_eq!(pair.b.take_events(), [Event::Opened]);
    pair
}

/// Sends every message back, and answers the end with its own.
fn echo(engine: &mut Engine, event: &Told, now: std::time::Instant) {
    match event {
        Event::Message(message) => engine.send(message.clone(), None).unwrap(),
        Event::Ended => engine.close(now),
        _ => {}
    }
}

/// Answers the peer's end with its own, and nothing else.
fn close_when_ended(engine: &mut Engine, event: &Told, now: std::time::Instant) {
    if *event == Event::Ended {
        engine.close(now);
    }
}

fn messages(events: &[Told]) -> Vec<Bytes> {
    let message = |event: &Told| match event {
        Event::Message(message) => Some(message.clone()),
        _ => None,
    };
    events.iter().filter_map(message).collect()
}
