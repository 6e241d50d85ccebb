//! What a row of MySQL costs to find and to read, without a socket: four columns (BIGINT, VARCHAR of 20, DOUBLE,
//! DATETIME), in both formats, borrowed from the buffer and owned.
//!
//! `cargo bench -p arknet-proto --bench mysql_rows` prints nanoseconds. For instructions, run the binary under
//! `valgrind --tool=callgrind` as `mysql_rows binary 100` and `mysql_rows binary 200`, and divide the difference by
//! 100 times 1000 rows; `binary-owned`, `text` and `text-owned` likewise.

#![allow(missing_docs, reason = "a program")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench fails by panicking"
)]

use std::hint::black_box;

use arknet_proto::mysql::answer::{Conversation, Event};
use arknet_proto::mysql::command;
use arknet_proto::mysql::row::{Format, FromRow, Plan};
use arknet_proto::mysql::server::Responder;
use arknet_proto::mysql::value::{Date, DateTime, ValueRef};
use arknet_proto::mysql::{Capabilities, ColumnSpec, ColumnType, Limits, Status};
use rustix::time::{ClockId, clock_gettime};

/// Rows of one answer: as many as fit a read of 64 KiB, nearly.
const ROWS: usize = 1000;

const AGREED: Capabilities = Capabilities::PROTOCOL_41.with(Capabilities::DEPRECATE_EOF);

type Borrowed<'a> = (i64, &'a str, f64, DateTime);
type Owned = (i64, String, f64, DateTime);

const KINDS: [&str; 4] = ["binary", "binary-owned", "text", "text-owned"];

fn main() {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with("--"))
        .collect();
    match arguments.as_slice() {
        [kind, answers] => run(kind, answers.parse().unwrap()),
        // `cargo test` runs benches without this flag: only whether they work is asked then.
        _ if std::env::args().any(|argument| argument == "--bench") => report(9, 300),
        _ => report(1, 2),
    }
}

fn report(rounds: usize, answers: usize) {
    for kind in KINDS {
        let mut nanoseconds: Vec<f64> = (0..rounds)
            .map(|_| {
                let start = processor_time();
                run(kind, answers);
                (processor_time() - start) as f64 / (answers * ROWS) as f64
            })
            .collect();
        nanoseconds.sort_by(f64::total_cmp);
        let (least, median) = (nanoseconds[0], nanoseconds[rounds / 2]);
        println!("{kind:>13}: {median:6.1} ns a row (least {least:.1})");
    }
}

/// Nanoseconds that this thread has used: other work on the machine is not in it.
fn processor_time() -> i64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

fn run(kind: &str, answers: usize) {
    match kind {
        "binary" => read::<BorrowedRow>(Format::Binary, answers),
        "binary-owned" => read::<OwnedRow>(Format::Binary, answers),
        "text" => read::<BorrowedRow>(Format::Text, answers),
        _ => read::<OwnedRow>(Format::Text, answers),
    }
}

/// A type of row for any lifetime.
trait Shape {
    type Row<'a>: FromRow<'a>;

    fn number(row: &Self::Row<'_>) -> i64;
}

struct BorrowedRow;

impl Shape for BorrowedRow {
    type Row<'a> = Borrowed<'a>;

    fn number(row: &Borrowed<'_>) -> i64 {
        row.0 + row.1.len() as i64
    }
}

struct OwnedRow;

impl Shape for OwnedRow {
    type Row<'a> = Owned;

    fn number(row: &Owned) -> i64 {
        row.0 + row.1.len() as i64
    }
}

fn read<S: Shape>(format: Format, answers: usize) {
    let answer = answer(format);
    let mut conversation = Conversation::new(AGREED, Status::default(), Limits::default());
    let mut wire = Vec::new();
    let mut sum = 0_i64;
    for _ in 0..answers {
        wire.clear();
        let request = match format {
            Format::Text => command::query(&mut wire, b"SELECT", 100).unwrap(),
            Format::Binary => command::execute(&mut wire, 1, &(), 100).unwrap(),
        };
        conversation.submit(request);
        sum = sum.wrapping_add(read_answer::<S>(&mut conversation, black_box(&answer)));
    }
    assert_eq!(sum, answers as i64 * expected());
}

#[inline(never)]
fn read_answer<S: Shape>(conversation: &mut Conversation, answer: &[u8]) -> i64 {
    let (mut at, mut sum, mut plan) = (0, 0, Plan::positional());
    loop {
        while let Some(row) = conversation.next_row(answer, &mut at).unwrap() {
            let row = row.decode::<S::Row<'_>>(&plan).unwrap();
            sum += S::number(black_box(&row));
        }
        match conversation.next(answer, &mut at).unwrap() {
            Some(Event::Columns(columns)) => plan = S::Row::plan(columns).unwrap(),
            Some(Event::Ok(_)) => return sum,
            other => panic!("{other:?}"),
        }
    }
}

fn expected() -> i64 {
    (0..ROWS as i64).map(|at| number(at) + 20).sum()
}

/// Of as many digits as ids have.
fn number(at: i64) -> i64 {
    1_000_000_000 + at * 7919
}

fn answer(format: Format) -> Vec<u8> {
    let columns = [
        ColumnSpec::new("id", ColumnType::LongLong),
        ColumnSpec::new("name", ColumnType::VarString),
        ColumnSpec::new("score", ColumnType::Double),
        ColumnSpec::new("at", ColumnType::DateTime),
    ];
    let mut wire = Vec::new();
    let mut responder = Responder::new(&mut wire, AGREED, 1);
    responder.columns(&columns);
    for at in 0..ROWS {
        let name = format!("player-{at:013}");
        let (day, second) = ((at % 28 + 1) as u8, (at % 60) as u8);
        let values = [
            ValueRef::Int(number(at as i64)),
            ValueRef::Text(&name),
            ValueRef::Double(at as f64 * 1.37),
            ValueRef::DateTime(
                DateTime::new(Date::new(2024, 2, day).unwrap(), 12, 34, second, 0).unwrap(),
            ),
        ];
        match format {
            Format::Text => responder.text_row(&values),
            Format::Binary => responder.binary_row(&columns, &values),
        }
    }
    responder.end(false);
    wire
}
