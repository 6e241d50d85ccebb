//! `rustis`: its decoder makes a tape of where the values are, which serde reads later.
//!
//! Unread, the decoder is fed like any other. Its typed form can be reached from outside the crate
//! only one whole reply at a time, with a copy of the reply's bytes, which ours makes too when it
//! takes them into its buffer, and with an allocation of its own, which small replies feel.

use std::collections::HashMap;

use rustis::resp::BulkString;
use rustis::resp::bench_support::{BenchDecoder, bench_decode_to};
use serde::de::DeserializeOwned;

use super::super::load::Load;
use super::Case;
use super::pass::{self, Decoder, bytes, case, unread};
use crate::failure::Failure;
use crate::sample::Sample;

/// Measures the load's case.
pub(crate) fn run(load: &Load) -> Result<Sample, Failure> {
    let case = case(load)?;
    match case {
        Case::GetsRead => typed::<String>(load, |value| value.len() as u64),
        Case::IntegersRead => typed::<i64>(load, |value| value.unsigned_abs()),
        Case::MgetRead => typed::<Vec<BulkString>>(load, |values| {
            bytes(values.iter().map(BulkString::as_bytes))
        }),
        Case::HgetallRead => typed::<HashMap<String, String>>(load, |map| pass::pairs(&map)),
        Case::Strings => {
            typed::<Vec<String>>(load, |strings| bytes(strings.iter().map(String::as_bytes)))
        }
        _ => pass::run(load, &mut Tape::default(), unread),
    }
}

/// Decodes reply for reply, each at once.
fn typed<T: DeserializeOwned>(load: &Load, size: impl Fn(T) -> u64) -> Result<Sample, Failure> {
    pass::by_reply(load, |reply| {
        let value = bench_decode_to::<T>(reply).map_err(Failure::library("decoding"))?;
        Ok(size(value))
    })
}

/// The decoder that its bench feature opens. It tells an incomplete reply by an error, as it tells
/// a broken one; the count of replies at the end of a pass tells them apart.
#[derive(Default)]
struct Tape {
    decoder: BenchDecoder,
    whole: bool,
}

impl Decoder for Tape {
    /// The frame does not leave the decoder's own function, which drops it.
    type Frame<'a> = ();

    fn extend(&mut self, piece: &[u8]) {
        self.whole = self.decoder.feed(piece).is_ok();
    }

    fn next(
        &mut self,
        read: impl FnOnce(()) -> Result<u64, Failure>,
    ) -> Result<Option<u64>, Failure> {
        if !self.whole {
            return Ok(None);
        }
        self.whole = self.decoder.feed(&[]).is_ok();
        read(()).map(Some)
    }
}
