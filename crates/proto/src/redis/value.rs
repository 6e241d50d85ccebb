//! Any reply, as a tree.

use bytes::Bytes;

use super::error::ServerError;

/// Any reply, for those who do not know what comes. Everything is kept: the order of maps and their duplicates as well.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// No value.
    Null,
    /// A simple string, such as `OK`.
    Simple(String),
    /// A string of bytes.
    Bulk(Bytes),
    /// A whole number.
    Integer(i64),
    /// A floating-point number.
    Double(f64),
    /// True or false.
    Boolean(bool),
    /// Digits, more than fit in 64 bits.
    BigNumber(String),
    /// Text with its format, such as `txt` or `mkd`.
    Verbatim {
        /// Three bytes.
        format: [u8; 3],
        /// The text.
        text: Bytes,
    },
    /// An error.
    Error(ServerError),
    /// A list.
    Array(Vec<Value>),
    /// A list without order.
    Set(Vec<Value>),
    /// Pairs, in the order in which they came.
    Map(Vec<(Value, Value)>),
    /// A message that answers no request.
    Push(Vec<Value>),
}
