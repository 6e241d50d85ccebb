//! `redis`: the codec of its connections makes a tree of owned values, then the caller's type.

use std::collections::HashMap;

use bytes::BytesMut;
use redis::{FromRedisValue, Value, ValueCodec, from_redis_value};
use tokio_util::codec::Decoder as _;

use super::super::load::Load;
use super::Case;
use super::pass::{self, Decoder, bytes, case, unread};
use crate::failure::Failure;
use crate::sample::Sample;

/// Measures the load's case.
pub(crate) fn run(load: &Load) -> Result<Sample, Failure> {
    let decoder = &mut Codec::default();
    match case(load)? {
        Case::GetsRead => pass::run(load, decoder, |frame| {
            Ok(typed::<String>(frame)?.len() as u64)
        }),
        Case::IntegersRead => pass::run(load, decoder, |frame| {
            Ok(typed::<i64>(frame)?.unsigned_abs())
        }),
        Case::MgetRead => pass::run(load, decoder, |frame| {
            let values = typed::<Vec<Vec<u8>>>(frame)?;
            Ok(bytes(values.iter().map(Vec::as_slice)))
        }),
        Case::HgetallRead => pass::run(load, decoder, |frame| {
            let map = typed::<HashMap<String, String>>(frame)?;
            Ok(pass::pairs(&map))
        }),
        Case::Strings => pass::run(load, decoder, |frame| {
            let strings = typed::<Vec<String>>(frame)?;
            Ok(bytes(strings.iter().map(String::as_bytes)))
        }),
        _ => pass::run(load, decoder, unread),
    }
}

fn typed<T: FromRedisValue>(value: Value) -> Result<T, Failure> {
    from_redis_value(value).map_err(Failure::library("reading a value"))
}

#[derive(Default)]
struct Codec {
    codec: ValueCodec,
    buffer: BytesMut,
}

impl Decoder for Codec {
    type Frame<'a> = Value;

    fn extend(&mut self, piece: &[u8]) {
        self.buffer.extend_from_slice(piece);
    }

    fn next(
        &mut self,
        read: impl FnOnce(Value) -> Result<u64, Failure>,
    ) -> Result<Option<u64>, Failure> {
        let decoded = self.codec.decode(&mut self.buffer);
        let frame = decoded.map_err(Failure::library("decoding"))?;
        frame.map(read).transpose()
    }
}
