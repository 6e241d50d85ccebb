//! What a cell can be read as.

use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;

use super::cells::{Cell, Format};
use super::error::CellError;
use super::number;
use crate::mysql::kind::Kind;
use crate::mysql::value::{
    Date, DateTime, Decimal, Time, Value, ValueRef, binary, is_decimal, text,
};

/// A type that one value of a row can be read as.
///
/// Nothing is lost on the way: a number that the type does not hold is an error, and so is a NULL where there is no
/// `Option`.
///
/// | type | columns |
/// |---|---|
/// | `i8` to `i64`, `u8` to `u64`, `isize`, `usize` | whole numbers of any width, YEAR, BIT, DECIMAL without a fraction |
/// | `bool` | the same; everything but 0 is true |
/// | `f32` | FLOAT |
/// | `f64` | FLOAT, DOUBLE, DECIMAL (to the nearest), whole numbers of 32 bits |
/// | `String`, `&str`, `Box<str>`, `Cow<str>` | text, JSON, DECIMAL, and bytes that are UTF-8 |
/// | `Vec<u8>`, `&[u8]`, `Bytes`, `Box<[u8]>` | the same without the condition, and BIT |
/// | [`Decimal`] | DECIMAL, whole numbers |
/// | [`Date`], [`DateTime`], [`Time`] | DATE; DATETIME, TIMESTAMP and DATE; TIME |
/// | `Duration` | TIME that is not negative |
/// | `Option<T>` | what `T` can be read from, and NULL |
/// | [`Value`], [`ValueRef`] | everything |
pub trait FromValue<'a>: Sized {
    /// Whether columns of this kind can be read as this type at all. Asked once for a result set; a column that is
    /// always NULL is not asked about.
    fn accepts(kind: Kind) -> bool;

    /// Reads the cell.
    ///
    /// # Errors
    ///
    /// [`CellError`].
    fn from_cell(cell: Cell<'a>) -> Result<Self, CellError>;
}

macro_rules! whole {
    ($($type:ty)*) => {$(
        impl FromValue<'_> for $type {
            #[inline]
            fn accepts(kind: Kind) -> bool {
                number::is_whole(kind)
            }

            #[inline(always)]
            fn from_cell(cell: Cell<'_>) -> Result<Self, CellError> {
                number::whole(cell)?.try_into().map_err(|_| CellError::Range)
            }
        }
    )*};
}

whole!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize);

impl FromValue<'_> for bool {
    fn accepts(kind: Kind) -> bool {
        number::is_whole(kind)
    }

    #[inline]
    fn from_cell(cell: Cell<'_>) -> Result<Self, CellError> {
        Ok(number::whole(cell)? != 0)
    }
}

impl FromValue<'_> for f32 {
    fn accepts(kind: Kind) -> bool {
        kind == Kind::Float
    }

    #[inline]
    fn from_cell(cell: Cell<'_>) -> Result<Self, CellError> {
        let bytes = cell.bytes.ok_or(CellError::Null)?;
        match cell.kind {
            Kind::Float => number::float(cell.format, bytes),
            _ => Err(CellError::Type),
        }
    }
}

impl FromValue<'_> for f64 {
    fn accepts(kind: Kind) -> bool {
        match kind {
            Kind::Float | Kind::Double | Kind::Decimal => true,
            Kind::Int64 | Kind::Uint64 | Kind::Bit => false,
            kind => number::is_whole(kind),
        }
    }

    #[inline]
    fn from_cell(cell: Cell<'_>) -> Result<Self, CellError> {
        let bytes = cell.bytes.ok_or(CellError::Null)?;
        match cell.kind {
            Kind::Double => number::double(cell.format, bytes),
            Kind::Float => number::float(cell.format, bytes).map(Self::from),
            Kind::Decimal => number::parse(bytes),
            kind if Self::accepts(kind) => {
                let value = i64::try_from(number::whole(cell)?);
                value
                    .map(|value| value as Self)
                    .map_err(|_| CellError::Range)
            }
            _ => Err(CellError::Type),
        }
    }
}

impl<'a> FromValue<'a> for &'a str {
    #[inline]
    fn accepts(kind: Kind) -> bool {
        matches!(kind, Kind::Text | Kind::Json | Kind::Decimal | Kind::Bytes)
    }

    #[inline]
    fn from_cell(cell: Cell<'a>) -> Result<Self, CellError> {
        let bytes = cell.bytes.ok_or(CellError::Null)?;
        if !Self::accepts(cell.kind) {
            return Err(CellError::Type);
        }
        simdutf8::basic::from_utf8(bytes).map_err(|_| CellError::Utf8)
    }
}

impl<'a> FromValue<'a> for &'a [u8] {
    #[inline]
    fn accepts(kind: Kind) -> bool {
        <&str>::accepts(kind) || kind == Kind::Bit
    }

    #[inline]
    fn from_cell(cell: Cell<'a>) -> Result<Self, CellError> {
        let bytes = cell.bytes.ok_or(CellError::Null)?;
        if !Self::accepts(cell.kind) {
            return Err(CellError::Type);
        }
        Ok(bytes)
    }
}

macro_rules! owned {
    ($($type:ty: $borrowed:ty, $from:expr;)*) => {$(
        impl<'a> FromValue<'a> for $type {
            #[inline]
            fn accepts(kind: Kind) -> bool {
                <$borrowed>::accepts(kind)
            }

            #[inline]
            fn from_cell(cell: Cell<'a>) -> Result<Self, CellError> {
                <$borrowed>::from_cell(cell).map($from)
            }
        }
    )*};
}

owned! {
    String: &str, str::to_owned;
    Box<str>: &str, Box::from;
    Cow<'a, str>: &str, Cow::Borrowed;
    Vec<u8>: &[u8], <[u8]>::to_vec;
    Box<[u8]>: &[u8], Box::from;
    Cow<'a, [u8]>: &[u8], Cow::Borrowed;
    Bytes: &[u8], Bytes::copy_from_slice;
    Value: ValueRef<'_>, ValueRef::to_value;
}

impl FromValue<'_> for Decimal {
    fn accepts(kind: Kind) -> bool {
        number::is_whole(kind) && kind != Kind::Bit
    }

    fn from_cell(cell: Cell<'_>) -> Result<Self, CellError> {
        let bytes = cell.bytes.ok_or(CellError::Null)?;
        let text = match cell.kind {
            Kind::Decimal => String::from_utf8_lossy(bytes).into_owned(),
            kind if Self::accepts(kind) => number::whole(cell)?.to_string(),
            _ => return Err(CellError::Type),
        };
        Self::new(text).ok_or(CellError::Malformed)
    }
}

impl FromValue<'_> for Date {
    fn accepts(kind: Kind) -> bool {
        kind == Kind::Date
    }

    #[inline]
    fn from_cell(cell: Cell<'_>) -> Result<Self, CellError> {
        let bytes = cell.bytes.ok_or(CellError::Null)?;
        if cell.kind != Kind::Date {
            return Err(CellError::Type);
        }
        let value = match cell.format {
            Format::Binary => binary::date(bytes),
            Format::Text => text::date(bytes),
        };
        value.ok_or(CellError::Malformed)
    }
}

impl FromValue<'_> for DateTime {
    fn accepts(kind: Kind) -> bool {
        matches!(kind, Kind::DateTime | Kind::Date)
    }

    #[inline]
    fn from_cell(cell: Cell<'_>) -> Result<Self, CellError> {
        let bytes = cell.bytes.ok_or(CellError::Null)?;
        let value = match (cell.kind, cell.format) {
            (Kind::DateTime, Format::Binary) => binary::date_time(bytes),
            (Kind::DateTime, Format::Text) => text::date_time(bytes),
            (Kind::Date, _) => return Date::from_cell(cell).map(Self::from),
            _ => return Err(CellError::Type),
        };
        value.ok_or(CellError::Malformed)
    }
}

impl FromValue<'_> for Time {
    fn accepts(kind: Kind) -> bool {
        kind == Kind::Time
    }

    #[inline]
    fn from_cell(cell: Cell<'_>) -> Result<Self, CellError> {
        let bytes = cell.bytes.ok_or(CellError::Null)?;
        if cell.kind != Kind::Time {
            return Err(CellError::Type);
        }
        let value = match cell.format {
            Format::Binary => binary::time(bytes),
            Format::Text => text::time(bytes),
        };
        value.ok_or(CellError::Malformed)
    }
}

impl FromValue<'_> for Duration {
    fn accepts(kind: Kind) -> bool {
        kind == Kind::Time
    }

    fn from_cell(cell: Cell<'_>) -> Result<Self, CellError> {
        Time::from_cell(cell)?.to_duration().ok_or(CellError::Range)
    }
}

impl<'a, T: FromValue<'a>> FromValue<'a> for Option<T> {
    #[inline]
    fn accepts(kind: Kind) -> bool {
        T::accepts(kind)
    }

    #[inline(always)]
    fn from_cell(cell: Cell<'a>) -> Result<Self, CellError> {
        if cell.bytes.is_none() {
            return Ok(None);
        }
        T::from_cell(cell).map(Some)
    }
}

impl<'a> FromValue<'a> for ValueRef<'a> {
    fn accepts(_kind: Kind) -> bool {
        true
    }

    fn from_cell(cell: Cell<'a>) -> Result<Self, CellError> {
        let Some(bytes) = cell.bytes else {
            return Ok(Self::Null);
        };
        Ok(match cell.kind {
            // A column that is always NULL has no other values.
            Kind::Null => return Err(CellError::Malformed),
            Kind::Int8 | Kind::Int16 | Kind::Int32 | Kind::Int64 => {
                Self::Int(i64::from_cell(cell)?)
            }
            Kind::Uint8 | Kind::Uint16 | Kind::Uint32 | Kind::Uint64 | Kind::Year | Kind::Bit => {
                Self::Uint(u64::from_cell(cell)?)
            }
            Kind::Float => Self::Float(number::float(cell.format, bytes)?),
            Kind::Double => Self::Double(number::double(cell.format, bytes)?),
            Kind::Decimal if !is_decimal(bytes) => return Err(CellError::Malformed),
            Kind::Decimal => Self::Decimal(<&str>::from_cell(cell)?),
            Kind::Date => Self::Date(Date::from_cell(cell)?),
            Kind::DateTime => Self::DateTime(DateTime::from_cell(cell)?),
            Kind::Time => Self::Time(Time::from_cell(cell)?),
            Kind::Text | Kind::Json => Self::Text(<&str>::from_cell(cell)?),
            Kind::Bytes => Self::Bytes(bytes),
        })
    }
}
