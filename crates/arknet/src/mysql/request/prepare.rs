//! Statements that are prepared ahead, and what is known of them then.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use arknet_proto::mysql::Columns;
use arknet_proto::mysql::command::Params;

use super::unit::{Asks, Single};
use super::{Ask, Exec, Request, Unit, exec, sealed};
use crate::mysql::Error;
use crate::mysql::result::FromResult;

/// Asks for a statement to be prepared: from [`prepare`].
#[derive(Clone)]
#[must_use = "a request does nothing until it is run"]
pub struct Prepare<'q> {
    sql: Cow<'q, str>,
}

/// Has a statement prepared, without executing it: for what the server says of its parameters and columns, or to pay for it
/// ahead. [`exec`] prepares by itself what is not.
pub fn prepare<'q>(sql: impl Into<Cow<'q, str>>) -> Prepare<'q> {
    Prepare { sql: sql.into() }
}

/// What a server has said of a statement when it prepared it.
///
/// A value, not a hold on the server: it can be used on any connection, and any time. Where the statement is not prepared any
/// more, or not yet, it is prepared again on the way.
#[derive(Clone)]
pub struct Statement {
    pub(crate) sql: Arc<str>,
    pub(crate) params: Arc<Columns>,
    pub(crate) columns: Arc<Columns>,
}

impl Statement {
    /// Its text.
    pub fn sql(&self) -> &str {
        &self.sql
    }

    /// Its parameters, as far as the server knows their types. MariaDB knows their number only.
    pub fn params(&self) -> &Columns {
        &self.params
    }

    /// The columns that it will yield, as of its preparation; none if it yields no rows.
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// Its execution, as [`exec`] of its text.
    pub fn exec<T: FromResult>(&self, params: impl Params) -> Exec<'_, T> {
        exec(&*self.sql, params)
    }
}

impl Single for Prepare<'_> {
    type Value = Statement;
}

impl Asks for Prepare<'_> {
    fn ask(&self) -> Ask<'_> {
        Ask::Prepare(&self.sql)
    }

    fn is_stateless(&self) -> bool {
        // What is prepared is known, and forgotten in good order.
        true
    }
}

impl sealed::Sealed for Prepare<'_> {}

impl Request for Prepare<'_> {
    type Output = Result<Statement, Error>;
    type Units = Unit<Self>;

    fn into_units(self) -> Unit<Self> {
        Unit::new(self)
    }
}

/// Shows the statement's digest.
impl fmt::Debug for Prepare<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Prepare({})", crate::mysql::digest::Digest(&self.sql))
    }
}

/// Shows the statement's digest.
impl fmt::Debug for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Statement")
            .field("digest", &crate::mysql::digest::Digest(&self.sql))
            .field("params", &self.params.len())
            .field("columns", &self.columns.len())
            .finish()
    }
}
