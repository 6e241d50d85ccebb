//! Values as a text row has them.

use super::temporal::{Date, DateTime, Time};

/// A whole number that may have a sign. No more digits than the type can hold, and nothing else.
#[inline]
pub(crate) fn signed(text: &[u8]) -> Option<i64> {
    match text {
        [b'-', digits @ ..] => {
            let magnitude = unsigned(digits)?;
            0_i64.checked_sub_unsigned(magnitude)
        }
        digits => i64::try_from(unsigned(digits)?).ok(),
    }
}

/// A whole number without a sign. Leading zeros are allowed: ZEROFILL has them.
#[inline]
pub(crate) fn unsigned(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    // Nineteen digits cannot overflow.
    if text.len() > 19 {
        return unsigned_long(text);
    }
    let mut value = 0_u64;
    for byte in text {
        value = value * 10 + u64::from(digit(*byte)?);
    }
    Some(value)
}

#[cold]
fn unsigned_long(text: &[u8]) -> Option<u64> {
    text.iter().try_fold(0_u64, |value, byte| {
        value.checked_mul(10)?.checked_add(u64::from(digit(*byte)?))
    })
}

#[inline]
fn digit(byte: u8) -> Option<u8> {
    let digit = byte.wrapping_sub(b'0');
    (digit < 10).then_some(digit)
}

/// `YYYY-MM-DD`.
#[inline]
pub(crate) fn date(text: &[u8]) -> Option<Date> {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = *text else {
        return None;
    };
    let year = u16::from(two(y1, y2)?) * 100 + u16::from(two(y3, y4)?);
    Date::new(year, two(m1, m2)?, two(d1, d2)?)
}

/// `YYYY-MM-DD HH:MM:SS`, with a fraction of up to six digits or none.
#[inline]
pub(crate) fn date_time(text: &[u8]) -> Option<DateTime> {
    let (day, rest) = text.split_at_checked(10)?;
    let ([b' ', h1, h2, b':', m1, m2, b':', s1, s2], rest) = rest.split_first_chunk()? else {
        return None;
    };
    let (hour, minute, second) = (two(*h1, *h2)?, two(*m1, *m2)?, two(*s1, *s2)?);
    DateTime::new(date(day)?, hour, minute, second, fraction(rest)?)
}

/// `[-]H..H:MM:SS`, with a fraction of up to six digits or none.
#[inline]
pub(crate) fn time(text: &[u8]) -> Option<Time> {
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let colon = text.iter().position(|byte| *byte == b':')?;
    let (hours, rest) = text.split_at_checked(colon)?;
    let hours = u16::try_from(unsigned(hours)?).ok()?;
    let ([b':', m1, m2, b':', s1, s2], rest) = rest.split_first_chunk()? else {
        return None;
    };
    Time::new(
        negative,
        hours,
        two(*m1, *m2)?,
        two(*s1, *s2)?,
        fraction(rest)?,
    )
}

#[inline]
fn two(tens: u8, ones: u8) -> Option<u8> {
    Some(digit(tens)? * 10 + digit(ones)?)
}

/// Microseconds of `.f`, with one to six digits, or of nothing.
#[inline]
fn fraction(text: &[u8]) -> Option<u32> {
    let [b'.', digits @ ..] = text else {
        return text.is_empty().then_some(0);
    };
    if digits.is_empty() || digits.len() > 6 {
        return None;
    }
    let mut micros = 0;
    for at in 0..6 {
        micros = micros * 10 + u32::from(digits.get(at).map_or(Some(0), |byte| digit(*byte))?);
    }
    Some(micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_read_to_their_last_value() {
        assert_eq!(signed(b"-9223372036854775808"), Some(i64::MIN));
        assert_eq!(signed(b"9223372036854775807"), Some(i64::MAX));
        assert_eq!(signed(b"9223372036854775808"), None);
        assert_eq!(signed(b"-9223372036854775809"), None);
        assert_eq!(unsigned(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(unsigned(b"18446744073709551616"), None);
        assert_eq!(unsigned(b"00000000000000000000000000042"), Some(42));
        for text in [&b""[..], b"-", b"+1", b" 1", b"1 ", b"1.0", b"--1", b"0x1"] {
            assert_eq!(signed(text), None, "{text:?}");
        }
        assert_eq!(unsigned(b"-1"), None);
    }

    #[test]
    fn dates_are_read_as_the_server_writes_them() {
        assert_eq!(date(b"0000-00-00"), Some(Date::default()));
        assert_eq!(date(b"2016-07-00"), Date::new(2016, 7, 0));
        for text in [
            &b""[..],
            b"2016-7-00",
            b"2016-13-01",
            b"2016-01-01 ",
            b"16-01-01",
            b"2016/01/01",
        ] {
            assert_eq!(date(text), None);
        }
        let midnight = DateTime::from(Date::new(2024, 2, 29).unwrap());
        assert_eq!(date_time(b"2024-02-29 00:00:00"), Some(midnight));
        assert_eq!(
            date_time(b"2024-02-29 23:59:59.5"),
            DateTime::new(midnight.date(), 23, 59, 59, 500_000)
        );
        for text in [
            &b"2024-02-29"[..],
            b"2024-02-29 00:00",
            b"2024-02-29 24:00:00",
            b"2024-02-29 00:00:00.",
            b"2024-02-29 00:00:00.1234567",
            b"2024-02-29T00:00:00",
        ] {
            assert_eq!(date_time(text), None);
        }
    }

    #[test]
    fn times_are_read_as_the_server_writes_them() {
        assert_eq!(time(b"-838:59:59"), Time::new(true, 838, 59, 59, 0));
        assert_eq!(time(b"838:59:59.000001"), Time::new(false, 838, 59, 59, 1));
        assert_eq!(time(b"00:00:00"), Some(Time::default()));
        for text in [
            &b""[..],
            b"839:00:00",
            b"1:2:3",
            b"01:02",
            b"01:02:03:04",
            b"--01:02:03",
            b"70000:00:00",
        ] {
            assert_eq!(time(text), None);
        }
    }
}
