//! The first line of every reply: its type, and a length, a number or text.
//!
//! The scanner and the decoder read the same lines, the one to check them, the other to use them.

use super::error::ProtocolError;
use super::reply::ReplyKind;

/// Digits of the largest number of 64 bits with a sign; so many never overflow one without.
const MOST_DIGITS: usize = 19;

/// Digits at the start of `text`, and how many; at most [`MOST_DIGITS`], which fit.
#[inline(always)]
fn digits(text: &[u8]) -> (u64, usize) {
    let (mut value, mut count) = (0_u64, 0);
    for byte in text.iter().take(MOST_DIGITS) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        count += 1;
    }
    (value, count)
}

/// What stands where a length should, behind the type byte.
#[derive(Clone, Copy)]
pub(super) enum Length {
    /// A length; `len` bytes with its line break.
    Of { value: u64, len: usize },
    /// `-1`: no value, in RESP2.
    Null,
    /// `?`: of a length that is not known yet.
    Streamed,
    /// More bytes are needed.
    More,
    /// Something else.
    Invalid,
}

/// The length at the start of `text`: digits without a sign and without needless zeros.
#[inline(always)]
pub(super) fn length(text: &[u8]) -> Length {
    let (value, count) = digits(text);
    match text.get(count..) {
        Some([b'\r', b'\n', ..]) if count == 1 || (count > 1 && text.first() != Some(&b'0')) => {
            Length::Of {
                value,
                len: count + 2,
            }
        }
        _ => unusual_length(text, count),
    }
}

/// Digits of a length that is read in haste: ten megabytes are not sent often.
const FEW_DIGITS: usize = 7;

/// Where the payload of the string of bytes at the start of `text` begins, and its length. `None` if there is
/// none, if its header is not whole, or if anything about it is unusual.
#[inline(always)]
pub(super) fn bulk(text: &[u8]) -> Option<(usize, usize)> {
    let [b'$', first, rest @ ..] = text else {
        return None;
    };
    let mut value = usize::from(first.wrapping_sub(b'0'));
    // A zero in front of other digits is for others to refuse.
    if value == 0 || value > 9 {
        return None;
    }
    for (index, byte) in rest.iter().enumerate().take(FEW_DIGITS) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            let start = index + 4;
            return (*byte == b'\r' && rest.get(index + 1) == Some(&b'\n'))
                .then_some((start, value));
        }
        value = value * 10 + usize::from(digit);
    }
    None
}

#[cold]
fn unusual_length(text: &[u8], count: usize) -> Length {
    const NULL: &[u8] = b"-1\r\n";
    const STREAMED: &[u8] = b"?\r\n";
    if text.starts_with(NULL) {
        Length::Null
    } else if text.starts_with(STREAMED) {
        Length::Streamed
    } else if NULL.starts_with(text) || STREAMED.starts_with(text) {
        Length::More
    } else if count > 1 && text.first() == Some(&b'0') {
        Length::Invalid
    } else {
        match text.get(count..) {
            Some([] | [b'\r']) if count > 0 => Length::More,
            _ => Length::Invalid,
        }
    }
}

/// A number with a line break: its value, and the bytes of both.
#[derive(Clone, Copy)]
pub(super) struct Number {
    pub(super) value: i64,
    pub(super) len: usize,
}

/// The number behind a `:`. `Ok(None)` if more bytes are needed.
#[inline(always)]
pub(super) fn integer(text: &[u8]) -> Result<Option<Number>, ProtocolError> {
    let sign = usize::from(matches!(text.first(), Some(b'-' | b'+')));
    let unsigned = text.get(sign..).unwrap_or_default();
    let (magnitude, count) = digits(unsigned);
    match unsigned.get(count..) {
        Some([b'\r', b'\n', ..]) if count > 0 => {
            let value = if text.first() == Some(&b'-') {
                0_i64.checked_sub_unsigned(magnitude)
            } else {
                i64::try_from(magnitude).ok()
            };
            let len = sign + count + 2;
            match value {
                Some(value) => Ok(Some(Number { value, len })),
                None => Err(NOT_AN_INTEGER),
            }
        }
        Some([]) => Ok(None),
        Some([b'\r']) if count > 0 => Ok(None),
        _ => Err(NOT_AN_INTEGER),
    }
}

const NOT_AN_INTEGER: ProtocolError = ProtocolError::Invalid {
    of: ReplyKind::Integer,
};

/// A line, behind the type byte.
pub(super) enum Line<'a> {
    /// All of it, without its line break.
    Is(&'a [u8]),
    /// More bytes are needed; the first `searched` ones need not be looked at again.
    More { searched: usize },
    /// One half of a line break without the other, behind so many bytes.
    Broken { searched: usize },
}

/// Lines are shorter than this, mostly, and then quicker looked through than handed on.
const SHORT_LINE: usize = 16;

/// The line at the start of `text`, of which the first `searched` bytes hold no end.
#[inline]
pub(super) fn line(text: &[u8], searched: usize) -> Line<'_> {
    let rest = text.get(searched..).unwrap_or_default();
    let is_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
    let found = match rest.iter().take(SHORT_LINE).position(is_end) {
        Some(found) => Some(found),
        None => {
            let rest = rest.get(SHORT_LINE..).unwrap_or_default();
            memchr::memchr2(b'\r', b'\n', rest).map(|found| found + SHORT_LINE)
        }
    };
    let Some(found) = found else {
        return Line::More {
            searched: text.len(),
        };
    };
    let end = searched + found;
    match text.get(end..) {
        Some([b'\r', b'\n', ..]) => Line::Is(text.get(..end).unwrap_or_default()),
        Some([b'\r']) => Line::More { searched: end },
        _ => Line::Broken { searched: end },
    }
}

/// Whether this is a floating-point number as RESP3 writes it, `inf` and `nan` with it.
pub(super) fn is_double(text: &[u8]) -> bool {
    let unsigned = match text {
        [b'-' | b'+', rest @ ..] => rest,
        _ => text,
    };
    if unsigned == b"inf" || unsigned == b"nan" {
        return true;
    }
    let after = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let whole = after(unsigned);
    if whole == 0 {
        return false;
    }
    let mut rest = unsigned.get(whole..).unwrap_or_default();
    if let [b'.', digits @ ..] = rest {
        let fraction = after(digits);
        if fraction == 0 {
            return false;
        }
        rest = digits.get(fraction..).unwrap_or_default();
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let exponent = match exponent {
            [b'-' | b'+', rest @ ..] => rest,
            _ => exponent,
        };
        return !exponent.is_empty() && after(exponent) == exponent.len();
    }
    rest.is_empty()
}

/// Whether this is a whole number of any size.
pub(super) fn is_big_number(text: &[u8]) -> bool {
    let unsigned = match text {
        [b'-' | b'+', rest @ ..] => rest,
        _ => text,
    };
    !unsigned.is_empty() && unsigned.iter().all(u8::is_ascii_digit)
}

/// Digits of the largest count.
const MOST_COUNT_DIGITS: usize = 20;

/// Appends a type byte, a count and a line break.
#[inline(always)]
pub(super) fn push(wire: &mut Vec<u8>, kind: u8, count: usize) {
    if count < 10 {
        wire.extend_from_slice(&[kind, b'0' + count as u8, b'\r', b'\n']);
    } else {
        push_long(wire, kind, count);
    }
}

fn push_long(wire: &mut Vec<u8>, kind: u8, count: usize) {
    let mut digits = [0; MOST_COUNT_DIGITS];
    let mut rest = count;
    let mut used = 0;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
        used += 1;
        if rest == 0 {
            break;
        }
    }
    wire.push(kind);
    wire.extend_from_slice(digits.get(MOST_COUNT_DIGITS - used..).unwrap_or_default());
    wire.extend_from_slice(b"\r\n");
}

/// Bytes that [`push`] appends.
pub(super) fn len(count: usize) -> usize {
    let digits = count.checked_ilog10().map_or(1, |log| log as usize + 1);
    digits + 3
}
