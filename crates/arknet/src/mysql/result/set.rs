//! Results as they are.

use std::sync::Arc;

use arknet_proto::mysql::row::{DecodeError, OwnedRow, Row};
use arknet_proto::mysql::{Columns, OkPacket};

use super::{Collect, Done, FromResult};
use crate::mysql::Error;

/// One result with all that the server says of it.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ResultSet {
    /// Its columns; none if it has no rows by its nature, as that of an `INSERT`.
    pub columns: Arc<Columns>,
    /// Its rows, not yet read as anything.
    pub rows: Vec<OwnedRow>,
    /// What the server says at its end.
    pub done: Done,
}

/// All results of an answer, in order. Those of a procedure end with one that has no columns; if it was executed as a prepared
/// statement, its OUT parameters are the set before, which says so ([`Done::is_out_parameters`]).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ResultSets {
    /// The results.
    pub results: Vec<ResultSet>,
}

impl FromResult for ResultSet {
    type Collector = FirstSet;
}

impl FromResult for ResultSets {
    type Collector = AllSets;
}

/// Keeps the first result.
#[derive(Debug, Default)]
pub struct FirstSet {
    set: ResultSet,
    ended: bool,
}

impl Collect for FirstSet {
    type Output = ResultSet;
    const KEEPS: bool = true;

    fn columns(&mut self, columns: &Arc<Columns>) -> Result<(), DecodeError> {
        if !self.ended {
            self.set.columns = Arc::clone(columns);
        }
        Ok(())
    }

    fn row(&mut self, row: Row<'_>) -> Result<(), DecodeError> {
        if !self.ended {
            self.set.rows.push(row.to_owned());
        }
        Ok(())
    }

    fn end(&mut self, ok: &OkPacket<'_>) {
        if !std::mem::replace(&mut self.ended, true) {
            self.set.done = Done::of(ok);
        }
    }

    fn finish(self) -> Result<ResultSet, Error> {
        Ok(self.set)
    }
}

/// Keeps all results.
#[derive(Debug, Default)]
pub struct AllSets {
    sets: ResultSets,
    current: ResultSet,
}

impl Collect for AllSets {
    type Output = ResultSets;
    const KEEPS: bool = true;

    fn columns(&mut self, columns: &Arc<Columns>) -> Result<(), DecodeError> {
        self.current.columns = Arc::clone(columns);
        Ok(())
    }

    fn row(&mut self, row: Row<'_>) -> Result<(), DecodeError> {
        self.current.rows.push(row.to_owned());
        Ok(())
    }

    fn end(&mut self, ok: &OkPacket<'_>) {
        self.current.done = Done::of(ok);
        self.sets.results.push(std::mem::take(&mut self.current));
    }

    fn finish(self) -> Result<ResultSets, Error> {
        Ok(self.sets)
    }
}
