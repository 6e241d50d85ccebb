//! Any row of any types is the same in text and in binary, and types ask for what they can hold.

use std::sync::Arc;

use proptest::prelude::*;

use crate::mysql::capabilities::Capabilities;
use crate::mysql::columns::{BINARY, ColumnFlags, ColumnSpec, Columns};
use crate::mysql::kind::ColumnType;
use crate::mysql::row::{CellError, Fault, Format, FromRow, FromValue, Row};
use crate::mysql::server::Responder;
use crate::mysql::value::{Date, DateTime, Decimal, Time, Value, ValueRef};

/// A column of some type, and a value that it can hold.
fn cell() -> impl Strategy<Value = (ColumnSpec<'static>, Value)> {
    let number = |column_type, unsigned: bool| {
        let flags = if unsigned {
            ColumnFlags::UNSIGNED
        } else {
            ColumnFlags::default()
        };
        ColumnSpec::new("n", column_type).with_flags(flags)
    };
    let plain = |column_type| ColumnSpec::new("c", column_type);
    prop_oneof![
        any::<i8>().prop_map(move |v| (number(ColumnType::Tiny, false), Value::Int(v.into()))),
        any::<u8>().prop_map(move |v| (number(ColumnType::Tiny, true), Value::Uint(v.into()))),
        any::<i16>().prop_map(move |v| (number(ColumnType::Short, false), Value::Int(v.into()))),
        any::<u16>().prop_map(move |v| (number(ColumnType::Short, true), Value::Uint(v.into()))),
        any::<i32>().prop_map(move |v| (number(ColumnType::Long, false), Value::Int(v.into()))),
        (0..1_u32 << 24)
            .prop_map(move |v| (number(ColumnType::Int24, true), Value::Uint(v.into()))),
        any::<i64>().prop_map(move |v| (number(ColumnType::LongLong, false), Value::Int(v))),
        any::<u64>().prop_map(move |v| (number(ColumnType::LongLong, true), Value::Uint(v))),
        (0..2156_u64).prop_map(move |v| (number(ColumnType::Year, true), Value::Uint(v))),
        finite_f32().prop_map(move |v| (plain(ColumnType::Float), Value::Float(v))),
        finite_f64().prop_map(move |v| (plain(ColumnType::Double), Value::Double(v))),
        "-?[0-9]{1,30}(\\.[0-9]{1,30})?".prop_map(move |v| (
            plain(ColumnType::NewDecimal),
            Value::Decimal(Decimal::new(v).unwrap())
        )),
        date().prop_map(move |v| (plain(ColumnType::Date), Value::Date(v))),
        date_time().prop_map(move |v| (plain(ColumnType::DateTime), Value::DateTime(v))),
        time().prop_map(move |v| (plain(ColumnType::Time), Value::Time(v))),
        ".{0,20}".prop_map(move |v| (plain(ColumnType::VarString), Value::Text(v))),
        "\\PC{0,300}".prop_map(move |v| (plain(ColumnType::Blob).with_charset(45), Value::Text(v))),
        prop::collection::vec(any::<u8>(), 0..300).prop_map(move |v| (
            plain(ColumnType::Blob).with_charset(BINARY),
            Value::Bytes(v)
        )),
        "\\{\"a\": [0-9]{1,3}\\}".prop_map(move |v| (plain(ColumnType::Json), Value::Text(v))),
    ]
}

fn finite_f32() -> impl Strategy<Value = f32> {
    any::<f32>().prop_filter("servers have no others", |value| value.is_finite())
}

fn finite_f64() -> impl Strategy<Value = f64> {
    any::<f64>().prop_filter("servers have no others", |value| value.is_finite())
}

fn date() -> impl Strategy<Value = Date> {
    (0..=9999_u16, 0..=12_u8, 0..=31_u8).prop_map(|(y, m, d)| Date::new(y, m, d).unwrap())
}

fn microsecond() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0), 0..1_000_000_u32]
}

fn date_time() -> impl Strategy<Value = DateTime> {
    let day = (0..24_u8, 0..60_u8, 0..60_u8, microsecond());
    let day = prop_oneof![Just((0, 0, 0, 0)), day];
    (date(), day).prop_map(|(date, (h, m, s, us))| DateTime::new(date, h, m, s, us).unwrap())
}

fn time() -> impl Strategy<Value = Time> {
    (
        any::<bool>(),
        0..=838_u16,
        0..60_u8,
        0..60_u8,
        microsecond(),
    )
        .prop_map(|(negative, h, m, s, us)| Time::new(negative, h, m, s, us).unwrap())
}

/// A row of one to twenty columns, some of them NULL.
fn row() -> impl Strategy<Value = Vec<(ColumnSpec<'static>, Value)>> {
    let cell = (cell(), prop::bool::weighted(0.2));
    let cell =
        cell.prop_map(|((spec, value), null)| (spec, if null { Value::Null } else { value }));
    prop::collection::vec(cell, 1..20)
}

fn columns(specs: &[ColumnSpec<'_>]) -> Arc<Columns> {
    let mut columns = Columns::new();
    for spec in specs {
        let mut packet = Vec::new();
        spec.encode(&mut packet, false);
        columns.add(&packet, false).unwrap();
    }
    Arc::new(columns)
}

/// The row as a server writes it, in both formats.
fn written(specs: &[ColumnSpec<'_>], values: &[ValueRef<'_>]) -> [(Format, Vec<u8>); 2] {
    let packet = |say: &dyn Fn(&mut Responder<'_>)| {
        let mut wire = Vec::new();
        say(&mut Responder::new(&mut wire, Capabilities::PROTOCOL_41, 0));
        wire.split_off(4)
    };
    [
        (Format::Text, packet(&|to| to.text_row(values))),
        (Format::Binary, packet(&|to| to.binary_row(specs, values))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_row_is_the_same_in_both_formats(row in row()) {
        let (specs, values): (Vec<_>, Vec<_>) = row.into_iter().unzip();
        let columns = columns(&specs);
        let borrowed: Vec<_> = values.iter().map(Value::as_ref).collect();
        for (format, packet) in written(&specs, &borrowed) {
            let row = Row::new(&columns, format, &packet);
            prop_assert_eq!(&row.to_owned().values().unwrap(), &values);
            prop_assert_eq!(&row.values().unwrap(), &borrowed);
            for (at, value) in values.iter().enumerate() {
                prop_assert_eq!(&row.get::<Value>(at).unwrap(), value);
            }
            for cut in 0..packet.len() {
                prop_assert!(Row::new(&columns, format, &packet[..cut]).values().is_err());
            }
        }
    }

    #[test]
    fn any_bytes_are_a_row_or_an_error(row in row(), packet in prop::collection::vec(any::<u8>(), 0..200)) {
        let specs: Vec<_> = row.into_iter().map(|(spec, _)| spec).collect();
        let columns = columns(&specs);
        for format in [Format::Text, Format::Binary] {
            let _ = Row::new(&columns, format, &packet).values();
        }
    }
}

/// What `T` is read as from one value of a column, in both formats.
fn read<T: for<'a> FromValue<'a> + PartialEq + std::fmt::Debug>(
    spec: &ColumnSpec<'_>,
    value: ValueRef<'_>,
) -> Result<T, Fault> {
    let columns = columns(std::slice::from_ref(spec));
    let read = written(std::slice::from_ref(spec), &[value]).map(|(format, packet)| {
        Row::new(&columns, format, &packet)
            .read::<T>()
            .map_err(|error| error.fault().clone())
    });
    assert_eq!(read[0], read[1], "text and binary");
    read.into_iter().next().unwrap()
}

fn reason<T: std::fmt::Debug>(result: Result<T, Fault>) -> CellError {
    match result {
        Err(Fault::Cell { reason, .. }) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn numbers_are_held_or_refused() {
    let big = ColumnSpec::new("n", ColumnType::LongLong);
    let unsigned = ColumnSpec::new("n", ColumnType::LongLong).with_flags(ColumnFlags::UNSIGNED);
    assert_eq!(read::<i8>(&big, ValueRef::Int(-128)), Ok(-128));
    assert_eq!(
        reason(read::<i8>(&big, ValueRef::Int(-129))),
        CellError::Range
    );
    assert_eq!(
        reason(read::<u64>(&big, ValueRef::Int(-1))),
        CellError::Range
    );
    assert_eq!(
        read::<u64>(&unsigned, ValueRef::Uint(u64::MAX)),
        Ok(u64::MAX)
    );
    assert_eq!(
        reason(read::<i64>(&unsigned, ValueRef::Uint(u64::MAX))),
        CellError::Range
    );
    assert_eq!(read::<bool>(&big, ValueRef::Int(7)), Ok(true));
    assert_eq!(reason(read::<i64>(&big, ValueRef::Null)), CellError::Null);
    assert_eq!(read::<Option<i64>>(&big, ValueRef::Null), Ok(None));
    assert_eq!(reason(read::<f64>(&big, ValueRef::Int(1))), CellError::Type);
    assert_eq!(
        reason(read::<String>(&big, ValueRef::Int(1))),
        CellError::Type
    );
    let small = ColumnSpec::new("n", ColumnType::Long);
    assert_eq!(read::<f64>(&small, ValueRef::Int(-7)), Ok(-7.0));
    let decimal = ColumnSpec::new("n", ColumnType::NewDecimal);
    assert_eq!(read::<i64>(&decimal, ValueRef::Decimal("-42.00")), Ok(-42));
    assert_eq!(
        reason(read::<i64>(&decimal, ValueRef::Decimal("0.5"))),
        CellError::Range
    );
    assert_eq!(read::<f64>(&decimal, ValueRef::Decimal("0.5")), Ok(0.5));
    assert_eq!(
        read::<String>(&decimal, ValueRef::Decimal("0.50")),
        Ok("0.50".into())
    );
    let float = ColumnSpec::new("n", ColumnType::Float);
    assert_eq!(
        read::<f64>(&float, ValueRef::Float(1.1)),
        Ok(f64::from(1.1_f32))
    );
}

#[test]
fn bits_are_numbers_and_bytes() {
    let bits = ColumnSpec::new("b", ColumnType::Bit);
    // Sent as bytes in both formats, the highest first.
    assert_eq!(read::<u64>(&bits, ValueRef::Bytes(b"\x01\x02")), Ok(0x102));
    assert_eq!(read::<bool>(&bits, ValueRef::Bytes(b"\x01")), Ok(true));
    assert_eq!(read::<u64>(&bits, ValueRef::Bytes(&[255; 8])), Ok(u64::MAX));
    assert_eq!(
        reason(read::<u64>(&bits, ValueRef::Bytes(&[1; 9]))),
        CellError::Malformed
    );
    assert_eq!(
        read::<Vec<u8>>(&bits, ValueRef::Bytes(b"\x01\x02")),
        Ok(vec![1, 2])
    );
    assert_eq!(
        read::<Value>(&bits, ValueRef::Bytes(b"\x01\x02")),
        Ok(Value::Uint(0x102))
    );
}

#[test]
fn text_is_text_and_bytes_are_bytes() {
    let text = ColumnSpec::new("t", ColumnType::VarString);
    let bytes = ColumnSpec::new("b", ColumnType::Blob);
    assert_eq!(read::<String>(&text, ValueRef::Text("☃")), Ok("☃".into()));
    assert_eq!(
        read::<String>(&bytes, ValueRef::Bytes(b"ok")),
        Ok("ok".into())
    );
    assert_eq!(
        reason(read::<String>(&bytes, ValueRef::Bytes(b"\xff"))),
        CellError::Utf8
    );
    assert_eq!(
        read::<Vec<u8>>(&bytes, ValueRef::Bytes(b"\xff")),
        Ok(vec![255])
    );
    assert_eq!(
        reason(read::<Value>(&text, ValueRef::Bytes(b"\xff"))),
        CellError::Utf8
    );
    assert_eq!(
        reason(read::<i64>(&text, ValueRef::Text("1"))),
        CellError::Type
    );
}

#[test]
fn times_are_durations_if_they_can_be() {
    use std::time::Duration;
    let time = ColumnSpec::new("t", ColumnType::Time);
    let minute = Time::new(false, 0, 1, 0, 5).unwrap();
    let before = Time::new(true, 0, 1, 0, 5).unwrap();
    assert_eq!(
        read::<Duration>(&time, ValueRef::Time(minute)),
        Ok(Duration::from_micros(60_000_005))
    );
    assert_eq!(
        reason(read::<Duration>(&time, ValueRef::Time(before))),
        CellError::Range
    );
    let date = ColumnSpec::new("d", ColumnType::Date);
    let day = Date::new(2024, 2, 29).unwrap();
    assert_eq!(read::<DateTime>(&date, ValueRef::Date(day)), Ok(day.into()));
}

#[test]
fn a_plan_says_what_does_not_fit_before_the_first_row() {
    let specs = [
        ColumnSpec::new("id", ColumnType::LongLong),
        ColumnSpec::new("name", ColumnType::VarString),
    ];
    let columns = columns(&specs);
    assert!(<(i64, &str)>::plan(&columns).is_ok());
    assert!(<Vec<Value>>::plan(&columns).is_ok());
    let fault = |error: crate::mysql::row::DecodeError| error.fault().clone();
    assert_eq!(
        <(i64,)>::plan(&columns).map_err(fault),
        Err(Fault::Columns {
            expected: 1,
            found: 2
        })
    );
    let error = <(i64, i64)>::plan(&columns).unwrap_err();
    assert_eq!(
        error.to_string(),
        "column 1 (text) as i64: the types do not fit"
    );
    assert!(!error.is_malformed());
    let columns = Arc::new((*columns).clone());
    let packet = b"\x017\x03abc";
    let row = Row::new(&columns, Format::Text, packet);
    assert_eq!(row.get_by_name::<&str>("name"), Ok("abc"));
    assert!(row.get_by_name::<&str>("Name").is_err());
    assert!(row.get::<i64>(2).is_err());
}
