//! What a statement is, without its values: what traces may show.

use std::fmt;

use super::request::{Ask, Units};

/// The most of a statement that is shown, in characters. What is longer is told apart by its beginning.
const LONGEST: usize = 200;

/// Shows a statement with a question mark in place of every literal, blanks and comments as one blank each, cut to 200
/// characters.
///
/// Where it is not clear what is a literal, more is left out than need be: what is shown is never a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Digest<'s>(pub(super) &'s str);

impl fmt::Display for Digest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;

        let mut pieces = Pieces::new(self.0);
        for _ in 0..LONGEST {
            match pieces.next() {
                Some(character) => f.write_char(character)?,
                None => return Ok(()),
            }
        }
        match pieces.next() {
            Some(_) => f.write_str(".."),
            None => Ok(()),
        }
    }
}

/// Shows the digest of a request's first statement, and how many there are.
pub(super) struct Described<'u, U>(pub(super) &'u U);

impl<U: Units> fmt::Display for Described<'_, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(units) = *self;
        let count = units.count();
        if count == 0 {
            return Ok(());
        }
        match units.ask(0) {
            Ask::Query(sql) | Ask::Exec { sql, .. } | Ask::Prepare(sql) => Digest(sql).fmt(f)?,
            Ask::Formatted(sql) => Digest(sql.sql()).fmt(f)?,
            Ask::Ping => f.write_str("(ping)")?,
        }
        match count {
            1 => Ok(()),
            count => write!(f, " (first of {count})"),
        }
    }
}

/// The characters that are shown.
struct Pieces<'s> {
    rest: &'s str,
    /// The last one.
    before: char,
    /// Within backquotes, where quotes and comments are none.
    in_name: bool,
}

impl<'s> Pieces<'s> {
    fn new(sql: &'s str) -> Self {
        Self {
            rest: sql.trim(),
            before: ' ',
            in_name: false,
        }
    }

    /// Passes over everything up to and with `end`, or to the end.
    fn skip_past(&mut self, end: &str) {
        let (_, rest) = self.rest.split_once(end).unwrap_or(("", ""));
        self.rest = rest;
    }

    /// Passes over a string. Where it depends on the server's mode whether a backslash keeps a quote from being the end,
    /// nothing behind it is shown.
    fn skip_string(&mut self, quote: char) {
        let mut characters = self.rest.char_indices().skip(1);
        while let Some((at, character)) = characters.next() {
            if character == '\\' {
                if characters.next().is_none_or(|(_, kept)| kept == quote) {
                    break;
                }
            } else if character == quote {
                self.rest = self.rest.get(at + 1..).unwrap_or_default();
                return;
            }
        }
        self.rest = "";
    }

    fn begins_line_comment(&self) -> bool {
        let behind = self.rest.strip_prefix("--");
        behind
            .is_some_and(|behind| behind.starts_with(|c: char| c.is_whitespace() || c.is_control()))
    }

    fn skip_while(&mut self, is_skipped: impl FnMut(char) -> bool) {
        self.rest = self.rest.trim_start_matches(is_skipped);
    }

    fn is_in_a_word(&self) -> bool {
        self.before.is_alphanumeric() || ['_', '$', '@'].contains(&self.before)
    }
}

impl Iterator for Pieces<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        loop {
            let first = self.rest.chars().next()?;
            let shown = if first.is_whitespace() {
                self.skip_while(char::is_whitespace);
                ' '
            } else if !self.in_name && self.rest.starts_with("/*") {
                self.skip_past("*/");
                ' '
            } else if !self.in_name && (first == '#' || self.begins_line_comment()) {
                self.skip_past("\n");
                ' '
            } else if !self.in_name && (first == '\'' || first == '"') {
                self.skip_string(first);
                '?'
            } else if first.is_ascii_digit() && !self.is_in_a_word() {
                self.skip_while(|character| character.is_alphanumeric() || character == '.');
                '?'
            } else {
                self.in_name ^= first == '`';
                self.rest = self.rest.get(first.len_utf8()..).unwrap_or_default();
                first
            };
            // Pieces of one literal, such as 'it''s', are one; so are blanks.
            let repeats = shown == self.before && (shown == ' ' || (shown == '?' && first != '?'));
            self.before = shown;
            if !repeats {
                return Some(shown);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_not_shown() {
        for (sql, digest) in [
            ("SELECT 1", "SELECT ?"),
            (
                "SELECT  a1, `b 2` FROM t\nWHERE x = 'secret' AND y > 1.5e3",
                "SELECT a1, `b ?` FROM t WHERE x = ? AND y > ?",
            ),
            ("SELECT 'it''s', \"a\\\\\"", "SELECT ?, ?"),
            (r"SELECT 'a\', 'secret'", "SELECT ?"),
            (r"SELECT 'a\', 'secret'", "SELECT ?"),
            ("SELECT 'never ended", "SELECT ?"),
            ("SELECT /* why */ ? -- because\n, ?", "SELECT ? , ?"),
            ("SELECT 0xDEADBEEF, x'00ff'", "SELECT ?, x?"),
            ("INSERT INTO t VALUES (1, 2)", "INSERT INTO t VALUES (?, ?)"),
            ("", ""),
        ] {
            assert_eq!(Digest(sql).to_string(), digest);
        }
    }

    #[test]
    fn long_statements_are_cut() {
        let shown = Digest(&"x, ".repeat(1_000)).to_string();
        assert_eq!(shown.len(), LONGEST + 2);
        assert!(shown.ends_with(".."));
    }
}
