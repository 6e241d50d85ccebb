//! Values, whatever their type.

pub(crate) mod binary;
mod decimal;
mod temporal;
pub(crate) mod text;

pub use self::decimal::Decimal;
pub use self::temporal::{Date, DateTime, Time};

pub(crate) use self::decimal::{is_decimal, whole as whole_decimal};

/// A value of any type, borrowed from a row.
///
/// The same column gives equal values in a text row and in a binary one. (A FLOAT is the exception that servers make:
/// as text they show six digits of it.)
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum ValueRef<'a> {
    /// NULL.
    Null,
    /// A whole number with a sign.
    Int(i64),
    /// A whole number without: UNSIGNED, YEAR, BIT.
    Uint(u64),
    /// FLOAT.
    Float(f32),
    /// DOUBLE.
    Double(f64),
    /// DECIMAL as digits.
    Decimal(&'a str),
    /// CHAR, VARCHAR, TEXT, ENUM, SET, JSON.
    Text(&'a str),
    /// BINARY, VARBINARY, BLOB, GEOMETRY, VECTOR.
    Bytes(&'a [u8]),
    /// DATE.
    Date(Date),
    /// DATETIME, TIMESTAMP.
    DateTime(DateTime),
    /// TIME.
    Time(Time),
}

/// A value of any type, owned. Variants are those of [`ValueRef`].
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// NULL.
    #[default]
    Null,
    /// A whole number with a sign.
    Int(i64),
    /// A whole number without: UNSIGNED, YEAR, BIT.
    Uint(u64),
    /// FLOAT.
    Float(f32),
    /// DOUBLE.
    Double(f64),
    /// DECIMAL.
    Decimal(Decimal),
    /// CHAR, VARCHAR, TEXT, ENUM, SET, JSON.
    Text(String),
    /// BINARY, VARBINARY, BLOB, GEOMETRY, VECTOR.
    Bytes(Vec<u8>),
    /// DATE.
    Date(Date),
    /// DATETIME, TIMESTAMP.
    DateTime(DateTime),
    /// TIME.
    Time(Time),
}

impl ValueRef<'_> {
    /// A copy that borrows nothing.
    #[must_use]
    pub fn to_value(self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Int(value) => Value::Int(value),
            Self::Uint(value) => Value::Uint(value),
            Self::Float(value) => Value::Float(value),
            Self::Double(value) => Value::Double(value),
            // A row's decimal was read as one.
            Self::Decimal(text) => match Decimal::new(text) {
                Some(decimal) => Value::Decimal(decimal),
                None => Value::Text(text.to_owned()),
            },
            Self::Text(text) => Value::Text(text.to_owned()),
            Self::Bytes(bytes) => Value::Bytes(bytes.to_vec()),
            Self::Date(value) => Value::Date(value),
            Self::DateTime(value) => Value::DateTime(value),
            Self::Time(value) => Value::Time(value),
        }
    }
}

impl Value {
    /// The same value, borrowed.
    #[must_use]
    pub fn as_ref(&self) -> ValueRef<'_> {
        match self {
            Self::Null => ValueRef::Null,
            Self::Int(value) => ValueRef::Int(*value),
            Self::Uint(value) => ValueRef::Uint(*value),
            Self::Float(value) => ValueRef::Float(*value),
            Self::Double(value) => ValueRef::Double(*value),
            Self::Decimal(value) => ValueRef::Decimal(value.as_str()),
            Self::Text(text) => ValueRef::Text(text),
            Self::Bytes(bytes) => ValueRef::Bytes(bytes),
            Self::Date(value) => ValueRef::Date(*value),
            Self::DateTime(value) => ValueRef::DateTime(*value),
            Self::Time(value) => ValueRef::Time(*value),
        }
    }

    /// Whether it is NULL.
    #[must_use]
    pub fn is_null(&self) -> bool {
        *self == Self::Null
    }
}
