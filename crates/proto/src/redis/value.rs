//! Any reply, as a tree.

use bytes::Bytes;

use super::error::{DecodeError, ServerError};
use super::limits::ReplyLimits;
use super::reply::{Elements, FromReply, Reply};

/// Any reply, for those who do not know what comes.
///
/// Everything is kept, the order of maps and their duplicates as well, but not attributes.
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

impl FromReply for Value {
    fn from_reply(reply: Reply<'_>) -> Result<Self, DecodeError> {
        within(reply, ReplyLimits::DEEPEST)
    }
}

/// The tree of a reply that is nested `depth` deep at most: a scanned one always is, and the bound keeps
/// other bytes from exhausting the stack.
fn within(reply: Reply<'_>, depth: usize) -> Result<Value, DecodeError> {
    Ok(match reply {
        Reply::Null => Value::Null,
        Reply::Simple(text) => Value::Simple(lossy(text)),
        Reply::Bulk(text) => Value::Bulk(Bytes::copy_from_slice(text)),
        Reply::Integer(number) => Value::Integer(number),
        Reply::Double(double) => Value::Double(double.value()),
        Reply::Boolean(is_true) => Value::Boolean(is_true),
        Reply::BigNumber(text) => Value::BigNumber(lossy(text)),
        Reply::Verbatim { format, text } => Value::Verbatim {
            format,
            text: Bytes::copy_from_slice(text),
        },
        Reply::Error(text) => Value::Error(ServerError::new(text)),
        Reply::Array(elements) => Value::Array(list(elements, depth)?),
        Reply::Set(elements) => Value::Set(list(elements, depth)?),
        Reply::Push(elements) => Value::Push(list(elements, depth)?),
        Reply::Map(pairs) => {
            let mut flat = list(pairs.into_elements(), depth)?.into_iter();
            let mut pairs = Vec::with_capacity(flat.len() / 2);
            while let (Some(key), Some(value)) = (flat.next(), flat.next()) {
                pairs.push((key, value));
            }
            Value::Map(pairs)
        }
    })
}

fn list(mut elements: Elements<'_>, depth: usize) -> Result<Vec<Value>, DecodeError> {
    let depth = depth.checked_sub(1).ok_or(DecodeError::Malformed)?;
    // All of them have come, each in three bytes at least.
    let mut list = Vec::new();
    while !elements.is_empty() {
        let element = elements.next().ok_or(DecodeError::Malformed)?;
        list.push(within(element, depth)?);
    }
    Ok(list)
}

fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}
