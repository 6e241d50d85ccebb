//! Walking through a scanned reply.

use std::fmt;

use super::super::header::{self, Length, Line};
use super::{Double, Reply};

/// The elements of an aggregate, in order.
///
/// Stepping over an element that is an aggregate itself walks over its headers, when the next one is
/// asked for.
#[derive(Clone, Copy)]
pub struct Elements<'a> {
    /// From the next element to the end of the whole reply.
    rest: &'a [u8],
    remaining: u32,
    /// Elements at the start of `rest` that belong to what was yielded last.
    to_skip: u32,
}

impl<'a> Elements<'a> {
    fn new(rest: &'a [u8], remaining: u32) -> Self {
        Self {
            rest,
            remaining,
            to_skip: 0,
        }
    }

    /// How many are left.
    #[inline]
    pub fn len(&self) -> usize {
        self.remaining as usize
    }

    /// Whether none is left.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.remaining == 0
    }

    /// The next one, which stays.
    pub fn peek(&self) -> Option<Reply<'a>> {
        let mut ahead = *self;
        ahead.next()
    }

    /// From the next one to the end of the whole reply, if the last one was no aggregate.
    #[inline(always)]
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Whether [`next_bulk`](Self::next_bulk) will give one.
    #[inline(always)]
    pub(super) fn is_bulk(&self) -> bool {
        self.to_skip == 0 && matches!(self.rest, [b'$', b'0'..=b'9', ..])
    }

    /// The next one, if it is a string of bytes: nearly all are, and this much is worth having in the
    /// caller's loop.
    #[inline(always)]
    pub(super) fn next_bulk(&mut self) -> Option<&'a [u8]> {
        if self.to_skip > 0 {
            return None;
        }
        let (start, len) = header::bulk(self.rest)?;
        let remaining = self.remaining.checked_sub(1)?;
        let (payload, rest) = self.rest.get(start..)?.split_at_checked(len)?;
        self.rest = rest.get(2..)?;
        self.remaining = remaining;
        Some(payload)
    }

    #[inline(never)]
    fn skip_last(&mut self) -> Option<()> {
        self.rest = skip(self.rest, self.to_skip)?;
        self.to_skip = 0;
        Some(())
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Reply<'a>;

    #[inline]
    fn next(&mut self) -> Option<Reply<'a>> {
        if self.to_skip > 0 {
            self.skip_last()?;
        }
        self.remaining = self.remaining.checked_sub(1)?;
        let (reply, rest) = read(self.rest)?;
        self.rest = rest;
        self.to_skip = match reply {
            Reply::Array(inner) | Reply::Set(inner) | Reply::Push(inner) => inner.remaining,
            Reply::Map(pairs) => pairs.elements.remaining,
            _ => 0,
        };
        Some(reply)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        // Less where the bytes are no reply.
        (0, Some(self.len()))
    }
}

/// Types and values, as a list.
impl fmt::Debug for Elements<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(*self).finish()
    }
}

/// The pairs of a map, in the order in which they came, duplicates included.
#[derive(Clone, Copy)]
pub struct Pairs<'a> {
    elements: Elements<'a>,
}

impl<'a> Pairs<'a> {
    /// How many are left.
    #[inline]
    pub fn len(&self) -> usize {
        self.elements.len() / 2
    }

    /// Whether none is left.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Keys and values in turn.
    #[inline]
    pub fn into_elements(self) -> Elements<'a> {
        self.elements
    }
}

impl<'a> Iterator for Pairs<'a> {
    type Item = (Reply<'a>, Reply<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        Some((self.elements.next()?, self.elements.next()?))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.len()))
    }
}

impl fmt::Debug for Pairs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(*self).finish()
    }
}

/// The reply at the start of `text`, and what follows: of an aggregate, its first element.
#[inline]
pub(super) fn read(text: &[u8]) -> Option<(Reply<'_>, &[u8])> {
    let (kind, text) = text.split_first()?;
    match kind {
        b'$' => match payload(text)? {
            (Some(payload), rest) => Some((Reply::Bulk(payload), rest)),
            (None, rest) => Some((Reply::Null, rest)),
        },
        b':' => {
            let number = header::integer(text).ok()??;
            Some((Reply::Integer(number.value), text.get(number.len..)?))
        }
        _ => read_other(*kind, text),
    }
}

#[inline(never)]
fn read_other(kind: u8, text: &[u8]) -> Option<(Reply<'_>, &[u8])> {
    let aggregate = |each| elements(text, each).map(|elements| (elements, elements.rest));
    match kind {
        b'+' => line(text).map(|(line, rest)| (Reply::Simple(line), rest)),
        b'*' => match header::length(text) {
            Length::Null => Some((Reply::Null, text.get(4..)?)),
            _ => aggregate(1).map(|(elements, rest)| (Reply::Array(elements), rest)),
        },
        b'%' => aggregate(2).map(|(elements, rest)| (Reply::Map(Pairs { elements }), rest)),
        b'~' => aggregate(1).map(|(elements, rest)| (Reply::Set(elements), rest)),
        b'>' => aggregate(1).map(|(elements, rest)| (Reply::Push(elements), rest)),
        b'_' => line(text).map(|(_, rest)| (Reply::Null, rest)),
        b'#' => line(text).map(|(line, rest)| (Reply::Boolean(line == b"t"), rest)),
        b',' => line(text).map(|(text, rest)| (Reply::Double(Double { text }), rest)),
        b'(' => line(text).map(|(line, rest)| (Reply::BigNumber(line), rest)),
        b'-' => line(text).map(|(line, rest)| (Reply::Error(line), rest)),
        b'!' => {
            let (payload, rest) = payload(text)?;
            Some((Reply::Error(payload?), rest))
        }
        b'=' => {
            let (payload, rest) = payload(text)?;
            let (format, text) = payload?.split_first_chunk()?;
            let text = text.get(1..)?;
            let format = *format;
            Some((Reply::Verbatim { format, text }, rest))
        }
        b'|' => read(behind_attributes(text)?),
        _ => None,
    }
}

/// The attributes at the start of `text`.
pub(super) fn attributes(text: &[u8]) -> Option<Pairs<'_>> {
    let elements = elements(text.strip_prefix(b"|")?, 2)?;
    Some(Pairs { elements })
}

/// What follows the attributes whose type byte stood before `text`, and those right behind them. A loop,
/// since there may be many.
fn behind_attributes(text: &[u8]) -> Option<&[u8]> {
    let mut text = text;
    loop {
        let attributes = elements(text, 2)?;
        let rest = skip(attributes.rest, attributes.remaining)?;
        match rest.strip_prefix(b"|") {
            Some(another) => text = another,
            None => return Some(rest),
        }
    }
}

#[inline(always)]
fn elements(text: &[u8], each: u32) -> Option<Elements<'_>> {
    match header::length(text) {
        Length::Of { value, len } => {
            let count = u32::try_from(value).ok()?.checked_mul(each)?;
            Some(Elements::new(text.get(len..)?, count))
        }
        _ => None,
    }
}

/// A payload, none for a null, and what follows its line break.
#[inline(always)]
fn payload(text: &[u8]) -> Option<(Option<&[u8]>, &[u8])> {
    match header::length(text) {
        Length::Of { value, len } => {
            let value = usize::try_from(value).ok()?;
            let (payload, rest) = text.get(len..)?.split_at_checked(value)?;
            Some((Some(payload), rest.get(2..)?))
        }
        Length::Null => Some((None, text.get(4..)?)),
        _ => None,
    }
}

#[inline(always)]
fn line(text: &[u8]) -> Option<(&[u8], &[u8])> {
    match header::line(text, 0) {
        Line::Is(line) => Some((line, text.get(line.len() + 2..)?)),
        _ => None,
    }
}

/// What follows `count` elements, everything within them included.
fn skip(text: &[u8], count: u32) -> Option<&[u8]> {
    let (mut text, mut to_go) = (text, u64::from(count));
    while to_go > 0 {
        // Not by `read`, which would come back here for them: their nesting must cost no stack.
        if let Some(attributes) = text.strip_prefix(b"|") {
            let attributes = elements(attributes, 2)?;
            text = attributes.rest;
            to_go = to_go.checked_add(u64::from(attributes.remaining))?;
            continue;
        }
        let (reply, rest) = read(text)?;
        let inner = match reply {
            Reply::Array(inner) | Reply::Set(inner) | Reply::Push(inner) => inner.remaining,
            Reply::Map(pairs) => pairs.elements.remaining,
            _ => 0,
        };
        text = rest;
        to_go = (to_go - 1).checked_add(u64::from(inner))?;
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::super::FromReply;
    use super::*;

    #[test]
    fn what_is_within_a_list_is_not_taken_for_what_follows_it() {
        let reply = Reply::parse(b"*3\r\n*2\r\n$1\r\n1\r\n$1\r\n2\r\n*-1\r\n$-1\r\n").unwrap();
        let pairs = Vec::<Option<(u8, u8)>>::from_reply(reply).unwrap();
        assert_eq!(pairs, [Some((1, 2)), None, None]);
        let lists = Vec::<Option<Vec<u32>>>::from_reply(reply).unwrap();
        assert_eq!(lists, [Some(vec![1, 2]), None, None]);
        let mixed = <(Option<[u8; 2]>, Option<String>, Option<String>)>::from_reply(reply).unwrap();
        assert_eq!(mixed, (Some([1, 2]), None, None));
    }
}
