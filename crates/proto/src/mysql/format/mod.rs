//! Statements with their values written into them, for servers and proxies that had better not prepare.
//!
//! What is written is read back by the server as exactly the values that were given, whatever is in them. That holds for
//! the character set that every connection here begins with, utf8mb4, and for any other in which a byte below 128
//! is never part of a longer character: not after `SET NAMES gbk`, `big5`, `sjis` or the like. It also needs to be known
//! how the server reads a backslash, which it tells with every answer: [`Dialect::of`].
//!
//! ```
//! use arknet_proto::mysql::format::{Dialect, format};
//!
//! let mut sql = Vec::new();
//! let params = ("Robert'); DROP TABLE students;--", 7, None::<i64>);
//! format(&mut sql, "SELECT * FROM t WHERE name = ? AND id < ? AND x <=> ?", &params, Dialect::default())?;
//! assert_eq!(
//!     sql,
//!     b"SELECT * FROM t WHERE name = 'Robert''); DROP TABLE students;--' AND id < 7 AND x <=> NULL"
//! );
//! # Ok::<(), arknet_proto::mysql::format::FormatError>(())
//! ```

mod literal;
mod placeholders;

pub use self::placeholders::Placeholders;

use super::capabilities::Status;
use super::command::Params;
use super::packet::TooLarge;

/// How a server reads literals: two of the things that its `sql_mode` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Whether a backslash in a literal says something of the next character. The default; `NO_BACKSLASH_ESCAPES`
    /// turns it off.
    pub backslash_escapes: bool,
    /// Whether `"` begins a name, as `ANSI_QUOTES` has it, and not a string. Off by default. Servers do not tell: whoever
    /// sets it must say so.
    pub ansi_quotes: bool,
}

impl Default for Dialect {
    fn default() -> Self {
        Self {
            backslash_escapes: true,
            ansi_quotes: false,
        }
    }
}

impl Dialect {
    /// As the server's last answer says.
    #[must_use]
    pub fn of(status: Status) -> Self {
        let backslash_escapes = !status.contains(Status::NO_BACKSLASH_ESCAPES);
        Self {
            backslash_escapes,
            ..Self::default()
        }
    }
}

/// A statement that was not formatted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// Other parameters than there are question marks.
    #[error("{given} parameters for {expected} question marks")]
    ParamCount {
        /// How many question marks there are.
        expected: usize,
        /// How many parameters were given.
        given: usize,
    },
    /// The statement ends inside a string, a name or a comment.
    #[error("the statement ends inside the {what} that begins at byte {at}")]
    Unterminated {
        /// Inside what.
        what: &'static str,
        /// Where it begins.
        at: usize,
    },
    /// A comment that some servers execute and others skip, with something in it that the two would understand
    /// differently.
    #[error(
        "the executable comment at byte {at} holds a question mark, a quote or another comment"
    )]
    ExecutableComment {
        /// Where it begins.
        at: usize,
    },
    /// A value that has no literal: infinity, not a number, a DECIMAL that is not digits, long data.
    #[error("parameter {index} ({what}) cannot be written as a literal")]
    NoLiteral {
        /// Which parameter, from 0.
        index: usize,
        /// What it is.
        what: &'static str,
    },
    /// A name that is empty, or that holds a zero byte.
    #[error("a name must not be empty or hold a zero byte")]
    Name,
    /// The statement is longer than the server takes.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
}

/// Appends `sql` to `out`, with a literal for each question mark outside strings, names and comments.
///
/// # Errors
///
/// [`FormatError`]: nothing was appended.
pub fn format(
    out: &mut Vec<u8>,
    sql: &str,
    params: &impl Params,
    dialect: Dialect,
) -> Result<(), FormatError> {
    let start = out.len();
    let result = write(out, sql, params, dialect);
    if result.is_err() {
        out.truncate(start);
    }
    result
}

fn write(
    out: &mut Vec<u8>,
    sql: &str,
    params: &impl Params,
    dialect: Dialect,
) -> Result<(), FormatError> {
    let places = Placeholders::new(sql, dialect).collect::<Result<Vec<_>, _>>()?;
    let (expected, given) = (places.len(), params.count());
    if expected != given {
        return Err(FormatError::ParamCount { expected, given });
    }
    let (text, start) = (sql.as_bytes(), out.len());
    let (mut from, mut index, mut result) = (0, 0, Ok(()));
    let mut places = places.into_iter();
    params.for_each(|param| {
        let Some(place) = places.next() else { return };
        out.extend_from_slice(text.get(from..place).unwrap_or_default());
        let before = out.get(start..).and_then(<[u8]>::last);
        if before.is_some_and(|before| joins(*before)) {
            out.push(b' ');
        }
        if let Err(what) = literal::put(out, param, dialect) {
            result = Err(FormatError::NoLiteral { index, what });
        }
        from = place + 1;
        if text.get(from).is_some_and(|after| joins(*after)) {
            out.push(b' ');
        }
        index += 1;
    });
    out.extend_from_slice(text.get(from..).unwrap_or_default());
    result
}

/// Whether a byte beside a question mark would become one word with what takes the mark's place.
fn joins(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80 || b"_$@.'\"`\\-".contains(&byte)
}

/// Appends a name in backticks, which every dialect reads.
///
/// # Errors
///
/// [`FormatError::Name`]: nothing was appended.
pub fn identifier(out: &mut Vec<u8>, name: &str) -> Result<(), FormatError> {
    if name.is_empty() || name.contains('\0') {
        return Err(FormatError::Name);
    }
    out.push(b'`');
    for byte in name.bytes() {
        if byte == b'`' {
            out.push(b'`');
        }
        out.push(byte);
    }
    out.push(b'`');
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::mysql::command::Param;
    use crate::mysql::value::{Date, DateTime, Time};

    const NO_BACKSLASH: Dialect = Dialect {
        backslash_escapes: false,
        ansi_quotes: false,
    };

    fn formatted(sql: &str, params: &impl Params, dialect: Dialect) -> Result<String, FormatError> {
        let mut out = b"kept".to_vec();
        let result = format(&mut out, sql, params, dialect);
        if result.is_err() {
            assert_eq!(out, b"kept");
        }
        result.map(|()| String::from_utf8(out.split_off(4)).unwrap())
    }

    #[test]
    fn every_type_has_its_literal() {
        let day = Date::new(2024, 2, 29).unwrap();
        for (param, literal) in [
            (Param::Null, "NULL"),
            (Param::Int(i64::MIN), "-9223372036854775808"),
            (Param::Uint(u64::MAX), "18446744073709551615"),
            (Param::Float(1.5), "1.5e0"),
            (Param::Double(-0.25), "-2.5e-1"),
            (Param::Decimal("-1.50"), "-1.50"),
            (Param::Text("it's \\ \0"), "'it''s \\\\ \\0'"),
            (Param::Bytes(b"\0'\xff"), "x'0027ff'"),
            (Param::Bytes(b""), "x''"),
            (Param::Date(day), "'2024-02-29'"),
            (
                Param::DateTime(DateTime::new(day, 1, 2, 3, 4).unwrap()),
                "'2024-02-29 01:02:03.000004'",
            ),
            (
                Param::Time(Time::new(true, 838, 59, 59, 0).unwrap()),
                "'-838:59:59'",
            ),
        ] {
            assert_eq!(
                formatted("= ?", &(param,), Dialect::default()).unwrap(),
                format!("= {literal}")
            );
        }
        assert_eq!(
            formatted("?", &("it's \\",), NO_BACKSLASH).unwrap(),
            "'it''s \\'"
        );
    }

    #[test]
    fn what_has_no_literal_is_an_error() {
        for (param, what) in [
            (Param::Double(f64::NAN), "a number that is not finite"),
            (Param::Float(f32::INFINITY), "a number that is not finite"),
            (
                Param::Decimal("1; DROP TABLE t"),
                "a DECIMAL that is not digits",
            ),
            (Param::LongText, "long data"),
            (Param::LongBytes, "long data"),
        ] {
            let error = FormatError::NoLiteral { index: 1, what };
            assert_eq!(
                formatted("?, ?", &(Param::Null, param), Dialect::default()),
                Err(error)
            );
        }
        assert_eq!(
            formatted("?", &(1, 2), Dialect::default()),
            Err(FormatError::ParamCount {
                expected: 1,
                given: 2
            })
        );
    }

    #[test]
    fn a_value_stays_a_word_of_its_own() {
        for (sql, params, expected) in [
            ("SELECT 5-?", [Param::Int(-3)], "SELECT 5- -3"),
            ("SELECT 'a'?", [Param::Text("b")], "SELECT 'a' 'b'"),
            ("SELECT N?", [Param::Text("b")], "SELECT N 'b'"),
            ("SELECT ?FROM t", [Param::Int(1)], "SELECT 1 FROM t"),
            ("SELECT ?'b'", [Param::Text("a")], "SELECT 'a' 'b'"),
            ("(?)", [Param::Int(1)], "(1)"),
        ] {
            assert_eq!(
                formatted(sql, &params, Dialect::default()).unwrap(),
                expected
            );
        }
    }

    #[test]
    fn names_are_quoted() {
        let mut out = Vec::new();
        identifier(&mut out, "we`ird \"näme\"").unwrap();
        assert_eq!(out, "`we``ird \"näme\"`".as_bytes());
        assert_eq!(identifier(&mut out, ""), Err(FormatError::Name));
        assert_eq!(identifier(&mut out, "a\0"), Err(FormatError::Name));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

        /// Whatever the value is, the statement behind it is read as it was: its question marks are still found, and
        /// none of the value's is.
        #[test]
        fn a_value_never_gets_out(text in r#"['"`\\?*/ #a\-\x00\n]{0,12}"#, backslash in any::<bool>()) {
            let dialect = Dialect { backslash_escapes: backslash, ansi_quotes: false };
            let out = formatted("SELECT ?, 'x' /* c */ AND ", &(text.as_str(),), dialect).unwrap();
            let out = format!("{out}?");
            let places: Vec<_> = Placeholders::new(&out, dialect).collect::<Result<_, _>>().unwrap();
            prop_assert_eq!(places, [out.len() - 1]);
        }
    }
}
