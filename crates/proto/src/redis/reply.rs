//! A scanned reply, seen without a copy, and what can be made of it.

use std::fmt;

use super::error::{DecodeError, ServerError};

pub use self::elements::{Elements, Pairs};
pub use self::fields::Fields;
pub use self::walk::Walk;

mod collections;
mod elements;
mod fields;
mod scalars;
mod strings;
mod tuples;
mod walk;

/// One reply, or one element of it, as a view of the received bytes.
///
/// Attributes before it are skipped; [`Reply::attributes`] reads them.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Reply<'a> {
    /// No value: `_`, and `$-1` and `*-1` of RESP2.
    Null,
    /// A simple string, such as `OK`.
    Simple(&'a [u8]),
    /// A string of bytes.
    Bulk(&'a [u8]),
    /// A whole number.
    Integer(i64),
    /// A floating-point number.
    Double(Double<'a>),
    /// True or false.
    Boolean(bool),
    /// Digits with or without a sign, usually more than fit in 64 bits.
    BigNumber(&'a [u8]),
    /// Text with its format.
    Verbatim {
        /// Three bytes, such as `txt` or `mkd`.
        format: [u8; 3],
        /// The text.
        text: &'a [u8],
    },
    /// An error; its text, which [`ServerError::new`] takes.
    Error(&'a [u8]),
    /// A list.
    Array(Elements<'a>),
    /// A list without order.
    Set(Elements<'a>),
    /// Pairs, in the order in which they came.
    Map(Pairs<'a>),
    /// A message that answers no request; its first element says which kind.
    Push(Elements<'a>),
}

impl<'a> Reply<'a> {
    /// The reply at the start of `frame`, which a [`Scanner`](super::Scanner) has found.
    ///
    /// # Errors
    ///
    /// [`DecodeError::Malformed`] if these bytes are no reply.
    #[inline]
    pub fn parse(frame: &'a [u8]) -> Result<Self, DecodeError> {
        match elements::read(frame) {
            Some((reply, _)) => Ok(reply),
            None => Err(DecodeError::Malformed),
        }
    }

    /// The attributes before the reply at the start of `frame`; of several in a row, the first ones.
    pub fn attributes(frame: &'a [u8]) -> Option<Pairs<'a>> {
        elements::attributes(frame)
    }

    /// What type it is.
    pub fn kind(&self) -> ReplyKind {
        match self {
            Self::Null => ReplyKind::Null,
            Self::Simple(_) => ReplyKind::Simple,
            Self::Bulk(_) => ReplyKind::Bulk,
            Self::Integer(_) => ReplyKind::Integer,
            Self::Double(_) => ReplyKind::Double,
            Self::Boolean(_) => ReplyKind::Boolean,
            Self::BigNumber(_) => ReplyKind::BigNumber,
            Self::Verbatim { .. } => ReplyKind::Verbatim,
            Self::Error(_) => ReplyKind::Error,
            Self::Array(_) => ReplyKind::Array,
            Self::Set(_) => ReplyKind::Set,
            Self::Map(_) => ReplyKind::Map,
            Self::Push(_) => ReplyKind::Push,
        }
    }

    /// Decodes it: the same as `T::from_reply(self)`.
    ///
    /// # Errors
    ///
    /// As [`FromReply::from_reply`].
    pub fn decode<T: FromReply>(self) -> Result<T, DecodeError> {
        T::from_reply(self)
    }

    /// The error of a type that needs something else: what the server said, if this is an error, and
    /// otherwise what was `expected`.
    #[cold]
    pub fn unexpected(&self, expected: &'static str) -> DecodeError {
        match self {
            Self::Error(text) => DecodeError::Server(ServerError::new(text)),
            other => DecodeError::Unexpected {
                expected,
                found: other.kind(),
            },
        }
    }

    /// The error of a type that takes this type of reply, but not this value.
    #[cold]
    pub fn unfit(&self, expected: &'static str) -> DecodeError {
        DecodeError::Unfit {
            expected,
            found: self.kind(),
        }
    }
}

/// A floating-point number: as text, which is exact, and as a number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Double<'a> {
    text: &'a [u8],
}

impl<'a> Double<'a> {
    /// As the server wrote it.
    pub fn text(&self) -> &'a str {
        std::str::from_utf8(self.text).unwrap_or_default()
    }

    /// The nearest `f64`.
    pub fn value(&self) -> f64 {
        self.text().parse().unwrap_or(f64::NAN)
    }
}

impl fmt::Debug for Double<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// The types of replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReplyKind {
    /// `_`, and `$-1` and `*-1` of RESP2.
    Null,
    /// `+`
    Simple,
    /// `$`
    Bulk,
    /// `:`
    Integer,
    /// `,`
    Double,
    /// `#`
    Boolean,
    /// `(`
    BigNumber,
    /// `=`
    Verbatim,
    /// `-` and `!`
    Error,
    /// `*`
    Array,
    /// `~`
    Set,
    /// `%`
    Map,
    /// `>`
    Push,
    /// `|`, before another reply.
    Attribute,
}

impl fmt::Display for ReplyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Null => "null",
            Self::Simple => "simple string",
            Self::Bulk => "bulk string",
            Self::Integer => "integer",
            Self::Double => "double",
            Self::Boolean => "boolean",
            Self::BigNumber => "big number",
            Self::Verbatim => "verbatim string",
            Self::Error => "error",
            Self::Array => "array",
            Self::Set => "set",
            Self::Map => "map",
            Self::Push => "push message",
            Self::Attribute => "attribute",
        })
    }
}

/// A type that is made from a reply, without a tree between them.
///
/// | type | replies |
/// |---|---|
/// | `()` | any but an error |
/// | `bool` | boolean; 0 or 1 as number or text |
/// | integers | number; text that is one |
/// | `f32`, `f64` | double, number; text that is one |
/// | `String`, `Box<str>`, `Arc<str>` | strings in UTF-8; numbers, as the server wrote them |
/// | `Vec<u8>`, `Bytes`, `[u8; N]` | strings; numbers, as text |
/// | `Option<T>` | null is `None` |
/// | `Vec<T>`, `VecDeque<T>`, sets | array, set; a map, if `T` is a pair |
/// | `HashMap<K, V>`, `BTreeMap<K, V>` | map; an array of keys and values in turn, or of pairs |
/// | tuples, `[T; N]` | an array of exactly so many elements |
/// | [`Value`](super::Value) | any |
/// | `Result<T, ServerError>` | an error is `Err`, at the top and within an aggregate |
///
/// `#[derive(FromReply)]` makes structures of maps and of arrays.
///
/// A list of pairs is read from everything that servers use for one: a map, an array of arrays of two,
/// and, as in RESP2, an array twice as long.
pub trait FromReply: Sized {
    /// Makes one of `reply`.
    ///
    /// # Errors
    ///
    /// A [`DecodeError`] if the reply is an error ([`Reply::unexpected`] makes it), or is not what this
    /// type needs.
    fn from_reply(reply: Reply<'_>) -> Result<Self, DecodeError>;

    /// What a field that is not in the reply is, if that is no error.
    #[doc(hidden)]
    #[must_use]
    fn missing() -> Option<Self> {
        None
    }

    /// Makes one of the next element of a list. Text is checked ahead there.
    #[doc(hidden)]
    #[inline(always)]
    fn next_of(walk: &mut Walk<'_>) -> Result<Self, DecodeError> {
        walk.reply()
    }

    /// Makes a list of them. `u8` takes a string here, and tuples take several elements each.
    #[doc(hidden)]
    fn vec_from_reply(reply: Reply<'_>) -> Result<Vec<Self>, DecodeError> {
        collections::vec(reply)
    }
}
