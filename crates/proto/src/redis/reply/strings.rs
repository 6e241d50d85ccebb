//! Text and bytes.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;

use super::super::error::{DecodeError, ServerError};
use super::walk::Walk;
use super::{FromReply, Reply};

/// From this size on, UTF-8 is checked by vector instructions: their set-up takes as long as the
/// standard library's check of so many bytes.
const LONG_TEXT: usize = 64;

const TEXT: &str = "text in UTF-8";

/// The text of a string, or of a number, as the server wrote it.
#[inline(always)]
fn text_of<'a>(reply: &Reply<'a>) -> Option<Cow<'a, [u8]>> {
    match *reply {
        Reply::Bulk(text) | Reply::Simple(text) | Reply::Verbatim { text, .. } => Some(text.into()),
        Reply::BigNumber(text) => Some(text.into()),
        Reply::Integer(number) => Some(number.to_string().into_bytes().into()),
        Reply::Double(double) => Some(double.text().as_bytes().into()),
        _ => None,
    }
}

#[inline(always)]
pub(super) fn utf8(text: &[u8]) -> Option<&str> {
    if text.len() < LONG_TEXT {
        std::str::from_utf8(text).ok()
    } else {
        simdutf8::basic::from_utf8(text).ok()
    }
}

/// The text of a string or number.
#[inline(always)]
fn text<'a>(reply: Reply<'a>) -> Result<Cow<'a, str>, DecodeError> {
    match reply {
        Reply::Bulk(text) => match utf8(text) {
            Some(text) => Ok(Cow::Borrowed(text)),
            None => Err(reply.unfit(TEXT)),
        },
        other => text_of_another(other).map(Cow::Owned),
    }
}

#[inline(never)]
fn text_of_another(reply: Reply<'_>) -> Result<String, DecodeError> {
    let text = text_of(&reply).ok_or_else(|| reply.unexpected(TEXT))?;
    let text = utf8(&text).ok_or_else(|| reply.unfit(TEXT))?;
    Ok(text.to_owned())
}

macro_rules! text {
    ($($type:ty),*) => {$(
        impl FromReply for $type {
            #[inline]
            fn from_reply(reply: Reply<'_>) -> Result<Self, DecodeError> {
                text(reply).map(Into::into)
            }

            #[inline(always)]
            fn next_of(walk: &mut Walk<'_>) -> Result<Self, DecodeError> {
                match walk.text() {
                    Some(Ok(text)) => Ok(text.into()),
                    Some(Err(bytes)) => Err(Reply::Bulk(bytes).unfit(TEXT)),
                    None => walk.another(),
                }
            }
        }
    )*};
}

text!(String, Box<str>, Arc<str>, Rc<str>);

/// The bytes of a string, or a list of small numbers.
pub(super) fn bytes(reply: Reply<'_>) -> Result<Vec<u8>, DecodeError> {
    match reply {
        Reply::Bulk(text) => Ok(text.to_vec()),
        Reply::Array(_) | Reply::Set(_) => super::collections::vec(reply),
        other => match text_of(&other) {
            Some(text) => Ok(text.into_owned()),
            None => Err(other.unexpected("a string")),
        },
    }
}

impl FromReply for Bytes {
    /// A copy: a part of the receive buffer would keep all of it, and have the connection take a new one.
    #[inline]
    fn from_reply(reply: Reply<'_>) -> Result<Self, DecodeError> {
        match reply {
            Reply::Bulk(text) => Ok(Self::copy_from_slice(text)),
            other => bytes(other).map(Into::into),
        }
    }
}

/// An error within an aggregate, or an error reply, as a value.
impl<T: FromReply> FromReply for Result<T, ServerError> {
    #[inline]
    fn from_reply(reply: Reply<'_>) -> Result<Self, DecodeError> {
        match reply {
            Reply::Error(text) => Ok(Err(ServerError::new(text))),
            other => T::from_reply(other).map(Ok),
        }
    }
}
