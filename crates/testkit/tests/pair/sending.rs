//! Messages on their way: order, limits, completions.

use arknet_proto::buf::SendLimits;
use arknet_proto::endpoint::{Event, SendError};
use arknet_proto::framing::{Framing, FramingError};
use arknet_proto::session::{Config, Refusal};
use arknet_testkit::pair::{Chunks, Conditions, Who};
use bytes::Bytes;

use super::{
    LIMIT, MILLISECOND, close_when_ended, connecting, echo, messages, opened, opened_with,
};

const CHUNKS: [Chunks; 5] = [
    Chunks::Whole,
    Chunks::Byte,
    Chunks::Fixed(3),
    Chunks::Random(5),
    Chunks::Random(700),
];

/// Messages that every framing below can carry, as it delivers them.
fn of(framing: &Framing) -> Vec<Bytes> {
    match framing {
        Framing::Delimited(_) => ["\r\n", "one\r\n", "\r\r\n", "a\nb\r\n"]
            .map(Bytes::from)
            .into(),
        Framing::Exact(length) => (0..9).map(|byte| vec![byte; length.get()].into()).collect(),
        _ => [0, 1, 253, 254, 255, 0, 700, 3_000]
            .map(|length| (0..length).map(|at| at as u8).collect())
            .into(),
    }
}

#[test]
fn messages_arrive_in_order_however_the_link_cuts_them() {
    let framings = [
        Framing::LengthPrefix,
        Framing::big_endian(2, LIMIT).unwrap(),
        Framing::big_endian(4, LIMIT).unwrap(),
        Framing::delimited("\r\n").unwrap(),
        Framing::exact(13).unwrap(),
    ];
    for framing in framings {
        for chunks in CHUNKS {
            let mut pair = opened_with(&framing, Config::default(), 3);
            pair.set_conditions(Conditions {
                latency: MILLISECOND,
                chunks,
                capacity: 1_000,
                ..Conditions::default()
            });
            pair.b.on_event(echo);
            let sent = of(&framing);
            for message in &sent {
                pair.a.engine.send(message.clone(), None).unwrap();
            }
            pair.drive();
            assert_eq!(messages(pair.b.events()), sent, "{framing:?} {chunks:?}");
            assert_eq!(messages(pair.a.events()), sent, "{framing:?} {chunks:?}");
        }
    }
}

#[test]
fn raw_bytes_arrive_in_order_and_never_as_nothing() {
    for chunks in CHUNKS {
        let mut pair = opened_with(&Framing::Raw, Config::default(), 3);
        pair.set_conditions(Conditions {
            chunks,
            ..Conditions::default()
        });
        let sent = of(&Framing::Raw);
        for (token, message) in sent.iter().enumerate() {
            let token = u32::try_from(token).unwrap();
            pair.a.engine.send(message.clone(), Some(token)).unwrap();
        }
        pair.drive();
        let received = messages(pair.b.events());
        assert!(received.iter().all(|piece| !piece.is_empty()));
        assert_eq!(received.concat(), sent.concat());
        // Empty ones too, which leave no trace on the wire.
        let completed = pair.a.take_events();
        let expected: Vec<_> = (0..)
            .zip(&sent)
            .map(|(token, message)| Event::Completed {
                token,
                bytes: message.len(),
            })
            .collect();
        assert_eq!(completed, expected);
    }
}

#[test]
fn a_message_of_nothing_alone_completes_and_does_not_hold_the_close() {
    let mut pair = opened_with(&Framing::Raw, Config::default(), 1);
    pair.b.on_event(close_when_ended);
    pair.a.engine.send("", Some(1)).unwrap();
    pair.a.engine.close(pair.now());
    pair.drive();
    let events = pair.a.take_events();
    assert_eq!(
        events.first(),
        Some(&Event::Completed { token: 1, bytes: 0 })
    );
    assert!(matches!(
        events.last(),
        Some(Event::Closed { forced: false, .. })
    ));
}

#[test]
fn a_send_is_refused_unless_the_connection_is_open() {
    let not_connected = Err(SendError::Refused(Refusal::NotConnected));
    let mut pair = connecting(&Framing::LengthPrefix, Config::default(), 1);
    assert_eq!(pair.a.engine.send("early", Some(1)), not_connected);
    pair.a.engine.handle_opened(pair.now());
    pair.b.engine.handle_opened(pair.now());
    assert_eq!(pair.a.engine.send("now", Some(2)), Ok(()));
    pair.a.engine.close(pair.now());
    assert_eq!(pair.a.engine.send("closing", Some(3)), not_connected);
    pair.b.on_event(close_when_ended);
    pair.drive();
    assert_eq!(pair.a.engine.send("closed", Some(4)), not_connected);
    // What was refused is not heard of again.
    let events = pair.a.take_events();
    assert_eq!(events.len(), 3, "{events:?}");
    assert_eq!(
        events.get(1),
        Some(&Event::Completed { token: 2, bytes: 3 })
    );
    assert_eq!(messages(pair.b.events()), ["now"]);
}

#[test]
fn what_the_framing_cannot_carry_is_refused_first_and_harms_nothing() {
    let framing = Framing::big_endian(1, 100).unwrap();
    let mut pair = connecting(&framing, Config::default(), 1);
    let refused = pair.a.engine.send(vec![0; 101], None).unwrap_err();
    let rule = FramingError::PayloadTooLarge { len: 101, max: 100 };
    assert_eq!(refused, SendError::Framing(rule));
    assert_eq!(
        refused.to_string(),
        "send a message: payload of 101 bytes exceeds the 100 bytes that the framing allows"
    );
    pair.a.engine.handle_opened(pair.now());
    pair.b.engine.handle_opened(pair.now());
    pair.a.engine.send(vec![0; 100], None).unwrap();
    pair.drive();
    assert_eq!(messages(pair.b.events()).len(), 1);
}

#[test]
fn a_full_queue_refuses_and_tells_when_half_of_it_is_free() {
    let limits = SendLimits {
        bytes: 100,
        operations: 1_000,
    };
    let mut pair = opened(Config {
        send: limits,
        ..Config::default()
    });
    pair.conditions_from(Who::A).capacity = 0;
    for _ in 0..10 {
        pair.a.engine.send(vec![0; 10], None).unwrap();
    }
    let refused = pair.a.engine.send("x", None).unwrap_err();
    let SendError::Refused(Refusal::Full(full)) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(
        (full.bytes, full.operations, full.limits),
        (100, 10, limits)
    );
    // Four leave: 60 bytes wait.
    pair.conditions_from(Who::A).capacity = 44;
    pair.conditions_from(Who::A).stalled = true;
    pair.drive();
    assert_eq!(pair.a.take_events(), []);
    // One more leaves: 50 wait, and it is told once.
    pair.conditions_from(Who::A).capacity = 55;
    pair.drive();
    assert_eq!(pair.a.take_events(), [Event::Writable]);
    pair.conditions_from(Who::A).stalled = false;
    pair.drive();
    assert_eq!(pair.a.take_events(), []);
    assert_eq!(messages(pair.b.events()).len(), 10);
}

#[test]
fn the_number_of_waiting_messages_is_limited_too() {
    let limits = SendLimits {
        bytes: 1_000,
        operations: 4,
    };
    let mut pair = opened(Config {
        send: limits,
        ..Config::default()
    });
    for _ in 0..4 {
        pair.a.engine.send("", None).unwrap();
    }
    assert!(pair.a.engine.send("", None).is_err());
    pair.drive();
    assert_eq!(pair.a.take_events(), [Event::Writable]);
    assert_eq!(messages(pair.b.events()), [""; 4]);
    // Too large for the whole queue: refused, and there is no use in waiting.
    assert!(pair.a.engine.send(vec![0; 1_001], None).is_err());
}

#[test]
fn a_stalled_link_holds_its_capacity_and_the_rest_waits_with_the_sender() {
    let mut pair = opened(Config::default());
    let link = pair.conditions_from(Who::A);
    (link.stalled, link.capacity) = (true, 1_000);
    for token in 0..10 {
        pair.a.engine.send(vec![0; 252], Some(token)).unwrap();
    }
    pair.drive();
    assert_eq!(pair.in_flight(Who::A), 1_000);
    assert_eq!(pair.a.engine.queue().wire_bytes(), 10 * 253 - 1_000);
    assert_eq!(pair.a.take_events().len(), 3);
    pair.conditions_from(Who::A).stalled = false;
    pair.drive();
    assert_eq!(pair.a.take_events().len(), 7);
    assert_eq!(messages(pair.b.events()).len(), 10);
    assert_eq!(pair.delivered(Who::A), 2_530);
}
