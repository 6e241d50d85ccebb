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
    let text: &[u8; 10] = text.try_into().ok()?;
    let mut digits = Digits::default();
    let date = day(text, &mut digits);
    digits.check()?;
    date
}

/// `YYYY-MM-DD HH:MM:SS`, with a fraction of up to six digits or none.
#[inline]
pub(crate) fn date_time(text: &[u8]) -> Option<DateTime> {
    let (text, rest) = text.split_first_chunk::<19>()?;
    let [
        y1,
        y2,
        y3,
        y4,
        d1,
        m1,
        m2,
        d2,
        t1,
        t2,
        b' ',
        h1,
        h2,
        b':',
        i1,
        i2,
        b':',
        s1,
        s2,
    ] = *text
    else {
        return None;
    };
    let mut digits = Digits::default();
    let date = day(&[y1, y2, y3, y4, d1, m1, m2, d2, t1, t2], &mut digits);
    let (hour, minute, second) = (digits.two(h1, h2), digits.two(i1, i2), digits.two(s1, s2));
    digits.check()?;
    DateTime::new(date?, hour, minute, second, fraction(rest)?)
}

#[inline]
fn day(text: &[u8; 10], digits: &mut Digits) -> Option<Date> {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = *text else {
        return None;
    };
    let year = u16::from(digits.two(y1, y2)) * 100 + u16::from(digits.two(y3, y4));
    Date::new(year, digits.two(m1, m2), digits.two(d1, d2))
}

/// Reads digits first, and finds out at the end whether they were: one branch for all of them.
#[derive(Default)]
struct Digits {
    is_wrong: bool,
}

impl Digits {
    #[inline(always)]
    fn two(&mut self, tens: u8, ones: u8) -> u8 {
        let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
        self.is_wrong |= (tens > 9) | (ones > 9);
        tens.wrapping_mul(10).wrapping_add(ones)
    }

    #[inline(always)]
    fn check(&self) -> Option<()> {
        (!self.is_wrong).then_some(())
    }
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

/// A number with a point or an exponent, as `str::parse` reads it.
///
/// Most have few digits and no exponent. Then they are a whole number below 2^53 over a power of ten up to 10^22, both
/// of which a double holds exactly, so that one division gives the nearest double.
#[inline]
pub(crate) fn double(text: &[u8]) -> Option<f64> {
    short_double(text).or_else(|| std::str::from_utf8(text).ok()?.parse().ok())
}

/// Digits that stay below 2^53.
const EXACT_DIGITS: usize = 15;

const POWERS: [f64; EXACT_DIGITS + 1] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
];

#[inline]
fn short_double(text: &[u8]) -> Option<f64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    if digits.is_empty() || digits.len() > EXACT_DIGITS + 1 {
        return None;
    }
    let (mut value, mut count, mut point) = (0_u64, 0, None);
    for byte in digits {
        if *byte == b'.' {
            if point.replace(count).is_some() {
                return None;
            }
            continue;
        }
        value = value * 10 + u64::from(digit(*byte)?);
        count += 1;
    }
    if count == 0 || count > EXACT_DIGITS {
        return None;
    }
    let power = POWERS.get(count - point.unwrap_or(count))?;
    let value = value as f64 / power;
    Some(if digits.len() < text.len() {
        -value
    } else {
        value
    })
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
    fn doubles_are_those_that_the_standard_library_reads() {
        for text in [
            "0",
            "-0",
            "1.5",
            "-1.5",
            ".5",
            "5.",
            "123456789012345",
            "12345678901234.5",
            "0.1",
            "999999999999999",
            "9999999999999999",
            "1e300",
            "-2.2250738585072014e-308",
            "1.7976931348623157e308",
            "0.000000000000001",
            "4.35",
            "8.41",
            "100000000.01",
            "",
            "-",
            ".",
            "1.2.3",
            "1,5",
            "--1",
            "0x1",
            "1e",
            "+1",
        ] {
            let std: Option<f64> = text.parse().ok();
            assert_eq!(
                double(text.as_bytes()).map(f64::to_bits),
                std.map(f64::to_bits),
                "{text}"
            );
        }
        let mut state = 1_u64;
        for _ in 0..20_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let (digits, point) = (state >> 14, (state % 18) as usize);
            let mut text = digits.to_string();
            text.truncate(1 + (state >> 50) as usize % 16);
            if point < text.len() {
                text.insert(point, '.');
            }
            let std: f64 = text.parse().unwrap();
            assert_eq!(
                double(text.as_bytes()).map(f64::to_bits),
                Some(std.to_bits()),
                "{text}"
            );
        }
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
