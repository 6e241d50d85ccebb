//! How connections end when both sides behave, or one does not.

use arknet_proto::endpoint::Event;
use arknet_proto::engine::{StreamEngine, Transmit};
use arknet_proto::session::{Cause, Config, State};
use arknet_testkit::pair::{Conditions, Happening, Who};

use super::{MILLISECOND, SECOND, close_when_ended, echo, messages, opened};

const ENDED_HERE: Event<u32> = Event::Closed {
    cause: Cause::Local,
    forced: false,
};
const ENDED_THERE: Event<u32> = Event::Closed {
    cause: Cause::Peer,
    forced: false,
};

#[test]
fn what_is_sent_comes_back_and_both_sides_end() {
    let mut pair = opened(Config::default());
    pair.set_conditions(Conditions {
        latency: 20 * MILLISECOND,
        ..Conditions::default()
    });
    pair.b.on_event(echo);
    let began = pair.now();
    pair.a.engine.send("one", Some(1)).unwrap();
    pair.a.engine.send("two", Some(2)).unwrap();
    pair.drive();
    assert_eq!(pair.now() - began, 40 * MILLISECOND);
    assert_eq!(
        pair.a.take_events(),
        [
            Event::Completed { token: 1, bytes: 3 },
            Event::Completed { token: 2, bytes: 3 },
            Event::Message("one".into()),
            Event::Message("two".into()),
        ]
    );
    pair.a.engine.close(pair.now());
    pair.drive();
    assert_eq!(pair.now() - began, 80 * MILLISECOND);
    assert_eq!(pair.a.take_events(), [ENDED_HERE]);
    assert_eq!(
        pair.b.take_events(),
        [
            Event::Message("one".into()),
            Event::Message("two".into()),
            Event::Ended,
            ENDED_THERE,
        ]
    );
    assert_eq!(pair.next_moment(), None, "nothing is left to wait for");
}

#[test]
fn a_graceful_close_sends_what_was_accepted_then_ends_then_waits_for_the_peers_end() {
    let mut pair = opened(Config::default());
    pair.set_conditions(Conditions {
        latency: 10 * MILLISECOND,
        capacity: 100,
        ..Conditions::default()
    });
    for token in 0..50 {
        let message = vec![token as u8; 30];
        pair.a.engine.send(message, Some(token)).unwrap();
    }
    pair.a.engine.close(pair.now());
    assert_eq!(pair.a.engine.state(), State::Draining);
    pair.drive();

    let completed = pair.a.take_events();
    let expected: Vec<_> = (0..50)
        .map(|token| Event::Completed { token, bytes: 30 })
        .collect();
    assert_eq!(completed, expected, "and not closed yet");
    assert_eq!(pair.a.engine.state(), State::Draining);
    assert_eq!(messages(pair.b.events()).len(), 50);
    assert_eq!(pair.b.take_events().last(), Some(&Event::Ended));

    // The other direction stays open, though nobody listens.
    pair.b.engine.send("a last word", Some(9)).unwrap();
    pair.drive();
    assert_eq!(
        pair.b.take_events(),
        [Event::Completed {
            token: 9,
            bytes: 11
        }]
    );
    assert_eq!(pair.a.take_events(), []);

    pair.b.engine.close(pair.now());
    pair.drive();
    assert_eq!(pair.a.take_events(), [ENDED_HERE]);
    assert_eq!(pair.b.take_events(), [ENDED_THERE]);
    let of_a: Vec<_> = pair
        .transcript()
        .entries()
        .filter(|entry| entry.who == Who::A)
        .map(|entry| &entry.what)
        .collect();
    let ended = of_a
        .iter()
        .position(|what| **what == Happening::EndSent)
        .unwrap();
    let later = of_a.get(ended..).unwrap();
    assert!(!later.iter().any(|what| matches!(what, Happening::Sent(_))));
}

#[test]
fn the_side_that_hears_the_end_may_still_send() {
    let mut pair = opened(Config::default());
    pair.a.engine.send("question", None).unwrap();
    pair.drive();
    // Half-closed on the way, as by a client that has asked everything.
    pair.conditions_from(Who::A).end_after = Some(9);
    pair.drive();
    assert_eq!(
        pair.b.take_events(),
        [Event::Message("question".into()), Event::Ended]
    );
    pair.b.engine.send("answer", None).unwrap();
    pair.b.engine.close(pair.now());
    pair.a.on_event(close_when_ended);
    pair.drive();
    assert_eq!(
        pair.a.take_events(),
        [Event::Message("answer".into()), Event::Ended, ENDED_THERE]
    );
    assert_eq!(pair.b.take_events(), [ENDED_THERE]);
}

#[test]
fn both_may_close_at_once() {
    for latency in [0, 1, 50] {
        let mut pair = opened(Config::default());
        pair.set_conditions(Conditions {
            latency: latency * MILLISECOND,
            ..Conditions::default()
        });
        pair.a.engine.close(pair.now());
        pair.b.engine.close(pair.now());
        let began = pair.now();
        pair.drive();
        assert_eq!(pair.now() - began, latency * MILLISECOND);
        assert_eq!(pair.a.take_events(), [ENDED_HERE]);
        assert_eq!(pair.b.take_events(), [ENDED_HERE]);
    }
}

#[test]
fn the_close_deadline_cuts_a_peer_that_does_not_read() {
    let config = Config {
        close: 5 * SECOND,
        ..Config::default()
    };
    let mut pair = opened(config);
    let link = pair.conditions_from(Who::A);
    (link.stalled, link.capacity) = (true, 64);
    pair.a.engine.send(vec![1; 50], Some(1)).unwrap();
    pair.a.engine.send(vec![2; 50], Some(2)).unwrap();
    pair.a.engine.send(vec![3; 50], Some(3)).unwrap();
    pair.a.engine.close(pair.now());
    let began = pair.now();
    pair.drive_for(5 * SECOND - MILLISECOND);
    assert_eq!(
        pair.a.take_events(),
        [Event::Completed {
            token: 1,
            bytes: 50
        }]
    );
    pair.drive_until(SECOND, |pair| pair.a.engine.state() == State::Closed);
    assert_eq!(pair.now() - began, 5 * SECOND);
    assert_eq!(
        pair.a.take_events(),
        [
            Event::Abandoned { token: 2 },
            Event::Abandoned { token: 3 },
            Event::Closed {
                cause: Cause::Local,
                forced: true
            }
        ]
    );
    let lost = pair.a.engine.lost().unwrap();
    assert_eq!((lost.bytes, lost.messages), (100, 2));
}

#[test]
fn the_close_deadline_cuts_a_peer_that_does_not_end() {
    let mut pair = opened(Config::default());
    pair.a.engine.close(pair.now());
    pair.drive();
    assert_eq!(pair.b.take_events(), [Event::Ended]);
    pair.drive_for(31 * SECOND);
    assert_eq!(
        pair.a.take_events(),
        [Event::Closed {
            cause: Cause::Local,
            forced: true
        }]
    );
    // It had ended its stream, so the peer learns of the cut when it sends.
    assert_eq!(pair.b.take_events(), []);
    pair.b.engine.send("anyone there?", None).unwrap();
    pair.drive();
    assert_eq!(
        pair.b.take_events(),
        [Event::Closed {
            cause: Cause::Fault,
            forced: false
        }]
    );
}

#[test]
fn what_arrives_while_closing_is_dropped_and_the_end_is_still_seen() {
    let mut pair = opened(Config::default());
    pair.set_conditions(Conditions {
        latency: 10 * MILLISECOND,
        ..Conditions::default()
    });
    pair.b.on_event(close_when_ended);
    pair.b.engine.send("crosses the end", Some(1)).unwrap();
    pair.a.engine.close(pair.now());
    pair.drive();
    assert_eq!(pair.a.take_events(), [ENDED_HERE]);
    assert_eq!(
        pair.b.take_events(),
        [
            Event::Completed {
                token: 1,
                bytes: 15
            },
            Event::Ended,
            ENDED_THERE
        ]
    );
}

#[test]
fn an_abort_gives_up_what_waits_and_the_peer_sees_a_fault() {
    let mut pair = opened(Config::default());
    pair.conditions_from(Who::A).capacity = 0;
    for token in 0..4 {
        pair.a.engine.send("lost", Some(token)).unwrap();
    }
    pair.a.engine.abort();
    pair.drive();
    let mut expected: Vec<_> = (0..4).map(|token| Event::Abandoned { token }).collect();
    expected.push(Event::Closed {
        cause: Cause::Aborted,
        forced: true,
    });
    assert_eq!(pair.a.take_events(), expected);
    assert_eq!(
        pair.b.take_events(),
        [Event::Closed {
            cause: Cause::Fault,
            forced: false
        }]
    );
}

#[test]
fn an_abort_after_the_end_changes_nothing() {
    let mut pair = opened(Config::default());
    let now = pair.now();
    pair.a.engine.close(now);
    let sent = pair.a.engine.poll_transmit(now, 100, &mut Vec::new());
    assert_eq!(sent, Transmit::End);
    pair.a.engine.handle_end(now);
    assert_eq!(pair.a.engine.state(), State::Closed);
    pair.a.engine.abort();
    assert_eq!(pair.a.engine.poll_event(), Some(ENDED_HERE));
}
