//! Every type, as the specification of RESP3 and the RESP2 of servers write it.

use super::*;
use crate::redis::ServerError;

fn error(text: &str) -> Value {
    Value::Error(ServerError::new(text.as_bytes()))
}

/// Replies and what they are.
pub(super) fn vectors() -> Vec<(&'static str, FrameKind, Value)> {
    use FrameKind::{Error, Push, Reply};
    use Value::{Array, Boolean, Double, Integer, Map, Null, Set};
    let numbers = || Array(vec![Integer(1), Integer(2), Integer(3)]);
    let verbatim = |format: &[u8; 3], text: &'static str| Value::Verbatim {
        format: *format,
        text: text.into(),
    };
    let message = || {
        Value::Push(vec![
            simple("message"),
            simple("somechannel"),
            simple("this is the message"),
        ])
    };
    vec![
        ("$11\r\nhello world\r\n", Reply, bulk("hello world")),
        ("$0\r\n\r\n", Reply, bulk("")),
        ("$4\r\n\r\n\r\n\r\n", Reply, bulk("\r\n\r\n")),
        ("+hello world\r\n", Reply, simple("hello world")),
        ("+OK\r\n", Reply, simple("OK")),
        ("+\r\n", Reply, simple("")),
        (
            "-ERR this is the error description\r\n",
            Error,
            error("ERR this is the error description"),
        ),
        ("-\r\n", Error, error("")),
        (":1234\r\n", Reply, Integer(1234)),
        (":+7\r\n", Reply, Integer(7)),
        (":-0\r\n", Reply, Integer(0)),
        (":9223372036854775807\r\n", Reply, Integer(i64::MAX)),
        (":-9223372036854775808\r\n", Reply, Integer(i64::MIN)),
        ("_\r\n", Reply, Null),
        ("$-1\r\n", Reply, Null),
        ("*-1\r\n", Reply, Null),
        (",1.23\r\n", Reply, Double(1.23)),
        (",10\r\n", Reply, Double(10.0)),
        (",-1e-3\r\n", Reply, Double(-0.001)),
        (",1.5E+300\r\n", Reply, Double(1.5e300)),
        (",inf\r\n", Reply, Double(f64::INFINITY)),
        (",-inf\r\n", Reply, Double(f64::NEG_INFINITY)),
        ("#t\r\n", Reply, Boolean(true)),
        ("#f\r\n", Reply, Boolean(false)),
        (
            "!21\r\nSYNTAX invalid syntax\r\n",
            Error,
            error("SYNTAX invalid syntax"),
        ),
        (
            "=15\r\ntxt:Some string\r\n",
            Reply,
            verbatim(b"txt", "Some string"),
        ),
        ("=4\r\nmkd:\r\n", Reply, verbatim(b"mkd", "")),
        (
            "(3492890328409238509324850943850943825024385\r\n",
            Reply,
            Value::BigNumber("3492890328409238509324850943850943825024385".to_owned()),
        ),
        ("(-12\r\n", Reply, Value::BigNumber("-12".to_owned())),
        ("*3\r\n:1\r\n:2\r\n:3\r\n", Reply, numbers()),
        ("*0\r\n", Reply, Array(vec![])),
        (
            "*2\r\n*3\r\n:1\r\n$5\r\nhello\r\n:2\r\n#f\r\n",
            Reply,
            Array(vec![
                Array(vec![Integer(1), bulk("hello"), Integer(2)]),
                Boolean(false),
            ]),
        ),
        (
            "*3\r\n*0\r\n*1\r\n*0\r\n*-1\r\n",
            Reply,
            Array(vec![Array(vec![]), Array(vec![Array(vec![])]), Null]),
        ),
        (
            "*2\r\n$3\r\nfoo\r\n-ERR second\r\n",
            Reply,
            Array(vec![bulk("foo"), error("ERR second")]),
        ),
        (
            "%2\r\n+first\r\n:1\r\n+second\r\n:2\r\n",
            Reply,
            Map(vec![
                (simple("first"), Integer(1)),
                (simple("second"), Integer(2)),
            ]),
        ),
        ("%0\r\n", Reply, Map(vec![])),
        (
            "%3\r\n+b\r\n:1\r\n+a\r\n:2\r\n+b\r\n:3\r\n",
            Reply,
            Map(vec![
                (simple("b"), Integer(1)),
                (simple("a"), Integer(2)),
                (simple("b"), Integer(3)),
            ]),
        ),
        (
            "%1\r\n*2\r\n:1\r\n:2\r\n%1\r\n_\r\n#t\r\n",
            Reply,
            Map(vec![(
                Array(vec![Integer(1), Integer(2)]),
                Map(vec![(Null, Boolean(true))]),
            )]),
        ),
        (
            "~5\r\n+orange\r\n+apple\r\n#t\r\n:100\r\n:999\r\n",
            Reply,
            Set(vec![
                simple("orange"),
                simple("apple"),
                Boolean(true),
                Integer(100),
                Integer(999),
            ]),
        ),
        (
            "|1\r\n+key-popularity\r\n%2\r\n$1\r\na\r\n,0.1923\r\n$1\r\nb\r\n,0.0012\r\n\
             *2\r\n:2039123\r\n:9543892\r\n",
            Reply,
            Array(vec![Integer(2_039_123), Integer(9_543_892)]),
        ),
        (
            "*3\r\n:1\r\n:2\r\n|1\r\n+ttl\r\n:3600\r\n:3\r\n",
            Reply,
            numbers(),
        ),
        (
            "*3\r\n|1\r\n|1\r\n+a\r\n+b\r\n+c\r\n|0\r\n+d\r\n:1\r\n|0\r\n:2\r\n|0\r\n|0\r\n:3\r\n",
            Reply,
            numbers(),
        ),
        ("|1\r\n+a\r\n+b\r\n-ERR no\r\n", Error, error("ERR no")),
        (
            ">3\r\n+message\r\n+somechannel\r\n+this is the message\r\n",
            Push,
            message(),
        ),
        (
            "|1\r\n+a\r\n-b\r\n>3\r\n+message\r\n+somechannel\r\n+this is the message\r\n",
            Push,
            message(),
        ),
        (">0\r\n", Push, Value::Push(vec![])),
    ]
}

#[test]
fn every_type_of_both_protocols_is_read() {
    for (wire, kind, value) in vectors() {
        assert_eq!(one(wire), (kind, value), "{wire:?}");
    }
    for nan in [",nan\r\n", ",-nan\r\n"] {
        assert!(
            matches!(one(nan), (FrameKind::Reply, Value::Double(nan)) if nan.is_nan()),
            "{nan:?}"
        );
    }
}

#[test]
fn a_push_before_a_reply_and_after_it_are_apart_from_it() {
    let push = ">3\r\n+message\r\n+somechannel\r\n+this is the message\r\n";
    let reply = "$9\r\nGet-Reply\r\n";
    for stream in [[push, reply, push], [reply, push, reply]] {
        let (found, rest) = scanned(stream.concat().as_bytes(), ReplyLimits::default(), &[7]);
        assert_eq!(rest, Ok(0));
        let kinds: Vec<_> = found.iter().map(|(kind, _)| *kind).collect();
        let expected = stream.map(|wire| match wire.as_bytes()[0] {
            b'>' => FrameKind::Push,
            _ => FrameKind::Reply,
        });
        assert_eq!(kinds, expected);
    }
}

#[test]
fn attributes_can_be_asked_for() {
    let wire = "|2\r\n+ttl\r\n:3600\r\n+hot\r\n#t\r\n:5\r\n";
    let attributes: Vec<_> = Reply::attributes(wire.as_bytes())
        .unwrap()
        .map(|(name, value)| (name.decode().unwrap(), value.decode().unwrap()))
        .collect();
    let expected: Vec<(String, Value)> = vec![
        ("ttl".to_owned(), Value::Integer(3600)),
        ("hot".to_owned(), Value::Boolean(true)),
    ];
    assert_eq!(attributes, expected);
    assert!(Reply::attributes(b":5\r\n").is_none());
}
