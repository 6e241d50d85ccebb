//! Servers that say what they may not: it costs an error, and no memory.

use super::script::{AGREED, PLAIN, answer, columns, conversation, told, waiting};
use crate::mysql::capabilities::{Capabilities, Status};
use crate::mysql::command::{self, Request};
use crate::mysql::error::ProtocolError;
use crate::mysql::limits::Limits;
use crate::mysql::server::Responder;
use crate::mysql::value::ValueRef;

fn requests() -> [Request; 4] {
    let mut wire = Vec::new();
    [
        command::query(&mut wire, b"x", 100).unwrap(),
        command::prepare(&mut wire, b"x", 100).unwrap(),
        command::execute(&mut wire, 1, &(), 100).unwrap(),
        command::ping(&mut wire),
    ]
}

/// What comes of one packet, as the answer to each kind of request.
fn refused(agreed: Capabilities, which: usize, packets: &[&[u8]]) -> ProtocolError {
    let stream = answer(agreed, |to| {
        packets.iter().for_each(|packet| to.raw(packet));
    });
    let mut conversation = waiting(agreed, &requests()[which..=which]);
    let error = told(&mut conversation, &stream, usize::MAX).unwrap_err();
    assert!(conversation.is_broken());
    error
}

#[test]
fn counts_are_checked_before_anything_is_stored() {
    for agreed in AGREED {
        let many = [0xfe, 255, 255, 255, 255, 255, 255, 255, 127];
        let expected = ProtocolError::TooManyColumns {
            count: i64::MAX as u64,
            limit: 4096,
        };
        assert_eq!(refused(agreed, 0, &[&many]), expected);
        let prepared = [0, 1, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0, 0];
        let expected = ProtocolError::TooManyColumns {
            count: 0xffff,
            limit: 4096,
        };
        assert_eq!(refused(agreed, 1, &[&prepared]), expected);
    }
}

#[test]
fn what_is_no_answer_is_refused() {
    let agreed = AGREED[0];
    for (which, packet) in [
        (0, &b""[..]),
        (0, b"\x00"),
        (0, b"\x01\x01"),
        (0, b"\xff"),
        (0, b"\xff\xff\xff\x01"),
        (0, b"\xfb"),
        (1, b"\x01"),
        (1, b"\x00\x01\0"),
        (3, b"\x01"),
        (3, b"\xfe"),
        (3, b"\x00\x00\x00\x02"),
    ] {
        let error = refused(agreed, which, &[packet]);
        assert!(
            matches!(
                error,
                ProtocolError::Malformed { .. }
                    | ProtocolError::Unexpected { .. }
                    | ProtocolError::LocalInfile
            ),
            "{packet:?}: {error}"
        );
    }
    // No columns at all.
    assert!(matches!(
        refused(PLAIN, 0, &[b"\xfc\0\0"]),
        ProtocolError::Malformed { .. }
    ));
    // The end of the definitions before they have all come.
    let definition = {
        let mut packet = Vec::new();
        columns()[0].encode(&mut packet, false);
        packet
    };
    let early = refused(PLAIN, 0, &[b"\x02", &definition, b"\xfe\0\0\0\0"]);
    assert!(matches!(early, ProtocolError::Unexpected { .. }), "{early}");
    // A row where the end of the definitions is due.
    let late = refused(PLAIN, 0, &[b"\x01", &definition, b"\x011"]);
    assert!(matches!(late, ProtocolError::Unexpected { .. }), "{late}");
    assert!(matches!(
        refused(agreed, 0, &[b"\x01", b"\x03def\0"]),
        ProtocolError::Malformed { .. }
    ));
}

#[test]
fn numbers_are_checked() {
    let agreed = AGREED[0];
    let mut stream = Vec::new();
    let mut to = Responder::new(&mut stream, agreed, 1);
    to.columns(&columns());
    Responder::new(&mut stream, agreed, 9).text_row(&[ValueRef::Int(1), ValueRef::Null]);
    let told = told(&mut waiting(agreed, &requests()[..1]), &stream, 1);
    assert_eq!(
        told,
        Err(ProtocolError::OutOfSequence {
            expected: 4,
            got: 9
        })
    );
}

#[test]
fn limits_hold() {
    let agreed = AGREED[0];
    let with = |limits: Limits, say: &dyn Fn(&mut Responder<'_>)| {
        let mut conversation = conversation(agreed, limits);
        conversation.submit(requests()[0]);
        told(&mut conversation, &answer(agreed, say), usize::MAX)
    };
    let rows = |to: &mut Responder<'_>| {
        to.columns(&columns());
        for id in 0..3 {
            to.text_row(&[ValueRef::Int(id), ValueRef::Null]);
        }
        to.end(false);
    };
    assert!(
        with(
            Limits {
                max_rows: 3,
                ..Limits::default()
            },
            &rows
        )
        .is_ok()
    );
    let limited = with(
        Limits {
            max_rows: 2,
            ..Limits::default()
        },
        &rows,
    );
    assert_eq!(limited, Err(ProtocolError::TooManyRows { limit: 2 }));
    let limited = with(
        Limits {
            max_columns: 1,
            ..Limits::default()
        },
        &rows,
    );
    assert_eq!(
        limited,
        Err(ProtocolError::TooManyColumns { count: 2, limit: 1 })
    );
    let limited = with(
        Limits {
            max_definitions: 40,
            ..Limits::default()
        },
        &rows,
    );
    assert_eq!(
        limited,
        Err(ProtocolError::DefinitionsTooLarge { limit: 40 })
    );
    let endless = |to: &mut Responder<'_>| {
        to.set_status(Status::MORE_RESULTS);
        for _ in 0..10 {
            to.ok(0, 0);
        }
    };
    let limited = with(
        Limits {
            max_results: 9,
            ..Limits::default()
        },
        &endless,
    );
    assert_eq!(limited, Err(ProtocolError::TooManyResults { limit: 9 }));
    let long = "x".repeat(200);
    let large = |to: &mut Responder<'_>| {
        to.columns(&columns());
        to.text_row(&[ValueRef::Int(1), ValueRef::Text(&long)]);
    };
    let limited = with(
        Limits {
            max_packet: 200,
            ..Limits::default()
        },
        &large,
    );
    assert_eq!(
        limited,
        Err(ProtocolError::PacketTooLarge {
            len: 203,
            limit: 200
        })
    );
}

/// A text row whose first column is 16 MiB or more begins as the end of a result set does.
#[test]
fn a_row_that_begins_like_the_end_is_a_row() {
    let long = "y".repeat(0x100_0000);
    for agreed in AGREED {
        let stream = answer(agreed, |to| {
            to.columns(&columns()[1..]);
            to.text_row(&[ValueRef::Text(&long)]);
            to.text_row(&[ValueRef::Text("short")]);
            to.end(false);
        });
        let told = told(&mut waiting(agreed, &requests()[..1]), &stream, 1 << 20).unwrap();
        assert_eq!(told.len(), 4);
        assert_eq!(told[1].len(), long.len() + r#"row [Text("")]"#.len());
        assert_eq!(told[2..], [r#"row [Text("short")]"#, "ok 0"]);
    }
}

#[test]
fn malformed_rows_are_errors_of_their_own() {
    use crate::mysql::row::{Format, Row};
    use std::sync::Arc;
    let mut columns = crate::mysql::columns::Columns::new();
    for spec in super::script::columns() {
        let mut packet = Vec::new();
        spec.encode(&mut packet, false);
        columns.add(&packet, false).unwrap();
    }
    let columns = Arc::new(columns);
    for packet in [
        &b""[..],
        b"\x011",
        b"\x011\x05abc",
        b"\x011\x01a\x01b",
        b"\xfb\xfb\xfb",
        b"\xff\x01",
        b"\x011\xfe\xff\xff\xff\xff\xff\xff\xff\xff",
    ] {
        let error = Row::new(&columns, Format::Text, packet)
            .values()
            .unwrap_err();
        assert!(error.is_malformed(), "{packet:?}: {error}");
    }
    for packet in [
        &b""[..],
        b"\x00",
        b"\x01\x00",
        b"\x00\x00\x01\0\0\0\0\0\0",
        b"\x00\x00\x01\0\0\0\0\0\0\0\x02a",
        b"\x00\x0c\x00",
        b"\x00\x00\x01\0\0\0\0\0\0\0\xff",
    ] {
        let error = Row::new(&columns, Format::Binary, packet)
            .values()
            .unwrap_err();
        assert!(error.is_malformed(), "{packet:?}: {error}");
    }
}
