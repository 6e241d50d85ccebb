//! Numbers of any kind, in both formats.

use super::cells::{Cell, Format};
use super::error::CellError;
use crate::mysql::kind::Kind;
use crate::mysql::value::{text, whole_decimal};

/// Whether a column's values can be whole numbers.
#[inline]
pub(super) fn is_whole(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Int8
            | Kind::Uint8
            | Kind::Int16
            | Kind::Uint16
            | Kind::Int32
            | Kind::Uint32
            | Kind::Int64
            | Kind::Uint64
            | Kind::Year
            | Kind::Bit
            | Kind::Decimal
    )
}

/// The value of a column of whole numbers.
#[inline(always)]
pub(super) fn whole(cell: Cell<'_>) -> Result<i128, CellError> {
    let bytes = cell.bytes.ok_or(CellError::Null)?;
    let value = match (cell.format, cell.kind) {
        (Format::Binary, Kind::Int64) => i64::from_le_bytes(array(bytes)?).into(),
        (Format::Binary, Kind::Uint64) => u64::from_le_bytes(array(bytes)?).into(),
        (Format::Binary, Kind::Int32) => i32::from_le_bytes(array(bytes)?).into(),
        (Format::Binary, Kind::Uint32) => u32::from_le_bytes(array(bytes)?).into(),
        (Format::Binary, Kind::Int16) => i16::from_le_bytes(array(bytes)?).into(),
        (Format::Binary, Kind::Uint16 | Kind::Year) => u16::from_le_bytes(array(bytes)?).into(),
        (Format::Binary, Kind::Int8) => i8::from_le_bytes(array(bytes)?).into(),
        (Format::Binary, Kind::Uint8) => u8::from_le_bytes(array(bytes)?).into(),
        (Format::Text, Kind::Int8 | Kind::Int16 | Kind::Int32 | Kind::Int64) => {
            text::signed(bytes).ok_or(CellError::Malformed)?.into()
        }
        (Format::Text, Kind::Uint8 | Kind::Uint16 | Kind::Uint32 | Kind::Uint64 | Kind::Year) => {
            text::unsigned(bytes).ok_or(CellError::Malformed)?.into()
        }
        _ => return rare(cell.kind, bytes),
    };
    Ok(value)
}

#[cold]
fn rare(kind: Kind, bytes: &[u8]) -> Result<i128, CellError> {
    match kind {
        Kind::Bit => bits(bytes).map(i128::from),
        Kind::Decimal => whole_decimal(bytes).ok_or(CellError::Range),
        _ => Err(CellError::Type),
    }
}

/// Up to 64 bits, the highest byte first.
pub(super) fn bits(bytes: &[u8]) -> Result<u64, CellError> {
    if bytes.len() > 8 {
        return Err(CellError::Malformed);
    }
    Ok(bytes
        .iter()
        .fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

/// The value of a FLOAT column.
#[inline]
pub(super) fn float(format: Format, bytes: &[u8]) -> Result<f32, CellError> {
    match format {
        Format::Binary => Ok(f32::from_le_bytes(array(bytes)?)),
        Format::Text => parse(bytes),
    }
}

/// The value of a DOUBLE column.
#[inline]
pub(super) fn double(format: Format, bytes: &[u8]) -> Result<f64, CellError> {
    match format {
        Format::Binary => Ok(f64::from_le_bytes(array(bytes)?)),
        Format::Text => text::double(bytes).ok_or(CellError::Malformed),
    }
}

/// A number with a point or an exponent as text.
#[inline]
pub(super) fn parse<T: std::str::FromStr>(bytes: &[u8]) -> Result<T, CellError> {
    let text = std::str::from_utf8(bytes).map_err(|_| CellError::Malformed)?;
    text.parse().map_err(|_| CellError::Malformed)
}

/// Cells have the width of their column, so this does not fail; a cell made otherwise may.
#[inline(always)]
fn array<const N: usize>(bytes: &[u8]) -> Result<[u8; N], CellError> {
    bytes.try_into().map_err(|_| CellError::Malformed)
}
