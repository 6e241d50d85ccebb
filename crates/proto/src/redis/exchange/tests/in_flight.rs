//! Whose reply is whose, and what became of requests whose connection was lost.

use proptest::prelude::*;

use crate::redis::Command;
use crate::redis::exchange::{Answered, Fate, InFlight};

#[test]
fn replies_belong_to_the_oldest_batch() {
    let mut flights = InFlight::new();
    flights.push(10, 1, "one");
    flights.push(20, 2, "two");
    assert_eq!(flights.front(), Some(&"one"));
    assert_eq!(flights.handle_reply(), Some(Answered::Whole("one")));
    assert_eq!(flights.handle_reply(), Some(Answered::Part(&mut "two")));
    assert_eq!(flights.handle_reply(), Some(Answered::Whole("two")));
    assert_eq!(
        flights.handle_reply(),
        None,
        "a reply that nobody asked for"
    );
}

#[test]
fn a_batch_without_replies_is_not_waited_for() {
    let mut flights = InFlight::new();
    flights.push(10, 0, "silent");
    flights.push(10, 1, "one");
    assert_eq!(flights.unwritten(), 20);
    flights.handle_written(10);
    assert_eq!(flights.handle_reply(), Some(Answered::Whole("one")));
    assert!(flights.is_empty());
}

#[test]
fn what_was_not_handed_over_can_be_taken_back() {
    let mut flights = InFlight::new();
    flights.push(10, 1, "one");
    flights.push(5, 1, "two");
    flights.handle_written(10);
    assert_eq!(flights.retract(), Some("two"));
    assert_eq!(flights.unwritten(), 0);
    assert_eq!(flights.retract(), None, "it is on its way");
    flights.push(7, 1, "three");
    flights.handle_written(1);
    assert_eq!(flights.retract(), None, "a part of it is");
    assert_eq!(flights.len(), 2);
}

#[test]
fn what_was_not_begun_of_a_batch_can_be_cut_off() {
    let mut flights = InFlight::new();
    flights.push(30, 3, "batch");
    flights.handle_written(12);
    assert_eq!(flights.cut(2, 20), None, "two were begun");
    assert_eq!(flights.unwritten(), 8);
    assert_eq!(flights.handle_reply(), Some(Answered::Part(&mut "batch")));
    assert_eq!(flights.handle_reply(), Some(Answered::Whole("batch")));
    flights.handle_written(8);
    flights.push(30, 3, "answered");
    flights.handle_written(10);
    flights.handle_reply();
    assert_eq!(
        flights.cut(1, 10),
        Some("answered"),
        "nothing is left of it"
    );
    assert!(flights.is_empty());
    assert_eq!(flights.unwritten(), 0);
}

#[test]
fn a_lost_connection_says_what_became_of_each_batch() {
    let mut flights = InFlight::new();
    flights.push(10, 3, "answered in part");
    flights.push(10, 1, "sent");
    flights.push(10, 1, "begun");
    flights.push(10, 1, "not sent");
    flights.handle_written(25);
    flights.handle_reply();
    let fates: Vec<_> = std::iter::from_fn(|| flights.lose()).collect();
    let fate = |answered, written| Fate { answered, written };
    assert_eq!(
        fates,
        [
            ("answered in part", fate(1, 10)),
            ("sent", fate(0, 10)),
            ("begun", fate(0, 5)),
            ("not sent", fate(0, 0)),
        ]
    );
}

#[test]
fn bytes_that_lie_sealed_in_records_count_as_written() {
    let mut flights = InFlight::new();
    flights.push(10, 1, ());
    assert_eq!(flights.last_fate(0).unwrap().written, 0);
    assert_eq!(flights.last_fate(4).unwrap().written, 4);
    assert_eq!(flights.last_fate(100).unwrap().written, 10);
}

proptest! {
    /// The requests that have begun are those whose first byte is among the written ones.
    #[test]
    fn the_requests_that_have_begun_are_counted(
        values in prop::collection::vec(".{0,20}", 1..8),
        written in 0_u64..400,
    ) {
        let mut wire = Vec::new();
        let mut begins = Vec::new();
        let mut ends = vec![0];
        for value in &values {
            begins.push(wire.len() as u64);
            Command::new("SET").arg("key").arg(value.as_str()).encode_to(&mut wire);
            ends.push(wire.len());
        }
        let fate = Fate { answered: 0, written };
        let expected = begins.iter().filter(|begin| **begin < written).count();
        prop_assert_eq!(fate.begun(&wire), expected);
        prop_assert_eq!(fate.begun_part(&wire), (expected, ends[expected]));
    }

    /// Whatever is pushed, written, answered and taken back: no reply is anybody else's, and no byte is counted twice.
    #[test]
    fn a_queue_keeps_its_order_and_its_count(
        steps in prop::collection::vec((0_u8..4, 1_usize..50, 0_usize..4), 0..60),
    ) {
        let mut flights = InFlight::new();
        let mut model: std::collections::VecDeque<(usize, usize)> = Default::default();
        let (mut queued, mut written) = (0_u64, 0_u64);
        let mut starts: std::collections::VecDeque<u64> = Default::default();
        for (number, (step, bytes, requests)) in steps.into_iter().enumerate() {
            match step {
                0 => {
                    flights.push(bytes, requests, number);
                    if requests > 0 {
                        model.push_back((number, requests));
                        starts.push_back(queued);
                    }
                    queued += bytes as u64;
                }
                1 => {
                    flights.handle_written(bytes);
                    written = (written + bytes as u64).min(queued);
                }
                2 => {
                    let answered = flights.handle_reply().map(|answered| match answered {
                        Answered::Part(token) => (*token, false),
                        Answered::Whole(token) => (token, true),
                    });
                    let expected = model.front_mut().map(|(token, left)| {
                        *left -= 1;
                        (*token, *left == 0)
                    });
                    if expected.is_some_and(|(_, whole)| whole) {
                        model.pop_front();
                        starts.pop_front();
                    }
                    prop_assert_eq!(answered, expected);
                }
                _ => {
                    let expected = match starts.back() {
                        Some(start) if written <= *start => {
                            queued = *start;
                            starts.pop_back();
                            model.pop_back().map(|(token, _)| token)
                        }
                        _ => None,
                    };
                    prop_assert_eq!(flights.retract(), expected);
                }
            }
            prop_assert_eq!(flights.unwritten(), queued - written);
            prop_assert_eq!(flights.len(), model.len());
        }
    }
}
