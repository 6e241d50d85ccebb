//! Going through a list, with the text in it checked ahead.
//!
//! That a short string is UTF-8 takes as long to check as its allocation. Vector instructions check
//! some kilobytes in the time of a few short strings, headers included, and a part of checked text
//! is text if it begins and ends between characters.

use super::elements::Elements;
use super::strings::utf8;
use super::{FromReply, Reply};
use crate::redis::DecodeError;

/// Bytes that are checked at once: many strings, little to throw away if the list ends before.
const WINDOW: usize = 4 << 10;

/// Lists with fewer elements, and longer strings, are checked one by one.
const LEAST_ELEMENTS: usize = 8;
const LONGEST_TEXT: usize = 256;

/// A window that served fewer strings than this is the last one.
const LEAST_SERVED: usize = 4;

/// The elements of a list that are to come.
#[doc(hidden)]
#[derive(Debug)]
pub struct Walk<'a> {
    elements: Elements<'a>,
    /// Text at the start of what was left of the reply when it was `from` bytes.
    window: &'a str,
    from: usize,
    served: usize,
    is_worthwhile: bool,
}

impl<'a> Walk<'a> {
    #[inline]
    pub(super) fn new(elements: Elements<'a>) -> Self {
        Self {
            elements,
            window: "",
            from: 0,
            served: LEAST_SERVED,
            is_worthwhile: elements.len() >= LEAST_ELEMENTS,
        }
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.elements.len()
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    pub(super) fn peek(&self) -> Option<Reply<'a>> {
        self.elements.peek()
    }

    /// The next element, as a `T`.
    #[inline(always)]
    pub(super) fn one<T: FromReply>(&mut self) -> Result<T, DecodeError> {
        T::next_of(self)
    }

    /// The same, by `T::from_reply`.
    #[inline(always)]
    pub(super) fn reply<T: FromReply>(&mut self) -> Result<T, DecodeError> {
        match self.elements.next_bulk() {
            Some(bulk) => T::from_reply(Reply::Bulk(bulk)),
            None => self.another(),
        }
    }

    #[inline(never)]
    pub(super) fn another<T: FromReply>(&mut self) -> Result<T, DecodeError> {
        match self.elements.next() {
            Some(element) => T::from_reply(element),
            None => Err(DecodeError::Malformed),
        }
    }

    /// Whether the next element is known to be a string of bytes; one behind a list is not.
    #[inline(always)]
    pub(super) fn is_bulk(&self) -> bool {
        self.elements.is_bulk()
    }

    /// The next element, if it is a string of bytes: its text, or the bytes that are none.
    #[inline(always)]
    pub(super) fn text(&mut self) -> Option<Result<&'a str, &'a [u8]>> {
        let before = self.elements.rest();
        let bulk = self.elements.next_bulk()?;
        let behind = self.elements.rest().len() + b"\r\n".len();
        let text = self.in_window(behind, bulk.len());
        Some(text.map_or_else(|| self.beyond_window(before, behind, bulk), Ok))
    }

    /// The text that ends `behind` bytes before the end of the reply.
    #[inline(always)]
    fn in_window(&mut self, behind: usize, len: usize) -> Option<&'a str> {
        let end = self.from.checked_sub(behind)?;
        let text = self.window.get(end.checked_sub(len)?..end)?;
        self.served += 1;
        Some(text)
    }

    #[inline(never)]
    fn beyond_window(
        &mut self,
        before: &'a [u8],
        behind: usize,
        bulk: &'a [u8],
    ) -> Result<&'a str, &'a [u8]> {
        if self.is_worthwhile && bulk.len() <= LONGEST_TEXT {
            self.is_worthwhile = self.served >= LEAST_SERVED;
            self.served = 0;
            self.from = before.len();
            self.window = checked(before);
            if let Some(text) = self.in_window(behind, bulk.len()) {
                return Ok(text);
            }
        }
        utf8(bulk).ok_or(bulk)
    }
}

/// The text at the start of `bytes`, up to a window of it; none if there is anything else in it.
fn checked(bytes: &[u8]) -> &str {
    let mut end = bytes.len().min(WINDOW);
    // A character whose first byte is within and whose last is not is left to the next window. It has
    // three bytes behind the first one at most.
    let continues = |end: usize| {
        bytes
            .get(end)
            .is_some_and(|byte| (0x80..0xC0).contains(byte))
    };
    for _ in 0..3 {
        if continues(end) {
            end = end.saturating_sub(1);
        }
    }
    let window = bytes.get(..end).unwrap_or_default();
    simdutf8::basic::from_utf8(window).unwrap_or_default()
}
