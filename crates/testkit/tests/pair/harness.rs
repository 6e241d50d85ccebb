//! The harness itself: the same seed is the same run, and it notices what never comes to rest.

use arknet_proto::endpoint::Event;
use arknet_proto::framing::Framing;
use arknet_proto::session::Config;
use arknet_testkit::pair::{Chunks, Conditions, Transcript, Who};

use super::{MILLISECOND, SECOND, connecting, echo, opened, opened_with};

fn run(seed: u64) -> Transcript {
    let mut pair = opened_with(&Framing::LengthPrefix, Config::default(), seed);
    pair.set_conditions(Conditions {
        latency: 3 * MILLISECOND,
        chunks: Chunks::Random(40),
        capacity: 200,
        ..Conditions::default()
    });
    pair.b.on_event(echo);
    for length in 0..60 {
        pair.a.engine.send(vec![1; length], None).unwrap();
    }
    pair.drive();
    pair.a.engine.close(pair.now());
    pair.drive();
    pair.transcript().clone()
}

#[test]
fn a_seed_repeats_its_run_and_another_gives_another() {
    assert_eq!(run(5), run(5));
    assert_ne!(run(5), run(6));
}

#[test]
fn latency_may_differ_by_direction_and_keeps_the_order_when_it_shrinks() {
    let mut pair = opened(Config::default());
    let began = pair.now();
    pair.b.on_event(echo);
    pair.conditions_from(Who::A).latency = 30 * MILLISECOND;
    pair.conditions_from(Who::B).latency = 5 * MILLISECOND;
    pair.a.engine.send("first", None).unwrap();
    pair.drive_for(10 * MILLISECOND);
    pair.conditions_from(Who::A).latency = MILLISECOND;
    pair.a.engine.send("second", None).unwrap();
    pair.drive_until(SECOND, |pair| pair.a.events().len() == 2);
    assert_eq!(pair.now() - began, 35 * MILLISECOND);
    let echoed = ["first", "second"].map(|text| Event::Message(text.into()));
    assert_eq!(pair.a.take_events(), echoed);
}

#[test]
fn bytes_behind_an_early_end_are_swallowed_and_hold_nobody_up() {
    let mut pair = opened(Config::default());
    let link = pair.conditions_from(Who::A);
    (link.end_after, link.capacity) = (Some(3), 10);
    for token in 0..100 {
        pair.a.engine.send("xx", Some(token)).unwrap();
    }
    pair.drive();
    assert_eq!(
        pair.b.take_events(),
        [Event::Message("xx".into()), Event::Ended]
    );
    assert_eq!(pair.a.take_events().len(), 100);
    assert_eq!((pair.delivered(Who::A), pair.in_flight(Who::A)), (3, 0));
}

#[test]
#[should_panic(expected = "no rest after 1000 rounds")]
fn engines_that_never_rest_are_found() {
    let mut pair = opened(Config::default());
    pair.a.on_event(echo);
    pair.b.on_event(echo);
    pair.set_rounds(1_000);
    pair.a.engine.send("ping", None).unwrap();
    pair.drive();
}

#[test]
#[should_panic(expected = "not done within 1s")]
fn what_is_never_done_is_found() {
    let mut pair = connecting(&Framing::Raw, Config::default(), 1);
    pair.drive_until(SECOND, |pair| !pair.a.events().is_empty());
}
