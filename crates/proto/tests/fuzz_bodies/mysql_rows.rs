//! Any answers, however they arrive: the same events and the same error, rows read or refused, limits kept; and rows
//! that are made are the same in both formats.
//!
//! Input: a byte of what is agreed on, how many requests, a byte for the kind of each, the size of pieces, and the stream.
//! With the highest bit of the first byte set: columns and values instead.

use std::sync::Arc;

use arknet_proto::mysql::answer::{Conversation, Event};
use arknet_proto::mysql::row::{Format, Row};
use arknet_proto::mysql::server::Responder;
use arknet_proto::mysql::value::{Date, DateTime, Decimal, Time, Value, ValueRef};
use arknet_proto::mysql::{
    Capabilities, ColumnFlags, ColumnSpec, ColumnType, Columns, Limits, ProtocolError, Status,
    command,
};

use super::Input;

/// Rows, columns and results of one input, few enough for a limit to be met.
const MANY: usize = 20;

/// Runs one input.
pub(crate) fn run(data: &[u8]) {
    let mut input = Input(data);
    let choices = input.byte();
    if choices & 128 != 0 {
        return made_rows(input);
    }
    let count = usize::from(input.byte()) % 8;
    let requests = input.take(count);
    let piece = usize::from(input.byte());
    let stream = input.0;
    let whole = told(choices, requests, stream, usize::MAX);
    assert_eq!(told(choices, requests, stream, piece.max(1)), whole);
}

fn agreed(choices: u8) -> Capabilities {
    let mut agreed = Capabilities::PROTOCOL_41;
    for (bit, flag) in [
        (1, Capabilities::DEPRECATE_EOF),
        (2, Capabilities::SESSION_TRACK),
        (4, Capabilities::MARIADB_CACHE_METADATA),
        (8, Capabilities::MARIADB_EXTENDED_METADATA),
        (16, Capabilities::LOCAL_FILES),
        (32, Capabilities::COMPRESS),
    ] {
        if choices & bit != 0 {
            agreed |= flag;
        }
    }
    agreed
}

type Told = (Vec<String>, Result<(), ProtocolError>);

/// One line for each event.
fn told(choices: u8, requests: &[u8], stream: &[u8], piece: usize) -> Told {
    let mut limits = Limits::default();
    limits.max_columns = MANY;
    limits.max_rows = MANY as u64;
    limits.max_results = MANY as u32;
    limits.max_definitions = 1000;
    limits.max_packet = 5000;
    let mut conversation = Conversation::new(agreed(choices), Status::default(), limits);
    submit(&mut conversation, requests);
    let (mut buffer, mut events) = (Vec::new(), Vec::new());
    for piece in stream.chunks(piece) {
        buffer.extend_from_slice(piece);
        let mut at = 0;
        loop {
            // Rows by the short way and by the long one, in turn.
            if events.len() % 2 == 0 {
                match conversation.next_row(&buffer, &mut at) {
                    Ok(Some(row)) => {
                        events.push(row_line(&row));
                        continue;
                    }
                    Ok(None) => {}
                    Err(error) => return (events, Err(error)),
                }
            }
            match conversation.next(&buffer, &mut at) {
                Ok(Some(event)) => events.push(line(&event)),
                Ok(None) => break,
                Err(error) => {
                    assert!(conversation.is_broken());
                    return (events, Err(unsolicited(error)));
                }
            }
            assert!(at <= buffer.len());
        }
        buffer.drain(..at);
    }
    let end = conversation.finish(buffer.len());
    (events, end)
}

/// How many bytes came that nobody asked for depends on how they arrive.
fn unsolicited(error: ProtocolError) -> ProtocolError {
    match error {
        ProtocolError::Unsolicited { .. } => ProtocolError::Unsolicited { len: 0 },
        error => error,
    }
}

fn submit(conversation: &mut Conversation, requests: &[u8]) {
    let mut wire = Vec::new();
    for kind in requests {
        let request = match kind % 8 {
            0 | 1 => command::query(&mut wire, b"", 10).unwrap(),
            2 => command::prepare(&mut wire, b"", 10).unwrap(),
            3 => command::execute(&mut wire, 1, &(), 20).unwrap(),
            4 => command::execute(&mut wire, command::LAST_STATEMENT, &(), 20).unwrap(),
            5 => command::close_statement(&mut wire, 1),
            6 => command::reset_connection(&mut wire),
            _ => command::ping(&mut wire),
        };
        conversation.submit(request);
    }
}

fn line(event: &Event<'_>) -> String {
    match event {
        Event::Row(row) => row_line(row),
        Event::Columns(columns) => {
            let columns = columns
                .iter()
                .map(|column| format!("{:?} {:?}", column.name(), column.kind()));
            format!("columns {:?}", columns.collect::<Vec<_>>())
        }
        Event::Ok(ok) => format!("{ok:?} {:?}", ok.changes().collect::<Vec<_>>()),
        Event::Prepared(prepared) => format!("prepared {}", prepared.id()),
        other => format!("{other:?}"),
    }
}

fn row_line(row: &Row<'_>) -> String {
    match row.values() {
        Ok(values) => {
            assert_eq!(values.len(), row.columns().len());
            format!("row {values:?}")
        }
        Err(error) => format!("row: {error}"),
    }
}

/// Columns and values of the fuzzer's choice, as a server writes them.
fn made_rows(mut input: Input<'_>) {
    let mut specs = Vec::new();
    let mut values = Vec::new();
    while !input.is_empty() && specs.len() < MANY {
        let (spec, value) = cell(&mut input);
        specs.push(spec);
        values.push(value);
    }
    let mut columns = Columns::new();
    let mut wire = Vec::new();
    // The engine is given the definitions as it would read them.
    let agreed = Capabilities::PROTOCOL_41 | Capabilities::DEPRECATE_EOF;
    if specs.is_empty() {
        return;
    }
    let borrowed: Vec<ValueRef<'_>> = values.iter().map(Value::as_ref).collect();
    for format in [Format::Text, Format::Binary] {
        wire.clear();
        let mut to = Responder::new(&mut wire, agreed, 1);
        to.columns(&specs);
        match format {
            Format::Text => to.text_row(&borrowed),
            Format::Binary => to.binary_row(&specs, &borrowed),
        }
        to.end(false);
        let mut conversation = Conversation::new(agreed, Status::default(), Limits::default());
        conversation.submit(match format {
            Format::Text => command::query(&mut Vec::new(), b"", 10).unwrap(),
            Format::Binary => command::execute(&mut Vec::new(), 1, &(), 20).unwrap(),
        });
        let (mut at, mut rows) = (0, 0);
        while let Some(event) = conversation.next(&wire, &mut at).unwrap() {
            match event {
                Event::Columns(read) => columns = Columns::clone(read),
                Event::Row(row) => {
                    rows += 1;
                    assert_eq!(row.values().unwrap(), borrowed);
                    let copy =
                        Row::new(&Arc::new(columns.clone()), format, row.packet()).to_owned();
                    assert_eq!(copy.values().unwrap(), values);
                }
                Event::Ok(_) => {}
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(rows, 1);
    }
}

fn cell(input: &mut Input<'_>) -> (ColumnSpec<'static>, Value) {
    let kind = input.byte();
    let mut number = || u64::from_le_bytes(input.take(8).try_into().unwrap_or([kind; 8]));
    let unsigned =
        |column_type| ColumnSpec::new("u", column_type).with_flags(ColumnFlags::UNSIGNED);
    let plain = |column_type| ColumnSpec::new("c", column_type);
    match kind % 16 {
        0 => (plain(ColumnType::LongLong), Value::Int(number() as i64)),
        1 => (unsigned(ColumnType::LongLong), Value::Uint(number())),
        2 => (plain(ColumnType::Tiny), Value::Int((number() as i8).into())),
        3 => (
            unsigned(ColumnType::Short),
            Value::Uint((number() as u16).into()),
        ),
        4 => (
            plain(ColumnType::Int24),
            Value::Int((number() as i32).into()),
        ),
        5 => (
            plain(ColumnType::Double),
            Value::Double(finite(f64::from_bits(number()))),
        ),
        6 => (
            plain(ColumnType::Float),
            Value::Float(finite_f32(f32::from_bits(number() as u32))),
        ),
        7 => {
            let (whole, fraction) = (number() as i64, number() % 1_000_000);
            let decimal = Decimal::new(format!("{whole}.{fraction:06}")).unwrap();
            (plain(ColumnType::NewDecimal), Value::Decimal(decimal))
        }
        8 => (plain(ColumnType::Date), Value::Date(date(number()))),
        9 => (
            plain(ColumnType::DateTime),
            Value::DateTime(date_time(number(), number())),
        ),
        10 => (plain(ColumnType::Time), Value::Time(time(number()))),
        11 | 12 => {
            let len = input.number() % 400;
            let text = String::from_utf8_lossy(input.take(len)).into_owned();
            (plain(ColumnType::VarString), Value::Text(text))
        }
        13 | 14 => {
            let len = input.number() % 400;
            (
                plain(ColumnType::Blob),
                Value::Bytes(input.take(len).to_vec()),
            )
        }
        _ => (plain(ColumnType::LongLong), Value::Null),
    }
}

/// Servers have no others.
fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}

fn finite_f32(value: f32) -> f32 {
    if value.is_finite() { value } else { 0.0 }
}

fn date(bits: u64) -> Date {
    let year = (bits & 0xffff) % 10_000;
    let (month, day) = ((bits >> 16 & 0xff) % 13, (bits >> 24 & 0xff) % 32);
    Date::new(year as u16, month as u8, day as u8).unwrap()
}

fn date_time(day: u64, bits: u64) -> DateTime {
    let (hour, minute) = ((bits & 0xff) % 24, (bits >> 8 & 0xff) % 60);
    let (second, micros) = (
        (bits >> 16 & 0xff) % 60,
        (bits >> 24 & 0xff_ffff) % 1_000_000,
    );
    DateTime::new(
        date(day),
        hour as u8,
        minute as u8,
        second as u8,
        micros as u32,
    )
    .unwrap()
}

fn time(bits: u64) -> Time {
    let (hours, minutes) = ((bits & 0xffff) % 839, (bits >> 16 & 0xff) % 60);
    let (seconds, micros) = (
        (bits >> 24 & 0xff) % 60,
        (bits >> 32 & 0xff_ffff) % 1_000_000,
    );
    let negative = bits >> 63 != 0;
    Time::new(
        negative,
        hours as u16,
        minutes as u8,
        seconds as u8,
        micros as u32,
    )
    .unwrap()
}
