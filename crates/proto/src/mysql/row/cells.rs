//! Cuts rows into cells.

use std::slice::Iter;

use super::error::{DecodeError, Fault};
use crate::mysql::columns::{Columns, Slot};
use crate::mysql::kind::Kind;
use crate::mysql::wire::{NULL, Reader};

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Every value as text: the answer to a query.
    Text,
    /// Values as machines have them: the answer to a prepared statement.
    Binary,
}

/// One value of a row, not yet read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell<'a> {
    pub(super) kind: Kind,
    pub(super) format: Format,
    /// `None` is NULL.
    pub(super) bytes: Option<&'a [u8]>,
}

impl<'a> Cell<'a> {
    /// What the values of its column are.
    #[inline]
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// How it is written.
    #[inline]
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// What is written, without its length; `None` for NULL.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> Option<&'a [u8]> {
        self.bytes
    }
}

/// The cells of a row, one after the other, in the order of the columns.
///
/// There is one implementation for each [`Format`], so that code that reads a row is made for each of them.
pub trait Cells<'a>: sealed::Sealed {
    /// The next cell. After the last one, an error.
    ///
    /// # Errors
    ///
    /// [`Fault::Malformed`].
    fn next_cell(&mut self) -> Result<Cell<'a>, DecodeError>;

    /// How many cells have been given.
    fn position(&self) -> usize;

    /// How many are left.
    fn remaining(&self) -> usize;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::TextCells<'_> {}
    impl Sealed for super::BinaryCells<'_> {}
}

/// The cells of a text row: strings behind their lengths, or a byte for NULL.
#[derive(Clone, Debug)]
pub struct TextCells<'a> {
    slots: Iter<'a, Slot>,
    columns: usize,
    rest: &'a [u8],
}

/// The cells of a binary row: a byte 0, a bit for each column that is NULL, and the values of the others.
#[derive(Clone, Debug)]
pub struct BinaryCells<'a> {
    slots: Iter<'a, Slot>,
    columns: usize,
    /// Bytes of the bitmap that follow `bits`.
    nulls: Iter<'a, u8>,
    /// The bits of the columns to come, up to the end of a byte, which the highest bit that is set marks.
    bits: u32,
    rest: &'a [u8],
}

/// The bit of the first column in the bitmap of a binary row.
const FIRST_BIT: usize = 2;

/// Bytes of the bitmap of a binary row.
pub(crate) const fn bitmap_len(columns: usize) -> usize {
    (columns + FIRST_BIT).div_ceil(8)
}

impl<'a> TextCells<'a> {
    #[inline]
    pub(super) fn new(columns: &'a Columns, packet: &'a [u8]) -> Self {
        Self {
            slots: columns.slots().iter(),
            columns: columns.len(),
            rest: packet,
        }
    }

    /// An error if something follows the last cell.
    #[inline]
    pub(super) fn finish(&self) -> Result<(), DecodeError> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(malformed(self.columns, self.columns))
    }

    #[cold]
    fn malformed(&self) -> DecodeError {
        malformed(self.position(), self.columns)
    }
}

impl<'a> Cells<'a> for TextCells<'a> {
    #[inline(always)]
    fn next_cell(&mut self) -> Result<Cell<'a>, DecodeError> {
        let Some(slot) = self.slots.next() else {
            return Err(self.malformed());
        };
        let mut cell = Cell {
            kind: slot.kind,
            format: Format::Text,
            bytes: None,
        };
        let Some((first, rest)) = self.rest.split_first() else {
            return Err(self.malformed());
        };
        if *first < NULL {
            let Some((bytes, rest)) = rest.split_at_checked(usize::from(*first)) else {
                return Err(self.malformed());
            };
            cell.bytes = Some(bytes);
            self.rest = rest;
            return Ok(cell);
        }
        if *first == NULL {
            self.rest = rest;
            return Ok(cell);
        }
        let Some(bytes) = long(&mut self.rest) else {
            return Err(self.malformed());
        };
        cell.bytes = Some(bytes);
        Ok(cell)
    }

    #[inline]
    fn position(&self) -> usize {
        self.columns - self.slots.len()
    }

    #[inline]
    fn remaining(&self) -> usize {
        self.slots.len()
    }
}

/// Marks the end of a byte of the bitmap.
const END: u32 = 1 << 8;

impl<'a> BinaryCells<'a> {
    #[inline(always)]
    pub(super) fn new(columns: &'a Columns, packet: &'a [u8]) -> Result<Self, DecodeError> {
        let count = columns.len();
        let split = match packet {
            [0, rest @ ..] => rest.split_at_checked(bitmap_len(count)),
            _ => None,
        };
        let Some((nulls, rest)) = split else {
            return Err(malformed(0, count));
        };
        let mut nulls = nulls.iter();
        let first = nulls.next().map_or(0, |byte| u32::from(*byte));
        Ok(Self {
            slots: columns.slots().iter(),
            columns: count,
            nulls,
            bits: (first | END) >> FIRST_BIT,
            rest,
        })
    }

    /// An error if something follows the last cell.
    #[inline]
    pub(super) fn finish(&self) -> Result<(), DecodeError> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(malformed(self.columns, self.columns))
    }

    #[cold]
    fn malformed(&self) -> DecodeError {
        malformed(self.position(), self.columns)
    }

    /// Whether the next column is NULL.
    #[inline(always)]
    fn next_is_null(&mut self) -> bool {
        if self.bits == 1 {
            self.bits = self.nulls.next().map_or(0, |byte| u32::from(*byte)) | END;
        }
        let is_null = self.bits & 1 != 0;
        self.bits >>= 1;
        is_null
    }
}

impl<'a> Cells<'a> for BinaryCells<'a> {
    #[inline(always)]
    fn next_cell(&mut self) -> Result<Cell<'a>, DecodeError> {
        let Some(slot) = self.slots.next() else {
            return Err(self.malformed());
        };
        let mut cell = Cell {
            kind: slot.kind,
            format: Format::Binary,
            bytes: None,
        };
        if self.next_is_null() {
            return Ok(cell);
        }
        if slot.width != 0 {
            let Some((bytes, rest)) = self.rest.split_at_checked(usize::from(slot.width)) else {
                return Err(self.malformed());
            };
            cell.bytes = Some(bytes);
            self.rest = rest;
            return Ok(cell);
        }
        let short = self.rest.split_first().filter(|(first, _)| **first < NULL);
        if let Some((first, rest)) = short {
            let Some((bytes, rest)) = rest.split_at_checked(usize::from(*first)) else {
                return Err(self.malformed());
            };
            cell.bytes = Some(bytes);
            self.rest = rest;
            return Ok(cell);
        }
        let Some(bytes) = long(&mut self.rest) else {
            return Err(self.malformed());
        };
        cell.bytes = Some(bytes);
        Ok(cell)
    }

    #[inline]
    fn position(&self) -> usize {
        self.columns - self.slots.len()
    }

    #[inline]
    fn remaining(&self) -> usize {
        self.slots.len()
    }
}

/// A string whose length takes more than one byte.
#[cold]
fn long<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let mut reader = Reader::new(rest);
    let bytes = reader.lenenc_bytes()?;
    *rest = reader.rest();
    Some(bytes)
}

#[cold]
fn malformed(column: usize, columns: usize) -> DecodeError {
    Fault::Malformed { column, columns }.into()
}
