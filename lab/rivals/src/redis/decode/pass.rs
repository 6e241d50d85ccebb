//! One pass over a case's bytes, the same for every library.

use std::collections::HashMap;
use std::hint::black_box;

use super::super::load::Load;
use super::super::work::Kind;
use super::Case;
use crate::failure::Failure;
use crate::meter::Meter;
use crate::sample::Sample;

/// A library's decoder with its buffer.
pub(crate) trait Decoder {
    /// What it makes of one reply, before anybody looks into it.
    type Frame<'a>;

    /// Takes bytes as a read of a socket would bring them.
    fn extend(&mut self, piece: &[u8]);

    /// Lets `read` have the next whole reply, if there is one.
    ///
    /// # Errors
    ///
    /// When the bytes are no reply, or with those of `read`.
    fn next(
        &mut self,
        read: impl FnOnce(Self::Frame<'_>) -> Result<u64, Failure>,
    ) -> Result<Option<u64>, Failure>;
}

/// What a pass found, cheap to count and wrong when a value is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// Replies.
    pub(crate) replies: usize,
    /// Bytes of all strings that were read, or the sum of all integers.
    pub(crate) values: u64,
}

/// The case that a load asks for.
///
/// # Errors
///
/// When it asks for something else.
pub(crate) fn case(load: &Load) -> Result<Case, Failure> {
    match load.work.kind {
        Kind::Decode(case) => Ok(case),
        _ => Err(Failure::Usage(format!(
            "{} is no work for a decoder",
            load.work.name
        ))),
    }
}

/// Measures passes; `read` looks at a frame and says how much was in it.
///
/// # Errors
///
/// When the decoder fails, or finds something else than was put in.
pub(crate) fn run<D: Decoder>(
    load: &Load,
    decoder: &mut D,
    read: impl Fn(D::Frame<'_>) -> Result<u64, Failure>,
) -> Result<Sample, Failure> {
    let case = case(load)?;
    let (wire, expected) = (case.wire(), case.expected());
    let piece = case.piece().min(wire.len());
    Meter::alone(load.phases(), || {
        let mut found = Sizes::default();
        for piece in wire.chunks(piece) {
            decoder.extend(black_box(piece));
            while let Some(size) = decoder.next(&read)? {
                found.replies += 1;
                found.values += black_box(size);
            }
        }
        judge(expected, found)
    })
}

fn judge(expected: Sizes, found: Sizes) -> Result<(), Failure> {
    if found == expected {
        return Ok(());
    }
    let what = format!("{expected:?} went in, {found:?} came out");
    Err(Failure::Invalid(what))
}

/// Measures passes of a decoder that takes a whole reply at a time and nothing else.
///
/// # Errors
///
/// As [`run`].
pub(crate) fn by_reply(
    load: &Load,
    read: impl Fn(&[u8]) -> Result<u64, Failure>,
) -> Result<Sample, Failure> {
    let case = case(load)?;
    let (replies, expected) = (case.replies(), case.expected());
    Meter::alone(load.phases(), || {
        let mut found = Sizes::default();
        for reply in &replies {
            found.replies += 1;
            found.values += black_box(read(black_box(reply))?);
        }
        judge(expected, found)
    })
}

/// For cases that nobody reads: the frame is made, and dropped.
///
/// # Errors
///
/// Never.
pub(crate) fn unread<F>(frame: F) -> Result<u64, Failure> {
    drop(black_box(frame));
    Ok(0)
}

/// Bytes of several strings.
pub(crate) fn bytes<'a>(strings: impl IntoIterator<Item = &'a [u8]>) -> u64 {
    strings.into_iter().map(|string| string.len() as u64).sum()
}

/// Bytes of all keys and values of a map.
pub(crate) fn pairs(map: &HashMap<String, String>) -> u64 {
    bytes(
        map.iter()
            .flat_map(|(key, value)| [key.as_bytes(), value.as_bytes()]),
    )
}
