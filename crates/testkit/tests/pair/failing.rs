//! The connection breaks, at every step in turn, and peers that break the rules.

use arknet_proto::endpoint::Event;
use arknet_proto::engine::StreamEngine;
use arknet_proto::framing::{Framing, FramingError};
use arknet_proto::session::{Cause, Config};
use arknet_testkit::pair::{Chunks, Conditions, Who};

use super::{Connection, Told, close_when_ended, echo, messages, opened, opened_with};

const FAULT: Told = Event::Closed {
    cause: Cause::Fault,
    forced: false,
};

/// Sends of the stories below, with their lengths; one of them leaves nothing on the wire but a prefix.
const LENGTHS: [usize; 6] = [3, 0, 1, 17, 300, 5];

fn send_all(pair: &mut Connection) -> u64 {
    let mut wire = 0;
    for (token, length) in (0..).zip(LENGTHS) {
        pair.a.engine.send(vec![7; length], Some(token)).unwrap();
        wire += length + if length < 254 { 1 } else { 3 };
    }
    wire as u64
}

/// Every send is told of once and in order, whole or not; `Closed` is last and comes once.
fn assert_all_told_once(events: &[Told], sends: u32) {
    let tokens = events.iter().filter_map(|event| match event {
        Event::Completed { token, .. } | Event::Abandoned { token } => Some(*token),
        _ => None,
    });
    assert!(tokens.eq(0..sends), "{events:?}");
    let closed = |event: &Told| matches!(event, Event::Closed { .. });
    assert_eq!(events.iter().filter(|event| closed(event)).count(), 1);
    assert!(events.last().is_some_and(closed), "{events:?}");
}

#[test]
fn every_send_is_told_of_once_wherever_the_connection_breaks() {
    let conditions = [
        (Chunks::Whole, 64 * 1024),
        (Chunks::Byte, 64 * 1024),
        // Few bytes on their way, so that most of the queue waits when the break comes.
        (Chunks::Whole, 1),
        (Chunks::Random(9), 20),
    ];
    for (chunks, capacity) in conditions {
        let mut position = 0;
        loop {
            let mut pair = opened(Config::default());
            pair.set_conditions(Conditions {
                chunks,
                capacity,
                ..Conditions::default()
            });
            pair.b.on_event(echo);
            let wire = send_all(&mut pair);
            pair.conditions_from(Who::A).cut_after = Some(position);
            pair.drive();
            let events = pair.a.take_events();
            assert_all_told_once(&events, 6);
            assert_eq!(events.last(), Some(&FAULT));
            assert_eq!(pair.b.events().last(), Some(&FAULT));
            // What the peer was told of is a beginning of what was sent.
            let arrived = messages(pair.b.events());
            let lengths: Vec<_> = arrived.iter().map(|message| message.len()).collect();
            assert!(LENGTHS.starts_with(&lengths), "{lengths:?}");
            assert_eq!(arrived.len() == LENGTHS.len(), position == wire);
            if position == wire {
                break;
            }
            position += 1;
        }
    }
}

#[test]
fn every_send_is_told_of_once_wherever_the_connection_breaks_while_it_closes() {
    for position in 0.. {
        let mut pair = opened(Config::default());
        pair.set_conditions(Conditions {
            chunks: Chunks::Random(50),
            capacity: 10,
            ..Conditions::default()
        });
        pair.b.on_event(close_when_ended);
        let wire = send_all(&mut pair);
        pair.a.engine.close(pair.now());
        pair.conditions_from(Who::A).cut_after = Some(position);
        pair.drive();
        let events = pair.a.take_events();
        assert_all_told_once(&events, 6);
        if position == wire {
            // Everything had been sent: the rude end is an end.
            let ended = Event::Closed {
                cause: Cause::Local,
                forced: false,
            };
            assert_eq!(events.last(), Some(&ended));
            break;
        }
    }
}

#[test]
fn what_was_sent_first_is_abandoned_first() {
    let mut pair = opened(Config::default());
    pair.conditions_from(Who::A).capacity = 6;
    send_all(&mut pair);
    pair.conditions_from(Who::A).stalled = true;
    pair.drive();
    pair.cut();
    pair.drive();
    let told: Vec<_> = (0..2)
        .zip(LENGTHS)
        .map(|(token, bytes)| Event::Completed { token, bytes })
        .chain((2..6).map(|token| Event::Abandoned { token }))
        .chain([FAULT])
        .collect();
    assert_eq!(pair.a.take_events(), told);
}

#[test]
fn an_end_inside_of_a_message_is_an_error() {
    let total: u64 = 4 + 301 + 2;
    // Where a message ends, the stream may end too.
    let whole = [0, 4, 305];
    for position in 0..total {
        let mut pair = opened(Config::default());
        pair.b.on_event(close_when_ended);
        pair.conditions_from(Who::A).end_after = Some(position);
        pair.a.engine.send("abc", None).unwrap();
        pair.a.engine.send(vec![0; 298], None).unwrap();
        pair.a.engine.send("d", None).unwrap();
        pair.drive();
        let events = pair.b.take_events();
        if whole.contains(&position) {
            assert!(events.contains(&Event::Ended), "{position}: {events:?}");
            assert_eq!(pair.b.engine.error(), None);
        } else {
            assert_eq!(events.last(), Some(&FAULT));
            assert!(!events.contains(&Event::Ended));
            let error = pair.b.engine.error();
            assert!(
                matches!(error, Some(FramingError::UnexpectedEnd { .. })),
                "{position}: {error:?}"
            );
        }
        let arrived = [4, 305].iter().filter(|end| **end <= position).count();
        assert_eq!(messages(&events).len(), arrived);
    }
}

#[test]
fn a_broken_framing_closes_with_the_rule_after_what_came_before_it() {
    let rules = [
        (
            Framing::LengthPrefix,
            &b"\x02hi\xfe\x03\x00"[..],
            "length prefix 254 used for 3 bytes, which fit one byte",
        ),
        (
            Framing::LengthPrefix,
            b"\x02hi\xff\x00\x00\x00\x01\x00\x00\x00\x00",
            "message of 16,777,225 bytes, prefix included, exceeds the limit of 65,536 bytes",
        ),
        (
            Framing::big_endian(2, 100).unwrap(),
            b"\x00\x02hi\x00\x65",
            "payload of 101 bytes exceeds the 100 bytes that the framing allows",
        ),
    ];
    for (framing, bytes, rule) in rules {
        let mut pair = opened_with(&framing, Config::default(), 1);
        let now = pair.now();
        pair.b.engine.send("waits", Some(1)).unwrap();
        pair.b.engine.handle_input(now, bytes);
        pair.conditions_from(Who::B).capacity = 0;
        pair.drive();
        assert_eq!(
            pair.b.take_events(),
            [
                Event::Message("hi".into()),
                Event::Abandoned { token: 1 },
                FAULT
            ]
        );
        assert_eq!(pair.b.engine.error().unwrap().to_string(), rule);
        assert_eq!(pair.a.take_events(), [FAULT], "a reset");
        // Nothing follows.
        pair.b.engine.handle_input(now, bytes);
        pair.b.engine.handle_end(now);
        pair.b.engine.abort();
        pair.drive();
        assert_eq!(pair.b.take_events(), []);
    }
}

#[test]
fn an_unfinished_message_is_held_up_to_the_limit_and_no_further() {
    let mut pair = opened_with(&Framing::delimited("\n").unwrap(), Config::default(), 1);
    let now = pair.now();
    for _ in 0..super::LIMIT - 1 {
        pair.b.engine.handle_input(now, b"x");
        assert_eq!(pair.b.engine.poll_event(), None);
    }
    pair.b.engine.handle_input(now, b"x");
    pair.drive();
    assert_eq!(pair.b.take_events(), [FAULT]);
    let rule = FramingError::DelimiterMissing {
        limit: super::LIMIT,
    };
    assert_eq!(pair.b.engine.error(), Some(&rule));
}
