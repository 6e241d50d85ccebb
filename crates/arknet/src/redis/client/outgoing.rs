//! The bytes that the connection is writing.

use std::io::IoSlice;

use crate::drive::stream;

/// What a write offers at most: more does not fit into the system's buffer, and the other end has enough to begin with.
const PIECE: usize = 256 * 1024;

/// See the [module](self).
#[derive(Debug, Default)]
pub(in crate::redis) struct Outgoing {
    pub(in crate::redis) bytes: Vec<u8>,
    at: usize,
    /// All that was ever taken by the transport.
    written: u64,
}

impl Outgoing {
    /// Whether all of it has been written.
    #[inline]
    pub(in crate::redis) fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// The place for what is to be written next.
    #[inline]
    pub(in crate::redis) fn refill(&mut self) -> &mut Vec<u8> {
        self.at = 0;
        self.bytes.clear();
        &mut self.bytes
    }

    /// Bytes of the stream that the transport took.
    pub(in crate::redis) fn written(&self) -> u64 {
        self.written
    }
}

impl stream::Outgoing for Outgoing {
    #[inline]
    fn waiting(&self) -> usize {
        self.bytes.len() - self.at
    }

    #[inline]
    fn front(&self) -> &[u8] {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        rest.get(..PIECE).unwrap_or(rest)
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
        self.at = self.bytes.len().min(self.at + count);
        self.written += count as u64;
    }
}
