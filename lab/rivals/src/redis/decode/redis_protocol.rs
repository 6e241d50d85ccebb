//! `redis-protocol`, the codec of fred: a tree of slices of the read buffer. It has no typed form
//! of its own.

use bytes::BytesMut;
use redis_protocol::resp3::decode::streaming::decode_bytes_mut;
use redis_protocol::resp3::types::{BytesFrame, DecodedFrame};

use super::super::load::Load;
use super::pass::{self, Decoder, unread};
use crate::failure::Failure;
use crate::sample::Sample;

/// Measures the load's case.
pub(crate) fn run(load: &Load) -> Result<Sample, Failure> {
    pass::run(load, &mut Codec::default(), unread)
}

#[derive(Default)]
struct Codec {
    buffer: BytesMut,
}

impl Decoder for Codec {
    type Frame<'a> = DecodedFrame<BytesFrame>;

    fn extend(&mut self, piece: &[u8]) {
        self.buffer.extend_from_slice(piece);
    }

    fn next(
        &mut self,
        read: impl FnOnce(Self::Frame<'_>) -> Result<u64, Failure>,
    ) -> Result<Option<u64>, Failure> {
        let decoded = decode_bytes_mut(&mut self.buffer).map_err(Failure::library("decoding"))?;
        decoded.map(|(frame, ..)| read(frame)).transpose()
    }
}
