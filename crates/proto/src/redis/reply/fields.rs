//! The fields of a structure, for the code that `#[derive(FromReply)]` writes.

use super::collections::elements;
use super::{Elements, FromReply, Reply};
use crate::redis::DecodeError;

/// Names and values: of a map, or of a list of pairs, or of names and values in turn.
#[doc(hidden)]
#[derive(Debug)]
pub struct Fields<'a> {
    elements: Elements<'a>,
    /// Every element is a pair.
    is_nested: bool,
}

impl<'a> Fields<'a> {
    /// The fields in `reply`.
    ///
    /// # Errors
    ///
    /// If there can be none in it.
    pub fn new(reply: Reply<'a>) -> Result<Self, DecodeError> {
        let elements = match reply {
            Reply::Map(pairs) => pairs.into_elements(),
            list => elements(list, "a map of fields")?,
        };
        Ok(Self {
            is_nested: matches!(elements.peek(), Some(Reply::Array(_))),
            elements,
        })
    }

    /// The next one.
    ///
    /// # Errors
    ///
    /// If its name is no text, or it has no value.
    #[allow(clippy::should_implement_trait, reason = "it may fail")]
    pub fn next(&mut self) -> Result<Option<(&'a [u8], Reply<'a>)>, DecodeError> {
        let Some(mut name) = self.elements.next() else {
            return Ok(None);
        };
        let mut rest = &mut self.elements;
        let mut pair;
        if self.is_nested {
            pair = elements(name, "a field")?;
            name = pair.next().ok_or(DecodeError::Malformed)?;
            rest = &mut pair;
        }
        let value = rest.next().ok_or(DecodeError::Length {
            expected: 2,
            found: 1,
        })?;
        match name {
            Reply::Bulk(name) | Reply::Simple(name) => Ok(Some((name, value))),
            other => Err(other.unexpected("the name of a field")),
        }
    }

    /// What a field is, if it was there or may be missing.
    ///
    /// # Errors
    ///
    /// [`DecodeError::MissingField`].
    pub fn required<T: FromReply>(
        found: Option<T>,
        of: &'static str,
        field: &'static str,
    ) -> Result<T, DecodeError> {
        found
            .or_else(T::missing)
            .ok_or(DecodeError::MissingField { of, field })
    }
}
