//! A request that has been read whole.

use std::slice;

/// Where an argument lies: in the received bytes, or among those that were unquoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) len: usize,
}

impl Span {
    /// Empty where it lies outside, which a decoder does not make.
    fn of(self, bytes: &[u8]) -> &[u8] {
        let end = self.start.saturating_add(self.len);
        bytes.get(self.start..end).unwrap_or_default()
    }
}

/// A request: its name and arguments, borrowed from the received bytes.
///
/// A client may send an empty one (`*0`, or an empty line); it asks for nothing and gets no reply.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) spans: &'a [Span],
    pub(super) consumed: usize,
}

impl<'a> Request<'a> {
    /// The command's name as it was written; empty if the request is.
    #[must_use]
    pub fn name(&self) -> &'a [u8] {
        self.argument(0).unwrap_or_default()
    }

    /// Whether the name is `name`, in any case.
    #[must_use]
    pub fn is(&self, name: &str) -> bool {
        self.name().eq_ignore_ascii_case(name.as_bytes())
    }

    /// The argument with this index; the name is number 0.
    #[must_use]
    pub fn argument(&self, index: usize) -> Option<&'a [u8]> {
        self.spans.get(index).map(|span| span.of(self.bytes))
    }

    /// How many arguments there are, the name among them.
    #[must_use]
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether it asks for nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// All arguments, the name first.
    #[must_use]
    pub fn arguments(&self) -> Arguments<'a> {
        Arguments {
            bytes: self.bytes,
            spans: self.spans.iter(),
        }
    }

    /// How many bytes the request takes on the wire, to be dropped from the front of the buffer.
    #[must_use]
    pub fn consumed(&self) -> usize {
        self.consumed
    }
}

/// The arguments of a [`Request`] in order.
#[derive(Clone, Debug)]
pub struct Arguments<'a> {
    bytes: &'a [u8],
    spans: slice::Iter<'a, Span>,
}

impl<'a> Iterator for Arguments<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        self.spans.next().map(|span| span.of(self.bytes))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.spans.size_hint()
    }
}

impl ExactSizeIterator for Arguments<'_> {}
