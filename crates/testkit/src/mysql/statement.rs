//! A statement as the server understands it.

/// One statement, and how many `?` it has.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Statement {
    pub(super) action: Action,
    pub(super) params: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Action {
    Select {
        items: Vec<Item>,
        /// Of how many rows, whose numbers are from 1.
        rows: u64,
    },
    /// Computes these, and says nothing of them.
    Do(Vec<Expr>),
    /// Variables, `@x` and others.
    Set(Vec<(String, Expr)>),
    Use(String),
    Begin {
        read_only: bool,
    },
    /// COMMIT or ROLLBACK.
    End,
    Kill {
        query: bool,
        id: Expr,
    },
    /// Changes one row.
    Change,
    /// Succeeds.
    Accept,
}

/// One column.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Item {
    pub(super) name: String,
    pub(super) value: Expr,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expr {
    Null,
    Int(i64),
    Uint(u64),
    Decimal(String),
    Double(f64),
    Text(String),
    Bytes(Vec<u8>),
    /// The n-th `?`, from 0.
    Param(usize),
    /// `@x`, or `@@x` with both signs.
    Variable(String),
    Call(String, Vec<Expr>),
    /// The row's number.
    Sequence,
}
