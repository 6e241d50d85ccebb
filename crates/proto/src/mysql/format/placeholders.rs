//! Finds the question marks of a statement, as a server's own lexer would.

use super::{Dialect, FormatError};

/// Where the question marks of a statement are, in bytes from its beginning: those outside strings, quoted names and
/// comments.
///
/// Whatever two servers could read differently is an error, not a guess.
#[derive(Clone, Debug)]
pub struct Placeholders<'s> {
    sql: &'s [u8],
    at: usize,
    dialect: Dialect,
}

impl<'s> Placeholders<'s> {
    /// Those of `sql`, as a server with this dialect reads it.
    #[must_use]
    pub fn new(sql: &'s str, dialect: Dialect) -> Self {
        Self {
            sql: sql.as_bytes(),
            at: 0,
            dialect,
        }
    }

    fn advance(&mut self) -> Result<Option<usize>, FormatError> {
        while let Some(byte) = self.sql.get(self.at).copied() {
            let (at, rest) = (self.at, self.sql.get(self.at..).unwrap_or_default());
            self.at = match byte {
                b'?' => {
                    self.at += 1;
                    return Ok(Some(at));
                }
                b'\'' => self.end_of_quoted(at, byte, self.dialect.backslash_escapes)?,
                b'"' => {
                    let escapes = self.dialect.backslash_escapes && !self.dialect.ansi_quotes;
                    self.end_of_quoted(at, byte, escapes)?
                }
                b'`' => self.end_of_quoted(at, byte, false)?,
                b'#' => self.end_of_line(at),
                b'-' if is_dash_comment(rest) => self.end_of_line(at),
                b'/' if rest.starts_with(b"/*") => self.end_of_comment(at)?,
                _ => at + 1,
            };
        }
        Ok(None)
    }

    /// Behind the quote that ends what the one at `start` begins. A doubled one is a part of it.
    fn end_of_quoted(&self, start: usize, quote: u8, escapes: bool) -> Result<usize, FormatError> {
        let mut at = start + 1;
        while let Some(byte) = self.sql.get(at) {
            if *byte == b'\\' && escapes {
                at += 2;
            } else if *byte != quote {
                at += 1;
            } else if self.sql.get(at + 1) == Some(&quote) {
                at += 2;
            } else {
                return Ok(at + 1);
            }
        }
        let what = if quote == b'`' { "name" } else { "string" };
        Err(FormatError::Unterminated { what, at: start })
    }

    fn end_of_line(&self, start: usize) -> usize {
        let rest = self.sql.get(start..).unwrap_or_default();
        memchr::memchr(b'\n', rest).map_or(self.sql.len(), |newline| start + newline + 1)
    }

    fn end_of_comment(&self, start: usize) -> Result<usize, FormatError> {
        let inside = start + 2;
        let rest = self.sql.get(inside..).unwrap_or_default();
        let Some(len) = memchr::memmem::find(rest, b"*/") else {
            return Err(FormatError::Unterminated {
                what: "comment",
                at: start,
            });
        };
        let comment = rest.get(..len).unwrap_or_default();
        let is_executable = comment.starts_with(b"!") || comment.starts_with(b"M!");
        if is_executable && is_ambiguous(comment) {
            return Err(FormatError::ExecutableComment { at: start });
        }
        Ok(inside + len + 2)
    }
}

/// A server that executes the comment reads quotes in it; one that skips it does not, and ends it elsewhere.
fn is_ambiguous(comment: &[u8]) -> bool {
    let has_quote = comment.iter().any(|byte| b"?'\"`#".contains(byte));
    has_quote || comment.windows(2).any(|two| two == b"/*" || two == b"--")
}

/// Two dashes are a comment only before a blank, so that `5--3` is 8.
fn is_dash_comment(rest: &[u8]) -> bool {
    match rest {
        [b'-', b'-', next, ..] => next.is_ascii_whitespace() || next.is_ascii_control(),
        [b'-', b'-'] => true,
        _ => false,
    }
}

impl Iterator for Placeholders<'_> {
    type Item = Result<usize, FormatError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.advance();
        if next.is_err() {
            self.at = self.sql.len();
        }
        next.transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(sql: &str, dialect: Dialect) -> Result<Vec<usize>, FormatError> {
        Placeholders::new(sql, dialect).collect()
    }

    fn count(sql: &str) -> usize {
        find(sql, Dialect::default()).unwrap().len()
    }

    #[test]
    fn question_marks_are_found_where_the_server_finds_them() {
        for (sql, expected) in [
            ("SELECT ?", 1),
            ("?,?,?", 3),
            ("SELECT '?', \"?\", `?`, ?", 1),
            ("SELECT 'it''s ?', ?", 1),
            ("SELECT 'it\\'s ?', ?", 1),
            ("SELECT '\\\\', ?", 1),
            ("SELECT `a``?`, ?", 1),
            ("SELECT \"a\"\"?\", ?", 1),
            ("SELECT 1 -- ?\n, ?", 1),
            ("SELECT 1 --\t? ", 0),
            ("SELECT 1 --? ", 1),
            ("SELECT 5--?", 1),
            ("SELECT 1 --", 0),
            ("SELECT 1 # ?\n, ?", 1),
            ("SELECT /* ? */ ?", 1),
            ("SELECT /* it's */ ?", 1),
            ("SELECT /*+ HINT('?') */ ?", 1),
            ("SELECT /*!40001 SQL_NO_CACHE */ ?", 1),
            ("SELECT 2*/* c */?", 1),
            ("SELECT 6/?", 1),
            ("SELECT '☃?', ?, 'ä'", 1),
            ("", 0),
        ] {
            assert_eq!(count(sql), expected, "{sql}");
        }
    }

    #[test]
    fn dialects_differ() {
        let no_backslash = Dialect {
            backslash_escapes: false,
            ansi_quotes: false,
        };
        assert_eq!(find(r"SELECT 'a\', ?", no_backslash), Ok(vec![13]));
        assert!(find(r"SELECT 'a\', ?", Dialect::default()).is_err());
        let ansi = Dialect {
            backslash_escapes: true,
            ansi_quotes: true,
        };
        assert_eq!(find(r#"SELECT "a\", ?"#, ansi), Ok(vec![13]));
        assert_eq!(
            Dialect::of(crate::mysql::Status::NO_BACKSLASH_ESCAPES),
            no_backslash
        );
    }

    #[test]
    fn what_is_not_ended_or_not_clear_is_an_error() {
        for (sql, what) in [
            ("SELECT 'a", "string"),
            ("SELECT \"a", "string"),
            ("`a", "name"),
            ("/* a", "comment"),
        ] {
            let at = sql.find(['\'', '"', '`', '/']).unwrap();
            assert_eq!(
                find(sql, Dialect::default()),
                Err(FormatError::Unterminated { what, at })
            );
        }
        for sql in [
            "/*! ? */",
            "/*!99999 'a*/' */",
            "/*M! \"a\" */",
            "/*! /* a */ */",
            "/*! -- \n */",
            "/*!1 # */",
        ] {
            let refused = Err(FormatError::ExecutableComment { at: 0 });
            assert_eq!(find(sql, Dialect::default()), refused, "{sql}");
        }
    }
}
