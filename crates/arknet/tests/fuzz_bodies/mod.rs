//! What the fuzz targets that need arknet do with their input, as in the folder of arknet-proto: an
//! ordinary test replays every committed input through the same functions.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a body reports what it found by panicking"
)]

pub(crate) mod tls_pump;

/// The fuzzer's bytes, taken from the front. An input that has ended yields zeros.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    fn number(&mut self) -> usize {
        usize::from(u16::from_le_bytes([self.byte(), self.byte()]))
    }

    fn take(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        taken
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
