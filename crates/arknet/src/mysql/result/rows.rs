//! Rows of a type.

use std::fmt;
use std::sync::Arc;

use arknet_proto::mysql::row::{DecodeError, FromRow, Plan, Row};
use arknet_proto::mysql::{Columns, OkPacket};

use super::{Collect, FromResult};
use crate::mysql::Error;

/// The place of the first result set among the results.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Stage {
    #[default]
    Before,
    Within,
    Behind,
}

impl Stage {
    /// Whether the result set that begins is the first.
    fn begin(&mut self) -> bool {
        let is_first = *self == Self::Before;
        *self = if is_first { Self::Within } else { Self::Behind };
        is_first
    }

    fn end(&mut self) {
        if *self == Self::Within {
            *self = Self::Behind;
        }
    }
}

impl<R: for<'a> FromRow<'a> + Send> FromResult for Vec<R> {
    type Collector = All<R>;
}

impl<R: for<'a> FromRow<'a> + Send> FromResult for Option<R> {
    type Collector = First<R>;
}

/// Keeps all rows of the first result set.
pub struct All<R> {
    rows: Vec<R>,
    plan: Plan,
    stage: Stage,
}

impl<R: for<'a> FromRow<'a> + Send> Collect for All<R> {
    type Output = Vec<R>;
    const KEEPS: bool = true;

    fn columns(&mut self, columns: &Arc<Columns>) -> Result<(), DecodeError> {
        if self.stage.begin() {
            self.plan = R::plan(columns)?;
        }
        Ok(())
    }

    #[inline]
    fn row(&mut self, row: Row<'_>) -> Result<(), DecodeError> {
        if self.stage == Stage::Within {
            self.rows.push(row.decode(&self.plan)?);
        }
        Ok(())
    }

    fn end(&mut self, _ok: &OkPacket<'_>) {
        self.stage.end();
    }

    fn finish(self) -> Result<Vec<R>, Error> {
        Ok(self.rows)
    }
}

impl<R> Default for All<R> {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            plan: Plan::default(),
            stage: Stage::default(),
        }
    }
}

impl<R> fmt::Debug for All<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "All({} rows)", self.rows.len())
    }
}

/// Keeps the first row of the first result set.
pub struct First<R> {
    row: Option<R>,
    plan: Plan,
    stage: Stage,
}

impl<R: for<'a> FromRow<'a> + Send> Collect for First<R> {
    type Output = Option<R>;
    const KEEPS: bool = false;

    fn columns(&mut self, columns: &Arc<Columns>) -> Result<(), DecodeError> {
        if self.stage.begin() {
            self.plan = R::plan(columns)?;
        }
        Ok(())
    }

    #[inline]
    fn row(&mut self, row: Row<'_>) -> Result<(), DecodeError> {
        if self.stage == Stage::Within && self.row.is_none() {
            self.row = Some(row.decode(&self.plan)?);
        }
        Ok(())
    }

    fn end(&mut self, _ok: &OkPacket<'_>) {
        self.stage.end();
    }

    fn finish(self) -> Result<Option<R>, Error> {
        Ok(self.row)
    }
}

impl<R> Default for First<R> {
    fn default() -> Self {
        Self {
            row: None,
            plan: Plan::default(),
            stage: Stage::default(),
        }
    }
}

impl<R> fmt::Debug for First<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "First({})", self.row.is_some())
    }
}
