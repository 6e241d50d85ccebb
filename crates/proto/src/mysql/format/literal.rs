//! Values as literals.

use std::io::Write;

use super::Dialect;
use crate::mysql::command::Param;
use crate::mysql::value::is_decimal;

/// Appends a literal, or says what it is that has none.
pub(super) fn put(
    out: &mut Vec<u8>,
    param: Param<'_>,
    dialect: Dialect,
) -> Result<(), &'static str> {
    match param {
        Param::Null => out.extend_from_slice(b"NULL"),
        Param::Int(value) => display(out, value),
        Param::Uint(value) => display(out, value),
        // As the server reads a FLOAT that is bound: as the double that it is.
        Param::Float(value) => return number(out, f64::from(value)),
        Param::Double(value) => return number(out, value),
        Param::Decimal(digits) if is_decimal(digits.as_bytes()) => {
            out.extend_from_slice(digits.as_bytes());
        }
        Param::Decimal(_) => return Err("a DECIMAL that is not digits"),
        Param::Text(text) => string(out, text.as_bytes(), dialect),
        Param::Bytes(bytes) => hexadecimal(out, bytes),
        Param::Date(value) => quoted(out, value),
        Param::DateTime(value) => quoted(out, value),
        Param::Time(value) => quoted(out, value),
        Param::LongText | Param::LongBytes => return Err("long data"),
    }
    Ok(())
}

/// With an exponent, so that it is a DOUBLE and not a DECIMAL.
fn number(out: &mut Vec<u8>, value: f64) -> Result<(), &'static str> {
    if !value.is_finite() {
        return Err("a number that is not finite");
    }
    display(out, format_args!("{value:e}"));
    Ok(())
}

fn display(out: &mut Vec<u8>, value: impl std::fmt::Display) {
    let written = write!(out, "{value}");
    debug_assert!(written.is_ok(), "a Vec takes everything");
}

fn quoted(out: &mut Vec<u8>, value: impl std::fmt::Display) {
    out.push(b'\'');
    display(out, value);
    out.push(b'\'');
}

fn string(out: &mut Vec<u8>, text: &[u8], dialect: Dialect) {
    out.reserve(text.len() + 2);
    out.push(b'\'');
    for byte in text {
        match byte {
            b'\'' => out.extend_from_slice(b"''"),
            b'\\' if dialect.backslash_escapes => out.extend_from_slice(b"\\\\"),
            // For whoever reads logs: the server takes it as it is too.
            0 if dialect.backslash_escapes => out.extend_from_slice(b"\\0"),
            byte => out.push(*byte),
        }
    }
    out.push(b'\'');
}

/// Bytes in a form that neither the character set nor the dialect has a say in.
fn hexadecimal(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.reserve(bytes.len() * 2 + 3);
    out.extend_from_slice(b"x'");
    for byte in bytes {
        out.push(DIGITS[usize::from(byte >> 4)]);
        out.push(DIGITS[usize::from(byte & 15)]);
    }
    out.push(b'\'');
}
