//! Time: what is late, what is not, and that nothing is early.

use std::time::Duration;

use arknet_proto::endpoint::Event;
use arknet_proto::engine::StreamEngine;
use arknet_proto::framing::Framing;
use arknet_proto::session::{Cause, Config, State};
use proptest::prelude::*;

use super::{MILLISECOND, SECOND, connecting, opened};

const SILENT: Event<u32> = Event::Closed {
    cause: Cause::Silence,
    forced: false,
};

#[test]
fn what_is_not_connected_in_time_is_given_up() {
    let config = Config {
        connect: 3 * SECOND,
        ..Config::default()
    };
    let mut pair = connecting(&Framing::Raw, config, 1);
    pair.b.engine.handle_opened(pair.now());
    pair.drive_for(3 * SECOND - Duration::from_nanos(1));
    assert_eq!(pair.a.take_events(), []);
    pair.drive_for(Duration::from_nanos(1));
    let timeout = Event::Closed {
        cause: Cause::ConnectTimeout,
        forced: false,
    };
    assert_eq!(pair.a.take_events(), [timeout]);
    // Too late.
    pair.a.engine.handle_opened(pair.now());
    pair.drive();
    assert_eq!(pair.a.take_events(), []);
    assert_eq!(pair.a.engine.state(), State::Closed);
}

#[test]
fn an_opened_connection_has_no_connect_deadline() {
    let config = Config {
        connect: 3 * SECOND,
        silence: None,
        ..Config::default()
    };
    let mut pair = opened(config);
    assert_eq!(pair.next_moment(), None);
    pair.drive_for(10_000 * SECOND);
    assert_eq!(pair.a.engine.state(), State::Open);
}

#[test]
fn one_silent_hour_closes_by_default() {
    let mut pair = opened(Config::default());
    let began = pair.now();
    pair.drive_until(5_000 * SECOND, |pair| !pair.a.events().is_empty());
    assert_eq!(pair.a.take_events(), [SILENT]);
    assert_eq!(pair.now() - began, 3_600 * SECOND);
}

#[test]
fn a_byte_of_an_unfinished_message_breaks_the_silence() {
    let config = Config {
        silence: Some(SECOND),
        ..Config::default()
    };
    let mut pair = opened(config);
    pair.b.engine.set_silence(None, pair.now());
    // A message of 20 bytes that takes longer than the timeout, a byte at a time.
    let mut bytes = vec![20];
    bytes.resize(21, 7);
    for byte in bytes {
        pair.drive_for(900 * MILLISECOND);
        let now = pair.now();
        pair.a.engine.handle_input(now, &[byte]);
    }
    pair.drive();
    assert_eq!(pair.a.take_events(), [Event::Message(vec![7; 20].into())]);
    pair.drive_for(1_125 * MILLISECOND);
    assert_eq!(pair.a.take_events(), [SILENT]);
}

#[test]
fn sending_is_not_hearing() {
    let config = Config {
        silence: Some(SECOND),
        ..Config::default()
    };
    let mut pair = opened(config);
    pair.b.engine.set_silence(None, pair.now());
    for _ in 0..8 {
        pair.a.engine.send("hello?", None).unwrap();
        pair.drive_for(SECOND / 8);
    }
    assert_eq!(pair.a.take_events(), [SILENT]);
}

#[test]
fn the_silence_timeout_can_be_changed_and_turned_off_and_counts_from_then() {
    let config = Config {
        silence: Some(SECOND),
        ..Config::default()
    };
    let mut pair = opened(config);
    pair.b.engine.set_silence(None, pair.now());
    pair.drive_for(900 * MILLISECOND);
    pair.a.engine.set_silence(Some(2 * SECOND), pair.now());
    pair.drive_for(1_900 * MILLISECOND);
    pair.a.engine.set_silence(None, pair.now());
    pair.drive_for(10_000 * SECOND);
    assert_eq!(pair.a.take_events(), []);
    pair.a.engine.set_silence(Some(SECOND), pair.now());
    pair.drive_for(SECOND);
    assert_eq!(pair.a.take_events(), [SILENT]);
}

#[test]
fn a_closing_connection_knows_no_silence() {
    let config = Config {
        silence: Some(SECOND),
        close: 60 * SECOND,
        ..Config::default()
    };
    let mut pair = opened(config);
    pair.a.engine.close(pair.now());
    pair.a.engine.set_silence(Some(SECOND), pair.now());
    pair.b.engine.set_silence(None, pair.now());
    pair.drive_for(59 * SECOND);
    assert_eq!(pair.a.engine.state(), State::Draining);
}

proptest! {
    /// Whatever the timeout, and whenever the last byte came: between 1 and 9/8 of it. The clock is not
    /// looked at more often than every millisecond, so a shorter timeout, and a shorter eighth, count as
    /// one.
    #[test]
    fn silence_closes_between_one_and_nine_eighths_of_the_timeout(
        limit in prop_oneof![1..20_000_u64, 1_000_000..4_000_000_000_u64],
        gaps in prop::collection::vec(0..1_000_u64, 0..6),
    ) {
        let limit = Duration::from_nanos(limit);
        let config = Config { silence: Some(limit), ..Config::default() };
        let mut pair = opened(config);
        pair.b.engine.set_silence(None, pair.now());
        let mut last = pair.now();
        for gap in gaps {
            // Up to the whole timeout, and never over it.
            let gap = limit.mul_f64(gap as f64 / 1_001.0);
            pair.drive_for(gap);
            prop_assert_eq!(pair.a.take_events(), []);
            last = pair.now();
            pair.a.engine.handle_input(last, &[200]);
        }
        let latest = limit.max(MILLISECOND) + (limit / 8).max(MILLISECOND);
        pair.drive_until(latest, |pair| pair.a.engine.state() == State::Closed);
        prop_assert_eq!(pair.a.take_events(), [SILENT]);
        let silent = pair.now() - last;
        prop_assert!(limit <= silent && silent <= latest, "{:?} of {:?}", silent, limit);
    }

    /// A clock that is told too often changes nothing: what is due at an instant happens then.
    #[test]
    fn no_deadline_is_early_however_often_the_clock_is_told(
        connect in 1..5_000_u64,
        silence in 1..5_000_u64,
        close in 1..5_000_u64,
        ticks in prop::collection::vec(0..1_000_u64, 1..100),
    ) {
        let config = Config {
            connect: Duration::from_micros(connect),
            silence: Some(Duration::from_micros(silence)),
            close: Duration::from_micros(close),
            ..Config::default()
        };
        for life in [State::Connecting, State::Open, State::Draining] {
            let pair = connecting(&Framing::Raw, config, 1);
            let (start, mut engine) = (pair.now(), pair.a.engine);
            let (limit, cause) = match life {
                State::Connecting => (config.connect, Cause::ConnectTimeout),
                State::Open => (config.silence.unwrap(), Cause::Silence),
                _ => (config.close, Cause::Local),
            };
            if life != State::Connecting {
                engine.handle_opened(start);
                prop_assert_eq!(engine.poll_event(), Some(Event::Opened));
            }
            if life == State::Draining {
                engine.close(start);
            }
            let mut now = start;
            for tick in &ticks {
                now += Duration::from_micros(*tick);
                engine.handle_timeout(now);
                match engine.poll_event() {
                    None => prop_assert!(
                        now - start < limit || engine.next_deadline().unwrap() > now
                    ),
                    Some(Event::Closed { cause: told, .. }) => {
                        prop_assert_eq!(told, cause);
                        prop_assert!(now - start >= limit, "early");
                        break;
                    }
                    other => prop_assert!(false, "{:?}", other),
                }
            }
        }
    }
}
