//! The bytes that a connection has to send.

use std::io::IoSlice;

use crate::drive::stream::Outgoing;

/// A buffer up to this size stays with an idle connection: the usual request does not allocate.
const KEPT: usize = 4 * 1024;

/// What waits to be sent, contiguous. What was handed over stays in place until everything was.
#[derive(Debug, Default)]
pub(crate) struct Wire {
    bytes: Vec<u8>,
    start: usize,
    /// What lies from here on has to wait for a reply.
    hold: Option<usize>,
}

impl Wire {
    /// Behind what waits; nothing that is there may be changed.
    pub(crate) fn end_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Where the next byte will lie.
    pub(crate) fn end(&self) -> usize {
        self.bytes.len()
    }

    /// Takes back everything from `place` on, of which nothing was handed over.
    pub(crate) fn truncate(&mut self, place: usize) {
        debug_assert!(
            place >= self.start,
            "bytes that are on their way are taken back"
        );
        self.bytes.truncate(place.max(self.start));
        self.hold = self.hold.filter(|hold| *hold < self.bytes.len());
    }

    /// Nothing from `place` on is handed over before [`release`](Self::release).
    pub(crate) fn hold(&mut self, place: usize) {
        self.hold = Some(place);
    }

    /// Where what is held begins.
    #[inline]
    pub(crate) fn held(&self) -> Option<usize> {
        self.hold
    }

    /// What was held may go.
    pub(crate) fn release(&mut self) {
        self.hold = None;
    }

    /// Bytes that were not handed over, those that are held among them.
    pub(crate) fn unsent(&self) -> usize {
        self.bytes.len() - self.start
    }

    /// What lies from `place` on, sent or not; nothing once everything was handed over.
    pub(crate) fn from(&self, place: usize) -> &[u8] {
        self.bytes.get(place..).unwrap_or_default()
    }

    /// Everything was handed over.
    fn clear(&mut self) {
        self.start = 0;
        self.hold = None;
        if self.bytes.capacity() > KEPT {
            self.bytes = Vec::new();
        } else {
            self.bytes.clear();
        }
    }
}

impl Outgoing for Wire {
    #[inline]
    fn waiting(&self) -> usize {
        self.front().len()
    }

    #[inline]
    fn front(&self) -> &[u8] {
        let end = self.hold.unwrap_or(self.bytes.len());
        self.bytes.get(self.start..end).unwrap_or_default()
    }

    #[inline]
    fn is_contiguous(&self) -> bool {
        true
    }

    fn slices<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let Some(first) = slices.first_mut() else {
            return 0;
        };
        *first = IoSlice::new(self.front());
        1
    }

    #[inline]
    fn advance(&mut self, count: usize) {
        self.start = (self.start + count).min(self.bytes.len());
        if self.start == self.bytes.len() {
            self.clear();
        }
    }
}
