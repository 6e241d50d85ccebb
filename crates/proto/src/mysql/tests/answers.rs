//! Answers of every kind, however they arrive.

use std::sync::Arc;

use super::script::{AGREED, PLAIN, answer, columns, conversation, told, waiting};
use crate::mysql::answer::{Conversation, Event, Fate};
use crate::mysql::capabilities::{Capabilities, Status};
use crate::mysql::command::{self, LAST_STATEMENT, Request};
use crate::mysql::error::{ProtocolError, ServerError};
use crate::mysql::limits::Limits;
use crate::mysql::ok::OkPacket;
use crate::mysql::server::Responder;
use crate::mysql::value::ValueRef;

fn query() -> Request {
    command::query(&mut Vec::new(), b"SELECT", 100).unwrap()
}

fn prepare() -> Request {
    command::prepare(&mut Vec::new(), b"SELECT ?", 100).unwrap()
}

fn execute(statement: u32) -> Request {
    command::execute(&mut Vec::new(), statement, &(), 100).unwrap()
}

fn row<'a>(id: i64, name: &'a str) -> [ValueRef<'a>; 2] {
    [ValueRef::Int(id), ValueRef::Text(name)]
}

fn two_rows(to: &mut Responder<'_>) {
    to.columns(&columns());
    to.text_row(&row(1, "one"));
    to.text_row(&[ValueRef::Int(2), ValueRef::Null]);
    to.end(false);
}

const TWO_ROWS: [&str; 4] = [
    "columns id name",
    r#"row [Int(1), Text("one")]"#,
    "row [Int(2), Null]",
    "ok 0",
];

/// The same is told wherever the stream is cut, and an end in the middle is an error.
fn is_told(agreed: Capabilities, requests: &[Request], stream: &[u8], expected: &[&str]) {
    for piece in 1..=stream.len() {
        let mut conversation = waiting(agreed, requests);
        assert_eq!(
            told(&mut conversation, stream, piece).unwrap(),
            expected,
            "pieces of {piece}"
        );
        assert!(conversation.is_idle());
    }
    for cut in 1..stream.len() {
        let end = told(&mut waiting(agreed, requests), &stream[..cut], usize::MAX);
        assert!(
            matches!(end, Err(ProtocolError::UnexpectedEnd { .. })),
            "{cut}: {end:?}"
        );
    }
}

#[test]
fn rows_are_told_in_order() {
    for agreed in AGREED {
        is_told(agreed, &[query()], &answer(agreed, two_rows), &TWO_ROWS);
        let binary = answer(agreed, |to| {
            to.columns(&columns());
            to.binary_row(&columns(), &row(-1, "☃"));
            to.binary_row(&columns(), &[ValueRef::Null, ValueRef::Null]);
            to.end(false);
        });
        let expected = [
            "columns id name",
            r#"row [Int(-1), Text("☃")]"#,
            "row [Null, Null]",
            "ok 0",
        ];
        is_told(agreed, &[execute(1)], &binary, &expected);
    }
}

#[test]
fn a_statement_without_rows_is_an_ok() {
    for agreed in AGREED {
        is_told(
            agreed,
            &[query()],
            &answer(agreed, |to| to.ok(3, 7)),
            &["ok 3"],
        );
    }
}

#[test]
fn several_results_are_one_answer() {
    for agreed in AGREED {
        let stream = answer(agreed, |to| {
            to.columns(&columns());
            to.text_row(&row(1, "a"));
            to.end(true);
            to.set_status(Status::MORE_RESULTS);
            to.ok(5, 0);
            to.set_status(Status::AUTOCOMMIT);
            to.columns(&columns()[..1]);
            to.end(true);
            to.error(&ServerError::new(1146, *b"42S02", "no such table"));
        });
        let expected = [
            "columns id name",
            r#"row [Int(1), Text("a")]"#,
            "ok 0, more",
            "ok 5, more",
            "columns id",
            "ok 0, more",
            "error 1146",
        ];
        is_told(agreed, &[query()], &stream, &expected);
    }
}

#[test]
fn an_error_ends_an_answer_at_any_place() {
    let error = ServerError::new(1317, *b"70100", "interrupted");
    for agreed in AGREED {
        let head = answer(agreed, |to| to.error(&error));
        is_told(agreed, &[query()], &head, &["error 1317"]);
        is_told(agreed, &[prepare()], &head, &["error 1317"]);
        let row_then = answer(agreed, |to| {
            to.columns(&columns());
            to.text_row(&row(1, "one"));
            to.error(&error);
        });
        is_told(
            agreed,
            &[query()],
            &row_then,
            &[TWO_ROWS[0], TWO_ROWS[1], "error 1317"],
        );
    }
}

#[test]
fn a_prepared_statement_tells_its_parameters_and_columns() {
    for agreed in AGREED {
        for (params, yields) in [(0, 0), (0, 2), (2, 0), (1, 1), (2, 2)] {
            let stream = answer(agreed, |to| {
                to.prepared(9, &columns()[..params], &columns()[..yields]);
            });
            let expected = format!("prepared 9 of {params} yields {yields}");
            is_told(agreed, &[prepare()], &stream, &[&expected]);
        }
    }
}

#[test]
fn requests_in_one_flight_are_answered_one_by_one() {
    for agreed in AGREED {
        let mut wire = Vec::new();
        let requests = [
            query(),
            command::close_statement(&mut wire, 5),
            command::ping(&mut wire),
            execute(1),
            command::close_statement(&mut wire, 6),
        ];
        let binary = answer(agreed, |to| {
            to.columns(&columns());
            to.binary_row(&columns(), &row(7, "x"));
            to.end(false);
        });
        let stream = [
            answer(agreed, two_rows),
            answer(agreed, |to| to.ok(0, 0)),
            binary,
        ]
        .concat();
        let expected = [
            &TWO_ROWS[..],
            &[
                "ok 0",
                "columns id name",
                r#"row [Int(7), Text("x")]"#,
                "ok 0",
            ],
        ]
        .concat();
        is_told(agreed, &requests, &stream, &expected);
    }
}

#[test]
fn columns_that_are_the_same_again_are_the_same() {
    for agreed in AGREED {
        let mut conversation = conversation(agreed, Limits::default());
        let mut last = None;
        for round in 0..3 {
            conversation.submit(query());
            let stream = answer(agreed, |to| {
                to.columns(&columns()[..if round < 2 { 2 } else { 1 }]);
                to.end(false);
            });
            let mut at = 0;
            while let Some(event) = conversation.next(&stream, &mut at).unwrap() {
                let Event::Columns(columns) = event else {
                    continue;
                };
                let same = last
                    .replace(Arc::clone(columns))
                    .map(|last| Arc::ptr_eq(&last, columns));
                assert_eq!(same, [None, Some(true), Some(false)][round]);
            }
        }
    }
}

#[test]
fn a_column_that_changed_is_noticed_wherever_it_is() {
    let changed = |at: usize| {
        let mut columns = columns();
        columns[at].name = "other";
        columns
    };
    for agreed in AGREED {
        for at in 0..2 {
            let stream = [
                answer(agreed, |to| {
                    to.columns(&columns());
                    to.end(false);
                }),
                answer(agreed, |to| {
                    to.columns(&changed(at));
                    to.end(false);
                }),
            ]
            .concat();
            let expected = ["columns other name", "columns id other"][at];
            is_told(
                agreed,
                &[query(), query()],
                &stream,
                &["columns id name", "ok 0", expected, "ok 0"],
            );
        }
    }
}

/// What MariaDB leaves out is known by the statement's answer before, even if that was not read when the request was
/// written.
#[test]
fn definitions_that_are_left_out_are_those_of_the_statement() {
    let agreed = AGREED[1];
    let known = |to: &mut Responder<'_>| {
        to.known_columns(1);
        to.binary_row(&columns()[1..], &[ValueRef::Text("x")]);
        to.end(false);
    };
    let told_x = ["columns name", r#"row [Text("x")]"#, "ok 0"];
    let stream = [
        answer(agreed, |to| to.prepared(4, &[], &columns()[1..])),
        answer(agreed, known),
        answer(agreed, two_rows),
        answer(agreed, known),
    ]
    .concat();
    let expected = [
        &["prepared 4 of 0 yields 1"][..],
        &told_x,
        &TWO_ROWS,
        &told_x,
    ]
    .concat();
    is_told(
        agreed,
        &[prepare(), execute(LAST_STATEMENT), query(), execute(4)],
        &stream,
        &expected,
    );

    // A change that the first answer brings is the base of the second.
    let changed = answer(agreed, |to| {
        to.columns(&columns()[..1]);
        to.binary_row(&columns()[..1], &[ValueRef::Int(1)]);
        to.end(false);
    });
    let after = answer(agreed, |to| {
        to.known_columns(1);
        to.binary_row(&columns()[..1], &[ValueRef::Int(2)]);
        to.end(false);
    });
    let stream = [
        answer(agreed, |to| to.prepared(4, &[], &columns()[1..])),
        changed,
        after,
    ]
    .concat();
    let expected = [
        "prepared 4 of 0 yields 1",
        "columns id",
        "row [Int(1)]",
        "ok 0",
        "columns id",
        "row [Int(2)]",
        "ok 0",
    ];
    is_told(
        agreed,
        &[prepare(), execute(4), execute(4)],
        &stream,
        &expected,
    );
}

#[test]
fn definitions_that_nobody_knows_may_not_be_left_out() {
    let agreed = AGREED[1];
    let known = answer(agreed, |to| to.known_columns(1));
    let refused = |requests: &[Request], stream: &[u8]| {
        let told = told(&mut waiting(agreed, requests), stream, usize::MAX);
        assert!(
            matches!(told, Err(ProtocolError::Unexpected { .. })),
            "{told:?}"
        );
    };
    refused(&[query()], &known);
    refused(&[execute(4)], &known);
    let prepared = answer(agreed, |to| to.prepared(4, &[], &columns()[1..]));
    let mut wire = Vec::new();
    let closed = [
        prepare(),
        command::close_statement(&mut wire, 4),
        execute(4),
    ];
    refused(&closed, &[&prepared[..], &known].concat());
    let reset = [prepare(), command::reset_connection(&mut wire), execute(4)];
    refused(
        &reset,
        &[&prepared[..], &answer(agreed, |to| to.ok(0, 0)), &known].concat(),
    );
    // A preparation that failed leaves nothing to be executed.
    let error = answer(agreed, |to| {
        to.error(&ServerError::new(1064, *b"42000", "syntax"));
    });
    refused(
        &[prepare(), prepare(), execute(LAST_STATEMENT)],
        &[&prepared[..], &error, &known].concat(),
    );
}

#[test]
fn a_file_is_sent_when_the_caller_allows_it() {
    let agreed = PLAIN | Capabilities::DEPRECATE_EOF | Capabilities::LOCAL_FILES;
    let stream = answer(agreed, |to| to.local_infile("any"));
    let mut conversation = waiting(agreed, &[query()]);
    let mut at = 0;
    let Some(Event::LocalInfile(name)) = conversation.next(&stream, &mut at).unwrap() else {
        panic!()
    };
    assert_eq!(name, b"any");
    let mut wire = Vec::new();
    let mut file = conversation.infile();
    file.piece(&mut wire, b"1,2");
    file.piece(&mut wire, b"");
    file.finish(&mut wire);
    assert_eq!(wire, b"\x03\0\0\x021,2\0\0\0\x03");
    let mut done = Vec::new();
    Responder::new(&mut done, agreed, 4).ok(2, 0);
    assert_eq!(told(&mut conversation, &done, 3).unwrap(), ["ok 2"]);

    let refused = told(
        &mut waiting(agreed.without(Capabilities::LOCAL_FILES), &[query()]),
        &stream,
        1,
    );
    assert_eq!(refused, Err(ProtocolError::LocalInfile));
}

#[test]
fn progress_is_told_and_ends_nothing() {
    for agreed in AGREED {
        let stream = answer(agreed, |to| {
            to.progress(1, 2, 50_000, "copy");
            to.progress(2, 2, 1, "enable keys");
            to.ok(0, 0);
        });
        is_told(
            agreed,
            &[query()],
            &stream,
            &["progress 50000", "progress 1", "ok 0"],
        );
    }
}

#[test]
fn what_a_server_says_without_being_asked_is_a_farewell_or_an_error() {
    let agreed = AGREED[0];
    let mut goodbye = Vec::new();
    Responder::new(&mut goodbye, agreed, 0).error(&ServerError::new(4031, *b"HY000", "idle"));
    let mut idle = conversation(agreed, Limits::default());
    assert_eq!(
        told(&mut idle, &goodbye, 1),
        Ok(vec!["farewell 4031".into()])
    );
    assert!(idle.is_broken());
    let mut idle = conversation(agreed, Limits::default());
    let mut ok = Vec::new();
    Responder::new(&mut ok, agreed, 0).ok(0, 0);
    assert!(matches!(
        told(&mut idle, &ok, 99),
        Err(ProtocolError::Unsolicited { .. })
    ));
    assert!(idle.is_broken());
}

#[test]
fn what_comes_behind_an_answer_is_not_a_row_of_it() {
    for agreed in AGREED {
        let stream = answer(agreed, |to| {
            to.columns(&columns());
            to.error(&ServerError::new(1317, *b"70100", "interrupted"));
            to.text_row(&row(1, "late"));
        });
        for piece in 1..=stream.len() {
            let told = told(&mut waiting(agreed, &[query()]), &stream, piece);
            assert!(told.is_err(), "{told:?}");
        }
    }
}

/// It meets a request on its way: the server has not seen the request, but the client cannot know.
#[test]
fn an_error_out_of_turn_is_told_and_the_connection_given_up() {
    let agreed = AGREED[0];
    let mut stray = Vec::new();
    Responder::new(&mut stray, agreed, 0).error(&ServerError::new(1317, *b"70100", "killed"));
    let mut conversation = waiting(agreed, &[query()]);
    assert_eq!(told(&mut conversation, &stray, 5).unwrap(), ["error 1317"]);
    assert!(conversation.is_broken());
}

#[test]
fn a_lost_connection_tells_what_may_have_happened() {
    let mut wire = Vec::new();
    let requests = [
        command::ping(&mut wire),
        command::close_statement(&mut wire, 1),
        command::ping(&mut wire),
        command::ping(&mut wire),
    ];
    // Five bytes, nine, five and five.
    for (handed_over, expected) in [
        (0, [Fate::NotSent, Fate::NotSent, Fate::NotSent]),
        (1, [Fate::Unknown, Fate::NotSent, Fate::NotSent]),
        (5, [Fate::Unknown, Fate::NotSent, Fate::NotSent]),
        (14, [Fate::Unknown, Fate::NotSent, Fate::NotSent]),
        (15, [Fate::Unknown, Fate::Unknown, Fate::NotSent]),
        (24, [Fate::Unknown, Fate::Unknown, Fate::Unknown]),
    ] {
        let mut conversation = waiting(AGREED[0], &requests);
        assert_eq!(
            (conversation.waiting(), conversation.written()),
            (3, wire.len() as u64)
        );
        assert_eq!(conversation.lost(handed_over).collect::<Vec<_>>(), expected);
        assert!(conversation.is_idle() && conversation.is_broken());
    }
    let mut answered = waiting(AGREED[0], &requests);
    let stream = answer(AGREED[0], |to| to.ok(0, 0));
    let mut at = 0;
    assert!(answered.next(&stream, &mut at).unwrap().is_some());
    assert_eq!(
        answered.lost(19).collect::<Vec<_>>(),
        [Fate::Unknown, Fate::NotSent]
    );
}

#[test]
fn the_state_of_the_server_is_that_of_the_last_result() {
    for agreed in AGREED {
        let mut conversation: Conversation = waiting(agreed, &[query(), query()]);
        let in_transaction = answer(agreed, |to| {
            to.set_status(Status::IN_TRANSACTION);
            to.columns(&columns());
            to.end(false);
        });
        told(
            &mut conversation,
            &[in_transaction, answer(agreed, |to| to.ok(0, 0))].concat(),
            7,
        )
        .unwrap();
        assert_eq!(conversation.status(), Status::AUTOCOMMIT);
        let mut conversation = waiting(agreed, &[query()]);
        let stream = answer(agreed, |to| {
            to.ok_packet(&OkPacket::with_status(Status::IN_TRANSACTION), b"");
        });
        told(&mut conversation, &stream, 7).unwrap();
        assert_eq!(conversation.status(), Status::IN_TRANSACTION);
    }
}
