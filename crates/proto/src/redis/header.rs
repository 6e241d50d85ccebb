//! The first line of every reply: its type, and a length, a number or text.
//!
//! The scanner and the decoder read the same lines, the one to check them, the other to use them.

use super::error::ProtocolError;
use super::reply::ReplyKind;

/// Digits of the largest number of 64 bits with a sign; so many never overflow one without.
const MOST_DIGITS: usize = 19;

/// A number with its line break: its value, and the bytes of both.
#[derive(Clone, Copy)]
pub(super) struct Number {
    pub(super) value: i64,
    pub(super) len: usize,
}

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

/// Whether `text` begins with a line break; `None` if that is not known yet.
#[inline(always)]
fn line_break(text: &[u8]) -> Option<bool> {
    match text {
        [b'\r', b'\n', ..] => Some(true),
        [] | [b'\r'] => None,
        _ => Some(false),
    }
}

/// The length behind the type byte of `of`: digits, no sign. `Ok(None)` if more bytes are needed.
#[inline(always)]
pub(super) fn length(text: &[u8], of: ReplyKind) -> Result<Option<Number>, ProtocolError> {
    let (value, count) = digits(text);
    match text.get(count..).and_then(line_break) {
        Some(true) if count > 0 && (count == 1 || text.first() != Some(&b'0')) => {
            let value = i64::try_from(value).map_err(|_| ProtocolError::InvalidLength { of })?;
            Ok(Some(Number {
                value,
                len: count + 2,
            }))
        }
        None if count < MOST_DIGITS || text.len() <= MOST_DIGITS + 1 => Ok(None),
        _ => Err(ProtocolError::InvalidLength { of }),
    }
}

/// The number behind a `:`. `Ok(None)` if more bytes are needed.
#[inline(always)]
pub(super) fn integer(text: &[u8]) -> Result<Option<Number>, ProtocolError> {
    let invalid = ProtocolError::Invalid {
        of: ReplyKind::Integer,
    };
    let sign = usize::from(matches!(text.first(), Some(b'-' | b'+')));
    let unsigned = text.get(sign..).unwrap_or_default();
    let (value, count) = digits(unsigned);
    match unsigned.get(count..).and_then(line_break) {
        Some(true) if count > 0 => {
            let negative = text.first() == Some(&b'-');
            let value = if negative {
                0_i64.checked_sub_unsigned(value)
            } else {
                i64::try_from(value).ok()
            };
            Ok(Some(Number {
                value: value.ok_or(invalid)?,
                len: sign + count + 2,
            }))
        }
        None => Ok(None),
        Some(_) => Err(invalid),
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
    let mut rest = unsigned.get(whole..).unwrap_or_default();
    let mut fraction = 0;
    if let [b'.', digits @ ..] = rest {
        fraction = after(digits);
        rest = digits.get(fraction..).unwrap_or_default();
    }
    if whole + fraction == 0 {
        return false;
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
