//! What the answer to a statement is read as.

mod done;
mod rows;
mod set;
mod tuple;

use std::fmt;
use std::sync::Arc;

use arknet_proto::mysql::command::Prepared;
use arknet_proto::mysql::row::{DecodeError, Row};
use arknet_proto::mysql::{Columns, OkPacket};

pub use self::done::Done;
pub use self::set::{ResultSet, ResultSets};
use super::{Error, Statement};

/// A type that the answer to a statement can be read as.
///
/// | type | what it is |
/// |---|---|
/// | `Vec<R>` | the rows of the first result set, each read as `R`, a [`FromRow`](super::FromRow); none if there is no result set |
/// | `Option<R>` | its first row, if it has one |
/// | [`Done`] | what the last statement has done: affected rows, last id, warnings |
/// | `()` | that it has been carried out |
/// | [`ResultSet`] | the first result with its columns and rows as they are, and what it says of itself |
/// | [`ResultSets`] | all of them, the OUT parameters of a procedure labelled |
/// | a tuple of 2 to 8 | one result after the other: of several statements, or of a procedure, whose own result comes last |
///
/// It cannot be implemented outside this crate.
pub trait FromResult: Sized + Send {
    /// What is kept while the answer comes.
    #[doc(hidden)]
    type Collector: Collect<Output = Self>;
}

/// Takes an answer as it comes.
///
/// Not for users: it is public since [`FromResult`] names it.
pub trait Collect: Default + Send + fmt::Debug {
    /// What comes of it.
    type Output;

    /// Whether what it keeps grows with the rows.
    const KEEPS: bool;

    /// A result set begins.
    ///
    /// # Errors
    ///
    /// [`DecodeError`]: its rows are not what was asked for.
    fn columns(&mut self, columns: &Arc<Columns>) -> Result<(), DecodeError>;

    /// A row of it.
    ///
    /// # Errors
    ///
    /// [`DecodeError`]: it is not what was asked for.
    fn row(&mut self, row: Row<'_>) -> Result<(), DecodeError>;

    /// A result has ended.
    fn end(&mut self, ok: &OkPacket<'_>);

    /// A statement was prepared.
    fn prepared(&mut self, _sql: &str, _prepared: &Prepared) {}

    /// All has come.
    ///
    /// # Errors
    ///
    /// [`Error`]: it is not what was asked for.
    fn finish(self) -> Result<Self::Output, Error>;
}

impl FromResult for Statement {
    type Collector = PreparedOnly;
}

/// Keeps what was prepared.
#[derive(Debug, Default)]
pub struct PreparedOnly(Option<Statement>);

impl Collect for PreparedOnly {
    type Output = Statement;
    const KEEPS: bool = false;

    fn columns(&mut self, _columns: &Arc<Columns>) -> Result<(), DecodeError> {
        Ok(())
    }

    fn row(&mut self, _row: Row<'_>) -> Result<(), DecodeError> {
        Ok(())
    }

    fn end(&mut self, _ok: &OkPacket<'_>) {}

    fn prepared(&mut self, sql: &str, prepared: &Prepared) {
        self.0 = Some(Statement {
            sql: sql.into(),
            params: prepared.params().clone(),
            columns: prepared.columns().clone(),
        });
    }

    fn finish(self) -> Result<Statement, Error> {
        self.0.ok_or(Error::Closed)
    }
}
