//! What a server replies to a statement of a test's.

use std::fmt;

/// A result: rows in text, or what a statement without rows did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// The columns' names; none where there are no rows.
    pub columns: Vec<String>,
    /// The rows; `None` is NULL. Bytes that are not UTF-8 are replaced.
    pub rows: Vec<Vec<Option<String>>>,
    /// Rows that the statement changed.
    pub affected_rows: u64,
}

impl Table {
    /// The text in this row and column, both counted from 0.
    ///
    /// `None` is NULL, or a place that is not there.
    #[must_use]
    pub fn cell(&self, row: usize, column: usize) -> Option<&str> {
        self.rows.get(row)?.get(column)?.as_deref()
    }

    /// The text in the column of this name.
    ///
    /// `None` is NULL, or a place that is not there.
    #[must_use]
    pub fn named(&self, row: usize, column: &str) -> Option<&str> {
        let same = |name: &String| name.eq_ignore_ascii_case(column);
        self.cell(row, self.columns.iter().position(same)?)
    }
}

/// An error reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlError {
    /// The server's number, such as 1045.
    pub code: u16,
    /// Its sentence.
    pub message: String,
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error {}: {}", self.code, self.message)
    }
}
