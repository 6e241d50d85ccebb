//! Values as a binary row, and a statement's parameters, have them.

use super::temporal::{Date, DateTime, Time};
use crate::mysql::wire::{Reader, put_u16, put_u32};

/// A date in the bytes that followed its length: none for `0000-00-00`, or four. Servers send a date-time's seven and
/// eleven where a column was converted; they are a date if the time is midnight.
#[inline]
pub(crate) fn date(bytes: &[u8]) -> Option<Date> {
    let date_time = date_time(bytes)?;
    date_time.is_midnight().then_some(date_time.date())
}

/// A date-time in the bytes that followed its length: 0, 4, 7 or 11, as what is zero at the end is left out.
#[inline]
pub(crate) fn date_time(bytes: &[u8]) -> Option<DateTime> {
    if !matches!(bytes.len(), 0 | 4 | 7 | 11) {
        return None;
    }
    let Some(([y1, y2, month, day], rest)) = bytes.split_first_chunk() else {
        return Some(DateTime::default());
    };
    let date = Date::new(u16::from_le_bytes([*y1, *y2]), *month, *day)?;
    let Some(([hour, minute, second], rest)) = rest.split_first_chunk() else {
        return Some(date.into());
    };
    let micros = rest
        .first_chunk()
        .map_or(0, |micros| u32::from_le_bytes(*micros));
    DateTime::new(date, *hour, *minute, *second, micros)
}

/// A time in the bytes that followed its length: 0, 8 or 12.
#[inline]
pub(crate) fn time(bytes: &[u8]) -> Option<Time> {
    if !matches!(bytes.len(), 0 | 8 | 12) {
        return None;
    }
    if bytes.is_empty() {
        return Some(Time::default());
    }
    let mut reader = Reader::new(bytes);
    let negative = reader.u8()? != 0;
    let days = reader.u32()?;
    let hours = days.checked_mul(24)?.checked_add(u32::from(reader.u8()?))?;
    let (minutes, seconds) = (reader.u8()?, reader.u8()?);
    let micros = reader.u32().unwrap_or(0);
    Time::new(
        negative,
        u16::try_from(hours).ok()?,
        minutes,
        seconds,
        micros,
    )
}

/// Appends a date with its length.
pub(crate) fn put_date(wire: &mut Vec<u8>, date: Date) {
    if date.is_zero() {
        wire.push(0);
        return;
    }
    wire.push(4);
    put_day(wire, date);
}

/// Appends a date-time with its length, the shortest that holds it.
pub(crate) fn put_date_time(wire: &mut Vec<u8>, value: DateTime) {
    if value.is_midnight() {
        return put_date(wire, value.date());
    }
    wire.push(if value.microsecond() == 0 { 7 } else { 11 });
    put_day(wire, value.date());
    wire.extend_from_slice(&[value.hour(), value.minute(), value.second()]);
    if value.microsecond() != 0 {
        put_u32(wire, value.microsecond());
    }
}

fn put_day(wire: &mut Vec<u8>, date: Date) {
    put_u16(wire, date.year());
    wire.extend_from_slice(&[date.month(), date.day()]);
}

/// Appends a time with its length, the shortest that holds it.
pub(crate) fn put_time(wire: &mut Vec<u8>, value: Time) {
    if value == Time::default() {
        wire.push(0);
        return;
    }
    wire.push(if value.microseconds() == 0 { 8 } else { 12 });
    wire.push(u8::from(value.is_negative()));
    put_u32(wire, u32::from(value.hours() / 24));
    wire.extend_from_slice(&[(value.hours() % 24) as u8, value.minutes(), value.seconds()]);
    if value.microseconds() != 0 {
        put_u32(wire, value.microseconds());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn date_times_are_read_in_all_their_lengths() {
        let day = Date::new(2010, 10, 17).unwrap();
        // From the protocol's documentation, the longest one first.
        let bytes = b"\xda\x07\x0a\x11\x13\x1b\x1e\x01\0\0\0";
        assert_eq!(date_time(bytes), DateTime::new(day, 19, 27, 30, 1));
        assert_eq!(date_time(&bytes[..7]), DateTime::new(day, 19, 27, 30, 0));
        assert_eq!(date_time(&bytes[..4]), Some(day.into()));
        assert_eq!(date_time(b""), Some(DateTime::default()));
        for len in [1, 2, 3, 5, 6, 8, 9, 10] {
            assert_eq!(date_time(&bytes[..len]), None);
        }
        assert_eq!(date(&bytes[..4]), Some(day));
        assert_eq!(date(&bytes[..7]), None, "not midnight");
        assert_eq!(date_time(b"\xda\x07\x0d\x11"), None, "a thirteenth month");
    }

    #[test]
    fn times_are_read_in_all_their_lengths() {
        // From the protocol's documentation: -120d 19:27:30.000001, which a TIME cannot have.
        assert_eq!(time(b"\x01\x78\0\0\0\x13\x1b\x1e\x01\0\0\0"), None);
        let bytes = b"\x01\x22\0\0\0\x13\x1b\x1e\x01\0\0\0";
        assert_eq!(time(bytes), Time::new(true, 34 * 24 + 19, 27, 30, 1));
        assert_eq!(time(&bytes[..8]), Time::new(true, 34 * 24 + 19, 27, 30, 0));
        assert_eq!(time(b""), Some(Time::default()));
        for len in [1, 4, 7, 9, 11] {
            assert_eq!(time(&bytes[..len]), None);
        }
        assert_eq!(time(b"\0\xff\xff\xff\xff\0\0\0"), None);
    }

    #[test]
    fn what_is_written_is_read() {
        let day = Date::new(2024, 2, 29).unwrap();
        for value in [
            DateTime::default(),
            day.into(),
            DateTime::new(day, 0, 0, 1, 0).unwrap(),
            DateTime::new(day, 0, 0, 0, 1).unwrap(),
            DateTime::new(Date::default(), 1, 0, 0, 0).unwrap(),
        ] {
            let mut wire = Vec::new();
            put_date_time(&mut wire, value);
            assert_eq!(usize::from(wire[0]), wire.len() - 1);
            assert_eq!(date_time(&wire[1..]), Some(value));
        }
        for value in [
            Time::default(),
            Time::new(true, 838, 59, 59, 0).unwrap(),
            Time::new(false, 0, 0, 0, 1).unwrap(),
        ] {
            let mut wire = Vec::new();
            put_time(&mut wire, value);
            assert_eq!(usize::from(wire[0]), wire.len() - 1);
            assert_eq!(time(&wire[1..]), Some(value));
        }
    }
}
