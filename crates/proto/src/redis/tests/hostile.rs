//! What a broken or hostile server sends: an error at once, and nothing stored.

use super::*;
use crate::redis::ReplyKind;

fn at_once(wire: impl AsRef<[u8]>) -> ProtocolError {
    refused(wire, ReplyLimits::default())
}

fn small() -> ReplyLimits {
    ReplyLimits::default()
        .max_reply_bytes(64)
        .max_elements(10)
        .max_depth(3)
        .max_line(8)
}

#[test]
fn a_scanner_owns_nothing_that_could_grow() {
    assert!(!std::mem::needs_drop::<Scanner>());
}

#[test]
fn counts_without_end_are_refused_when_they_are_announced() {
    let limit = ReplyLimits::default().max_elements;
    for kind in ["*", "~", ">"] {
        let count = 1_000_000_000;
        let wire = format!("{kind}{count}\r\n");
        assert_eq!(
            at_once(wire),
            ProtocolError::TooManyElements { count, limit }
        );
    }
    let pairs = ProtocolError::TooManyElements {
        count: 2_000_000_000,
        limit,
    };
    assert_eq!(at_once("%1000000000\r\n"), pairs);
    assert_eq!(at_once("|1000000000\r\n"), pairs);
    // Also of the largest number, doubled.
    let count = u64::MAX;
    assert_eq!(
        at_once(format!("%{}\r\n", i64::MAX)),
        ProtocolError::TooManyElements {
            count: count - 1,
            limit
        }
    );
}

#[test]
fn elements_are_counted_over_all_aggregates() {
    let limit = 10;
    assert_eq!(
        refused("*5\r\n*3\r\n:1\r\n:1\r\n:1\r\n*3\r\n", small()),
        ProtocolError::TooManyElements { count: 11, limit }
    );
    let again = scanned(
        b"*5\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n".repeat(9).as_slice(),
        small(),
        &[3],
    );
    assert_eq!((again.0.len(), again.1), (9, Ok(0)), "they begin anew");
}

#[test]
fn payloads_without_end_are_refused_when_they_are_announced() {
    let limit = ReplyLimits::default().max_reply_bytes;
    for kind in ["$", "!", "="] {
        let wire = format!("{kind}9999999999\r\n");
        let size = 9_999_999_999 + wire.len() as u64 + 2;
        assert_eq!(at_once(wire), ProtocolError::ReplyTooLarge { size, limit });
    }
    let largest = ProtocolError::ReplyTooLarge {
        size: 9_999_999_999_999_999_999 + 24,
        limit,
    };
    assert_eq!(at_once("$9999999999999999999\r\n"), largest);
    assert_eq!(
        refused(
            "*2\r\n$40\r\n0123456789012345678901234567890123456789\r\n$40\r\n",
            small()
        ),
        ProtocolError::ReplyTooLarge {
            size: 98,
            limit: 64
        }
    );
}

#[test]
fn a_reply_as_large_as_the_limit_is_a_reply_and_one_byte_more_is_none() {
    let bulk = |len: usize| format!("${len}\r\n{}\r\n", "x".repeat(len));
    let whole = bulk(57);
    assert_eq!(whole.len(), 64);
    assert_eq!(scanned(whole.as_bytes(), small(), &[9]).1, Ok(0));
    assert_eq!(
        refused(bulk(58), small()),
        ProtocolError::ReplyTooLarge {
            size: 65,
            limit: 64
        }
    );
    // The least that what was announced will take counts as well.
    let limits = small().max_elements(100);
    assert_eq!(
        refused("*20\r\n", limits),
        ProtocolError::ReplyTooLarge {
            size: 65,
            limit: 64
        }
    );
    // Attributes need not end.
    let limits = small().max_elements(usize::MAX);
    assert!(matches!(
        refused("|0\r\n".repeat(20), limits),
        ProtocolError::ReplyTooLarge { limit: 64, .. }
    ));
}

#[test]
fn nesting_without_end_is_refused_and_costs_no_stack() {
    let limit = ReplyLimits::default().max_depth;
    for opening in ["*1\r\n", "~1\r\n", "%1\r\n", "|1\r\n"] {
        let wire = opening.repeat(300_000);
        assert_eq!(at_once(&wire), ProtocolError::TooDeep { limit });
        let in_pieces = scanned(wire.as_bytes(), ReplyLimits::default(), &[1]);
        assert_eq!(in_pieces.1, Err(ProtocolError::TooDeep { limit }));
        // Somebody may look at bytes that no scanner has seen.
        let unseen = Reply::parse(wire.as_bytes()).and_then(Reply::decode::<Value>);
        assert!(unseen.is_err());
    }
}

#[test]
fn the_deepest_reply_that_is_allowed_is_read() {
    let deepest = ReplyLimits::default().max_depth(usize::MAX);
    for depth in [1, 32, ReplyLimits::DEEPEST] {
        let wire = format!("{}:1\r\n", "*1\r\n".repeat(depth));
        assert_eq!(scanned(wire.as_bytes(), deepest, &[5]).1, Ok(0));
    }
    assert_eq!(
        refused("*1\r\n".repeat(ReplyLimits::DEEPEST + 1), deepest),
        ProtocolError::TooDeep {
            limit: ReplyLimits::DEEPEST
        }
    );
    // Empty ones have nothing within.
    assert_eq!(scanned(b"*1\r\n*1\r\n*1\r\n*0\r\n", small(), &[1]).1, Ok(0));
}

#[test]
fn lengths_that_are_none_are_refused() {
    use ReplyKind::{Array, Attribute, Bulk, Error, Map, Push, Set, Verbatim};
    let invalid = [
        ("$-5\r\n", Bulk),
        ("$-2", Bulk),
        ("$+5\r\n", Bulk),
        ("$05\r\n", Bulk),
        ("$\r\n", Bulk),
        ("$ 5\r\n", Bulk),
        ("$5 \r\n", Bulk),
        ("$5\n", Bulk),
        ("$5\rx", Bulk),
        ("$5x\r\n", Bulk),
        ("$10000000000000000000\r\n", Bulk),
        ("$99999999999999999999", Bulk),
        ("*-2\r\n", Array),
        ("*00\r\n", Array),
        ("%-1\r\n", Map),
        ("~-1\r\n", Set),
        (">-1\r\n", Push),
        ("|-1\r\n", Attribute),
        ("!-1\r\n", Error),
        ("=-1\r\n", Verbatim),
        ("=3\r\ntxt\r\n", Verbatim),
        ("=0\r\n\r\n", Verbatim),
    ];
    for (wire, of) in invalid {
        assert_eq!(
            at_once(wire),
            ProtocolError::InvalidLength { of },
            "{wire:?}"
        );
    }
}

#[test]
fn what_is_not_of_its_type_is_refused() {
    use ReplyKind::{BigNumber, Boolean, Double, Integer, Null, Verbatim};
    let invalid = [
        (":\r\n", Integer),
        (":-\r\n", Integer),
        (":1.5\r\n", Integer),
        (": 1\r\n", Integer),
        (":9223372036854775808\r\n", Integer),
        (":-9223372036854775809\r\n", Integer),
        (":12345678901234567890", Integer),
        (":1\n", Integer),
        (":1\rx", Integer),
        ("_x", Null),
        ("_\n", Null),
        ("_\rx", Null),
        ("#x", Boolean),
        ("#true\r\n", Boolean),
        ("#t\n", Boolean),
        ("#\r\n", Boolean),
        (",\r\n", Double),
        (",1.\r\n", Double),
        (",.5\r\n", Double),
        (",1e\r\n", Double),
        (",1e+\r\n", Double),
        (",1.5x\r\n", Double),
        (",Infinity\r\n", Double),
        (",0x10\r\n", Double),
        (",--1\r\n", Double),
        ("(\r\n", BigNumber),
        ("(-\r\n", BigNumber),
        ("(12a\r\n", BigNumber),
        ("=5\r\ntxt-x\r\n", Verbatim),
    ];
    for (wire, of) in invalid {
        assert_eq!(at_once(wire), ProtocolError::Invalid { of }, "{wire:?}");
    }
}

#[test]
fn half_a_line_break_is_none() {
    use ReplyKind::{BigNumber, Bulk, Double, Error, Simple, Verbatim};
    let broken = [
        ("$3\r\nabcXY", Bulk),
        ("$3\r\nabcd\r\n", Bulk),
        ("$3\r\nab\r\n\r\n", Bulk),
        ("$0\r\n\n\r", Bulk),
        ("!3\r\nabc\n\n", Error),
        ("=5\r\ntxt:a\rx", Verbatim),
        ("+a\n", Simple),
        ("+a\rb\r\n", Simple),
        ("+\r\r\n", Simple),
        ("-ERR a\nb\r\n", Error),
        (",1\n", Double),
        ("(1\n", BigNumber),
    ];
    for (wire, of) in broken {
        assert_eq!(at_once(wire), ProtocolError::LineBreak { of }, "{wire:?}");
    }
    // Where the payload's end has not come, it is not known yet.
    assert_eq!(scanned(b"$3\r\nabcX", small(), &[1]).1, Ok(8));
}

#[test]
fn lines_without_end_are_refused_before_they_are_stored() {
    let limit = ReplyLimits::default().max_line;
    for kind in ["+", "-", ",", "("] {
        let wire = format!("{kind}{}", "1".repeat(limit + 1));
        assert_eq!(at_once(&wire), ProtocolError::LineTooLong { limit });
        let in_pieces = scanned(wire.as_bytes(), ReplyLimits::default(), &[1000]);
        assert_eq!(in_pieces.1, Err(ProtocolError::LineTooLong { limit }));
    }
    assert_eq!(scanned(b"+12345678\r\n", small(), &[1]).1, Ok(0));
    assert_eq!(
        refused("+123456789\r\n", small()),
        ProtocolError::LineTooLong { limit: 8 }
    );
    // Where there is less room in the reply than in a line, the reply is too large.
    let limits = small().max_line(usize::MAX);
    let wire = format!("*2\r\n+\r\n+{}", "x".repeat(55));
    assert_eq!(
        refused(wire, limits),
        ProtocolError::ReplyTooLarge {
            size: 65,
            limit: 64
        }
    );
}

#[test]
fn what_no_reply_begins_with_is_refused() {
    for byte in (0..=u8::MAX).filter(|byte| !b"$:*+-%~|>_#,!(=".contains(byte)) {
        assert_eq!(at_once([byte]), ProtocolError::UnknownType { byte });
        let within = [b"*2\r\n:1\r\n", &[byte][..]].concat();
        assert_eq!(at_once(within), ProtocolError::UnknownType { byte });
    }
}

#[test]
fn streamed_replies_are_refused_by_name() {
    use ReplyKind::{Array, Attribute, Bulk, Map, Push, Set};
    let streamed = [
        ("$?\r\n;4\r\nHell\r\n;0\r\n", Bulk),
        ("*?\r\n:1\r\n.\r\n", Array),
        ("%?\r\n+a\r\n:1\r\n.\r\n", Map),
        ("~?\r\n:1\r\n.\r\n", Set),
        (">?\r\n", Push),
        ("|?\r\n", Attribute),
        ("*1\r\n*?\r\n", Array),
    ];
    for (wire, of) in streamed {
        assert_eq!(at_once(wire), ProtocolError::Streamed { of }, "{wire:?}");
    }
}

#[test]
fn a_push_within_a_reply_is_refused() {
    for wire in [
        "*1\r\n>1\r\n+x\r\n",
        "%1\r\n+a\r\n>0\r\n",
        "|1\r\n+a\r\n>0\r\n",
    ] {
        assert_eq!(at_once(wire), ProtocolError::NestedPush, "{wire:?}");
    }
}

#[test]
fn errors_say_what_is_wrong_and_name_the_limit() {
    let told = [
        (at_once("$-5\r\n"), "bulk string with an invalid length"),
        (at_once("?"), "reply of unknown type '?'"),
        (at_once(":x"), "invalid integer"),
        (
            at_once("+a\n"),
            "simple string does not end with a line break",
        ),
        (
            refused("$100\r\n", small()),
            "reply of at least 108 bytes exceeds the limit of 64 bytes",
        ),
        (
            refused("*11\r\n", small()),
            "reply of at least 11 elements exceeds the limit of 10",
        ),
        (
            refused("*1\r\n*1\r\n*1\r\n*1\r\n", small()),
            "reply is nested more than 3 deep",
        ),
        (
            refused("+123456789", small()),
            "line exceeds the limit of 8 bytes",
        ),
        (at_once("*?\r\n"), "streamed array is not supported"),
    ];
    for (error, text) in told {
        assert_eq!(error.to_string(), text);
    }
}
