//! What pipelines send, and what they make of answers.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use arknet_proto::redis::{ReplyLimits, Scanner};

use super::*;
use crate::error::Outcome;
use crate::redis::cmd;
use crate::redis::commands::strings::{get, incr, set};

/// The output of a batch to which `wire` was answered, and nothing behind that.
fn answered<B: Batch>(batch: B, wire: &str) -> B::Output {
    let mut scanner = Scanner::new(ReplyLimits::default());
    let mut frames: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    while let Some(frame) = scanner.scan(&wire.as_bytes()[at..]).unwrap() {
        frames.push(at..at + frame.len);
        at += frame.len;
    }
    // The first of those that were not answered may have been sent, the others were not.
    let answered = frames.len();
    let failure = |number| {
        lost(if number == answered {
            Outcome::Unknown
        } else {
            Outcome::NotSent
        })
    };
    batch.finish(Answers::new(wire.as_bytes(), &frames, &failure))
}

fn lost(outcome: Outcome) -> Error {
    Error::Lost {
        address: Arc::new("127.0.0.1:1".parse().unwrap()),
        source: Arc::new(io::ErrorKind::ConnectionReset.into()),
        outcome,
    }
}

fn wire(batch: &impl Batch) -> String {
    let mut wire = Vec::new();
    batch.encode(&mut wire);
    assert_eq!(wire.len(), batch.wire_len());
    String::from_utf8(wire).unwrap()
}

#[test]
fn requests_are_sent_in_order_and_answered_each_by_its_type() {
    let pipeline = pipeline()
        .add(get::<Option<String>>("a"))
        .add(incr("b"))
        .add(set("c", 1));
    assert_eq!(
        wire(&pipeline),
        "*2\r\n$3\r\nGET\r\n$1\r\na\r\n*2\r\n$4\r\nINCR\r\n$1\r\nb\r\n*3\r\n$3\r\nSET\r\n$1\r\nc\r\n$1\r\n1\r\n"
    );
    assert_eq!((pipeline.requests(), pipeline.len()), (3, 3));
    let (a, b, c) = answered(pipeline, "$1\r\nx\r\n:7\r\n+OK\r\n");
    assert_eq!(a.unwrap().as_deref(), Some("x"));
    assert_eq!(b.unwrap(), 7);
    c.unwrap();
}

#[test]
fn each_error_is_of_its_own_request_and_names_it() {
    let pipeline = pipeline()
        .add(get::<String>("a"))
        .add(incr("b"))
        .add(cmd::<i64>("CLIENT ID"))
        .add(set("c", 1))
        .add(set("d", 1));
    let (a, b, id, c, d) = answered(pipeline, "$-1\r\n-WRONGTYPE no\r\n:1\r\n");
    let text = |error: Error| error.to_string();
    assert!(text(a.unwrap_err()).contains("GET"));
    let refused = b.unwrap_err();
    assert_eq!(refused.server().unwrap().code(), "WRONGTYPE");
    assert!(text(refused).contains("INCR"));
    assert_eq!(id.unwrap(), 1);
    assert_eq!(c.unwrap_err().outcome(), Outcome::Unknown);
    assert_eq!(d.unwrap_err().outcome(), Outcome::NotSent);
}

#[test]
fn any_number_of_one_type_gives_a_list() {
    let mut pipeline = pipeline().extend((0..3).map(|n| get::<i64>(format!("k{n}"))));
    pipeline.push(incr("k"));
    assert_eq!(pipeline.len(), 4);
    let results = answered(pipeline, ":0\r\n:1\r\n-ERR no\r\n:3\r\n");
    let numbers: Vec<_> = results.into_iter().map(Result::ok).collect();
    assert_eq!(numbers, [Some(0), Some(1), None, Some(3)]);

    let none = super::pipeline().extend(Vec::<Command<i64>>::new());
    assert!(none.is_empty());
    assert_eq!(wire(&none), "");
    assert!(answered(none, "").is_empty());
}

#[test]
fn sixteen_types_are_not_too_many() {
    let pipeline = pipeline()
        .add(incr("1"))
        .add(incr("2"))
        .add(incr("3"))
        .add(incr("4"))
        .add(incr("5"))
        .add(incr("6"))
        .add(incr("7"))
        .add(incr("8"))
        .add(incr("9"))
        .add(incr("10"))
        .add(incr("11"))
        .add(incr("12"))
        .add(incr("13"))
        .add(incr("14"))
        .add(incr("15"))
        .add(get::<String>("16"));
    let results = answered(
        pipeline,
        &[":1\r\n".repeat(15), "+x\r\n".to_owned()].concat(),
    );
    assert_eq!(results.0.unwrap(), 1);
    assert_eq!(results.15.unwrap(), "x");
}

#[test]
fn an_atomic_one_is_between_multi_and_exec() {
    let atomic = || pipeline().add(incr("a")).add(get::<String>("b")).atomic();
    let sent = wire(&atomic());
    assert!(sent.starts_with("*1\r\n$5\r\nMULTI\r\n*2\r\n$4\r\nINCR\r\n"));
    assert!(sent.ends_with("$1\r\nb\r\n*1\r\n$4\r\nEXEC\r\n"));
    assert_eq!(atomic().requests(), 4);
    assert_eq!(atomic().effects(), Effects::NONE);

    let queued = "+OK\r\n+QUEUED\r\n+QUEUED\r\n";
    let (a, b) = answered(atomic(), &format!("{queued}*2\r\n:1\r\n$1\r\nx\r\n")).unwrap();
    assert_eq!((a.unwrap(), b.unwrap()), (1, "x".to_owned()));

    // One fails, and the other is carried out.
    let (a, b) = answered(atomic(), &format!("{queued}*2\r\n-WRONGTYPE no\r\n+x\r\n")).unwrap();
    assert_eq!(a.unwrap_err().server().unwrap().code(), "WRONGTYPE");
    assert_eq!(b.unwrap(), "x");
}

#[test]
fn an_atomic_one_that_was_not_carried_out_is_an_error_as_a_whole() {
    let atomic = || pipeline().add(incr("a")).add(get::<String>("b")).atomic();
    let refused = answered(
        atomic(),
        "+OK\r\n-ERR wrong number\r\n+QUEUED\r\n-EXECABORT discarded\r\n",
    );
    let refused = refused.unwrap_err();
    assert_eq!(refused.server().unwrap().code(), "ERR");
    assert_eq!(refused.outcome(), Outcome::Replied);

    let conflict = answered(atomic(), "+OK\r\n+QUEUED\r\n+QUEUED\r\n_\r\n");
    assert_eq!(conflict.unwrap_err().outcome(), Outcome::Replied);

    let lost = answered(atomic(), "+OK\r\n+QUEUED\r\n+QUEUED\r\n");
    assert_eq!(lost.unwrap_err().outcome(), Outcome::Unknown);
}

#[test]
fn the_effects_of_all_are_those_of_the_whole() {
    let raw = |name: &'static str| cmd::<()>(name);
    assert!(
        pipeline()
            .add(raw("GET"))
            .add(raw("SELECT"))
            .effects()
            .dirties_session()
    );
    let whole = pipeline()
        .add(raw("MULTI"))
        .add(raw("GET"))
        .add(raw("EXEC"));
    assert!(!whole.effects().dirties_session());
    assert!(whole.effects().is_exclusive());
}

#[test]
fn a_pipeline_may_be_cloned_and_shows_nothing_of_its_words() {
    let pipeline = pipeline().add(set("key", "secret"));
    assert_eq!(wire(&pipeline), wire(&pipeline.clone()));
    assert_eq!(format!("{pipeline:?}"), "Pipeline(1 commands)");
    assert_eq!(
        format!("{:?}", pipeline.atomic()),
        "Atomic(Pipeline(1 commands))"
    );
}
