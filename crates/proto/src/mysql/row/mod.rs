//! Rows, borrowed from the receive buffer, and what they are read as.
//!
//! A result set's [`Columns`] are made once; with them a row is cut into [`Cell`]s, and each cell is read as what the
//! caller asks for: a type of his ([`FromValue`], [`FromRow`]), or a [`Value`] of any type. Whether the types
//! fit is found out once for a result set, by [`FromRow::plan`].

mod cells;
mod error;
mod from_row;
mod from_value;
mod number;

use std::sync::Arc;

pub use self::cells::{BinaryCells, Cell, Cells, Format, TextCells};
pub use self::error::{CellError, DecodeError, Fault};
pub use self::from_row::{FromRow, NamedPlan, Plan};
pub use self::from_value::FromValue;

pub(crate) use self::cells::bitmap_len;

use super::columns::Columns;
use super::value::{Value, ValueRef};

/// One row, as it lies in the receive buffer.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    columns: &'a Arc<Columns>,
    packet: &'a [u8],
    format: Format,
}

impl<'a> Row<'a> {
    /// The row in this packet. Nothing of it is looked at.
    #[inline]
    #[must_use]
    pub fn new(columns: &'a Arc<Columns>, format: Format, packet: &'a [u8]) -> Self {
        Self {
            columns,
            packet,
            format,
        }
    }

    /// Its columns.
    #[inline]
    #[must_use]
    pub fn columns(&self) -> &'a Arc<Columns> {
        self.columns
    }

    /// How it is written.
    #[inline]
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// The packet.
    #[inline]
    #[must_use]
    pub fn packet(&self) -> &'a [u8] {
        self.packet
    }

    /// Reads it as a `T`, with a plan that was made for these columns.
    ///
    /// # Errors
    ///
    /// [`DecodeError`]: a value does not fit, or the row is malformed.
    #[inline]
    pub fn decode<T: FromRow<'a>>(&self, plan: &Plan) -> Result<T, DecodeError> {
        match self.format {
            Format::Text => {
                let mut cells = TextCells::new(self.columns, self.packet);
                let row = T::from_cells(&mut cells, plan)?;
                cells.finish()?;
                Ok(row)
            }
            Format::Binary => {
                let mut cells = BinaryCells::new(self.columns, self.packet)?;
                let row = T::from_cells(&mut cells, plan)?;
                cells.finish()?;
                Ok(row)
            }
        }
    }

    /// Reads it as a `T`, and makes the plan for this one row.
    ///
    /// # Errors
    ///
    /// [`DecodeError`]: the columns or a value do not fit, or the row is malformed.
    pub fn read<T: FromRow<'a>>(&self) -> Result<T, DecodeError> {
        self.decode(&T::plan(self.columns)?)
    }

    /// Reads the value of one column. It costs the reading of those before it.
    ///
    /// # Errors
    ///
    /// [`DecodeError`]: no such column, the value does not fit, or the row is malformed.
    pub fn get<T: FromValue<'a>>(&self, index: usize) -> Result<T, DecodeError> {
        let columns = self.columns.len();
        if index >= columns {
            return Err(Fault::NoIndex { index, columns }.into());
        }
        match self.format {
            Format::Text => nth(&mut TextCells::new(self.columns, self.packet), index),
            Format::Binary => nth(&mut BinaryCells::new(self.columns, self.packet)?, index),
        }
    }

    /// Reads the value of the first column of that name.
    ///
    /// # Errors
    ///
    /// [`DecodeError`]: no such column, the value does not fit, or the row is malformed.
    pub fn get_by_name<T: FromValue<'a>>(&self, name: &str) -> Result<T, DecodeError> {
        let Some(index) = self.columns.index_of(name) else {
            return Err(Fault::NoColumn {
                name: name.to_owned(),
            }
            .into());
        };
        self.get(index)
    }

    /// All values, of any type.
    ///
    /// # Errors
    ///
    /// [`DecodeError`]: a text is not UTF-8, or the row is malformed.
    pub fn values(&self) -> Result<Vec<ValueRef<'a>>, DecodeError> {
        self.decode(&Plan::positional())
    }

    /// A copy that can be kept.
    #[must_use]
    pub fn to_owned(&self) -> OwnedRow {
        OwnedRow {
            columns: Arc::clone(self.columns),
            packet: self.packet.into(),
            format: self.format,
        }
    }
}

fn nth<'a, T: FromValue<'a>>(cells: &mut impl Cells<'a>, index: usize) -> Result<T, DecodeError> {
    for _ in 0..index {
        cells.next_cell()?;
    }
    from_row::next(cells)
}

/// A row that was copied out of the receive buffer.
#[derive(Clone, Debug)]
pub struct OwnedRow {
    columns: Arc<Columns>,
    packet: Box<[u8]>,
    format: Format,
}

impl OwnedRow {
    /// The row.
    #[must_use]
    pub fn as_row(&self) -> Row<'_> {
        Row {
            columns: &self.columns,
            packet: &self.packet,
            format: self.format,
        }
    }

    /// All values, of any type.
    ///
    /// # Errors
    ///
    /// [`DecodeError`]: a text is not UTF-8, or the row is malformed.
    pub fn values(&self) -> Result<Vec<Value>, DecodeError> {
        self.as_row().decode(&Plan::positional())
    }
}
