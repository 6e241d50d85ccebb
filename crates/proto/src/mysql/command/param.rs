//! A parameter of a statement.

use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;

use crate::mysql::kind::ColumnType;
use crate::mysql::value::{Date, DateTime, Decimal, Time, Value, ValueRef, binary};
use crate::mysql::wire::{put_lenenc_bytes, put_u64};

/// A value for a question mark.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Param<'a> {
    /// NULL.
    Null,
    /// A whole number: BIGINT.
    Int(i64),
    /// A whole number without sign: BIGINT UNSIGNED.
    Uint(u64),
    /// FLOAT.
    Float(f32),
    /// DOUBLE.
    Double(f64),
    /// Text in the connection's character set.
    Text(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
    /// DECIMAL as digits.
    Decimal(&'a str),
    /// DATE.
    Date(Date),
    /// DATETIME.
    DateTime(DateTime),
    /// TIME.
    Time(Time),
    /// Text that was sent before by [`long_data`](super::long_data).
    LongText,
    /// Bytes that were sent before by [`long_data`](super::long_data).
    LongBytes,
}

/// The bit of a parameter's type that says it has no sign.
const UNSIGNED: u16 = 0x8000;

impl Param<'_> {
    pub(super) fn is_null(&self) -> bool {
        *self == Param::Null
    }

    pub(super) fn type_code(&self) -> u16 {
        let unsigned = if matches!(self, Self::Uint(_)) {
            UNSIGNED
        } else {
            0
        };
        let column_type = match self {
            Self::Null => ColumnType::Null,
            Self::Int(_) | Self::Uint(_) => ColumnType::LongLong,
            Self::Float(_) => ColumnType::Float,
            Self::Double(_) => ColumnType::Double,
            Self::Text(_) | Self::LongText => ColumnType::VarString,
            Self::Bytes(_) | Self::LongBytes => ColumnType::Blob,
            Self::Decimal(_) => ColumnType::NewDecimal,
            Self::Date(_) => ColumnType::Date,
            Self::DateTime(_) => ColumnType::DateTime,
            Self::Time(_) => ColumnType::Time,
        };
        column_type as u16 | unsigned
    }

    pub(super) fn encode(&self, payload: &mut Vec<u8>) {
        match self {
            Self::Null | Self::LongText | Self::LongBytes => {}
            Self::Int(value) => put_u64(payload, *value as u64),
            Self::Uint(value) => put_u64(payload, *value),
            Self::Float(value) => payload.extend_from_slice(&value.to_le_bytes()),
            Self::Double(value) => payload.extend_from_slice(&value.to_le_bytes()),
            Self::Text(text) | Self::Decimal(text) => put_lenenc_bytes(payload, text.as_bytes()),
            Self::Bytes(bytes) => put_lenenc_bytes(payload, bytes),
            Self::Date(value) => binary::put_date(payload, *value),
            Self::DateTime(value) => binary::put_date_time(payload, *value),
            Self::Time(value) => binary::put_time(payload, *value),
        }
    }
}

impl<'a> From<ValueRef<'a>> for Param<'a> {
    fn from(value: ValueRef<'a>) -> Self {
        match value {
            ValueRef::Null => Self::Null,
            ValueRef::Int(value) => Self::Int(value),
            ValueRef::Uint(value) => Self::Uint(value),
            ValueRef::Float(value) => Self::Float(value),
            ValueRef::Double(value) => Self::Double(value),
            ValueRef::Decimal(text) => Self::Decimal(text),
            ValueRef::Text(text) => Self::Text(text),
            ValueRef::Bytes(bytes) => Self::Bytes(bytes),
            ValueRef::Date(value) => Self::Date(value),
            ValueRef::DateTime(value) => Self::DateTime(value),
            ValueRef::Time(value) => Self::Time(value),
        }
    }
}

/// A type that can stand for a question mark.
///
/// | type | parameter |
/// |---|---|
/// | `bool`, `i8` to `i64`, `isize` | BIGINT |
/// | `u8` to `u64`, `usize` | BIGINT UNSIGNED |
/// | `f32`, `f64` | FLOAT, DOUBLE |
/// | `&str`, `String`, `Box<str>`, `Cow<str>` | text |
/// | `&[u8]`, `[u8; N]`, `Vec<u8>`, `Bytes`, `Cow<[u8]>` | bytes |
/// | [`Decimal`], [`Date`], [`DateTime`], [`Time`] | DECIMAL, DATE, DATETIME, TIME |
/// | `Duration` | TIME of at most 838:59:59.999999, to which what is longer is cut, as the server does |
/// | `Option<T>` | what `T` is, or NULL |
/// | [`Value`], [`ValueRef`], [`Param`] | what it is |
pub trait ToParam {
    /// The parameter.
    fn to_param(&self) -> Param<'_>;
}

macro_rules! numbers {
    ($($type:ty: $variant:ident as $wide:ty;)*) => {$(
        impl ToParam for $type {
            #[inline]
            fn to_param(&self) -> Param<'_> {
                Param::$variant(*self as $wide)
            }
        }
    )*};
}

numbers! {
    bool: Int as i64;
    i8: Int as i64;
    i16: Int as i64;
    i32: Int as i64;
    i64: Int as i64;
    isize: Int as i64;
    u8: Uint as u64;
    u16: Uint as u64;
    u32: Uint as u64;
    u64: Uint as u64;
    usize: Uint as u64;
    f32: Float as f32;
    f64: Double as f64;
}

macro_rules! plain {
    ($($type:ty, $value:ident => $param:expr;)*) => {$(
        impl ToParam for $type {
            #[inline]
            fn to_param(&self) -> Param<'_> {
                let $value = self;
                $param
            }
        }
    )*};
}

plain! {
    str, text => Param::Text(text);
    String, text => Param::Text(text);
    Box<str>, text => Param::Text(text);
    Cow<'_, str>, text => Param::Text(text);
    [u8], bytes => Param::Bytes(bytes);
    Vec<u8>, bytes => Param::Bytes(bytes);
    Box<[u8]>, bytes => Param::Bytes(bytes);
    Cow<'_, [u8]>, bytes => Param::Bytes(bytes);
    Bytes, bytes => Param::Bytes(bytes);
    Decimal, value => Param::Decimal(value.as_str());
    Date, value => Param::Date(*value);
    DateTime, value => Param::DateTime(*value);
    Time, value => Param::Time(*value);
    Duration, value => Param::Time(Time::from_duration(*value).unwrap_or(LONGEST));
    Value, value => value.as_ref().into();
    ValueRef<'_>, value => (*value).into();
    Param<'_>, value => *value;
}

/// What the server makes of a longer time.
const LONGEST: Time = match Time::new(false, 838, 59, 59, 999_999) {
    Some(time) => time,
    None => panic!("it is the last of its type"),
};

impl<const N: usize> ToParam for [u8; N] {
    fn to_param(&self) -> Param<'_> {
        Param::Bytes(self)
    }
}

impl<T: ToParam> ToParam for Option<T> {
    #[inline]
    fn to_param(&self) -> Param<'_> {
        self.as_ref().map_or(Param::Null, T::to_param)
    }
}

impl<T: ToParam + ?Sized> ToParam for &T {
    #[inline]
    fn to_param(&self) -> Param<'_> {
        T::to_param(self)
    }
}
