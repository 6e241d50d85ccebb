//! Why a row is not what was asked for.

use crate::mysql::kind::Kind;

/// A row could not be read as what was asked for. The connection is as it was, unless
/// [`is_malformed`](Self::is_malformed).
///
/// As large as a pointer, so that reading what is right costs nothing for what could be wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DecodeError(Box<Fault>);

/// What is wrong with a row, or with what was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The rows have another number of columns.
    #[error("a row of {found} columns was read as one of {expected}")]
    Columns {
        /// How many were asked for.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// No column has this name.
    #[error("no column is called `{name}`")]
    NoColumn {
        /// The name that was asked for.
        name: String,
    },
    /// No column is at this place.
    #[error("no column {index} in a row of {columns}")]
    NoIndex {
        /// The place, from 0.
        index: usize,
        /// How many columns there are.
        columns: usize,
    },
    /// A value cannot be read as the type that was asked for.
    #[error("column {column} ({}) as {expected}: {reason}", kind.name())]
    Cell {
        /// Which column, from 0.
        column: usize,
        /// What its values are.
        kind: Kind,
        /// The Rust type that was asked for.
        expected: &'static str,
        /// Why not.
        reason: CellError,
    },
    /// The server's row is not made as its columns say. The connection cannot be used any more.
    #[error("malformed row, at column {column} of {columns}")]
    Malformed {
        /// The column at which it was noticed, from 0; the number of columns if it was noticed behind them.
        column: usize,
        /// How many columns there are.
        columns: usize,
    },
}

/// What is wrong with one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CellError {
    /// It is NULL, and the type has none: ask for an `Option`.
    #[error("the value is NULL")]
    Null,
    /// Values of this column are of another type.
    #[error("the types do not fit")]
    Type,
    /// The type does not hold it.
    #[error("the value is out of range")]
    Range,
    /// It is not UTF-8.
    #[error("the text is not UTF-8")]
    Utf8,
    /// It is not a value of its column's type at all.
    #[error("the value is malformed")]
    Malformed,
}

impl DecodeError {
    /// What is wrong.
    #[must_use]
    pub fn fault(&self) -> &Fault {
        &self.0
    }

    /// Whether it is the server's fault, and not that of what was asked for.
    #[must_use]
    pub fn is_malformed(&self) -> bool {
        matches!(
            *self.0,
            Fault::Malformed { .. }
                | Fault::Cell {
                    reason: CellError::Malformed,
                    ..
                }
        )
    }
}

impl From<Fault> for DecodeError {
    #[cold]
    fn from(fault: Fault) -> Self {
        Self(Box::new(fault))
    }
}
