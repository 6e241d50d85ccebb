//! What the fuzz targets do with their input.
//!
//! Here and not in `fuzz/`, so that an ordinary test can replay every committed input through the
//! same functions, on the stable compiler and without a fuzzer: `tests/corpus.rs` does, `tests/random.rs`
//! adds inputs by chance, and `fuzz/fuzz_targets` includes this folder. A body takes any bytes and panics if a rule is broken.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a body reports what it found by panicking"
)]

pub(crate) mod framing;
pub(crate) mod inbound;
pub(crate) mod mysql_handshake;
pub(crate) mod mysql_packets;
pub(crate) mod mysql_rows;
pub(crate) mod pool;
pub(crate) mod redis_exchange;
pub(crate) mod redis_reply;
pub(crate) mod redis_request;
pub(crate) mod send_queue;
pub(crate) mod session;
pub(crate) mod timers;
pub(crate) mod uri;

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
