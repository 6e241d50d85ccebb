//! Ours: a scanner finds where a reply ends, and the caller's type is made from the bytes in the
//! read buffer, without a tree in between.

use std::collections::HashMap;

use arknet_proto::redis::{FromReply, Reply, ReplyLimits, Scanner};
use bytes::Bytes;

use super::super::load::Load;
use super::super::work::Kind;
use super::Case;
use super::pass::{self, Decoder, bytes, case, unread};
use crate::failure::Failure;
use crate::sample::Sample;

/// Measures the load's case.
pub(crate) fn run(load: &Load) -> Result<Sample, Failure> {
    let decoder = &mut Codec::new();
    match case(load)? {
        Case::GetsRead => pass::run(load, decoder, |reply| {
            Ok(typed::<String>(reply)?.len() as u64)
        }),
        Case::IntegersRead => pass::run(load, decoder, |reply| {
            Ok(typed::<i64>(reply)?.unsigned_abs())
        }),
        Case::MgetRead => pass::run(load, decoder, |reply| {
            let values = typed::<Vec<Bytes>>(reply)?;
            Ok(bytes(values.iter().map(AsRef::as_ref)))
        }),
        Case::HgetallRead => pass::run(load, decoder, |reply| {
            let map = typed::<HashMap<String, String>>(reply)?;
            Ok(pass::pairs(&map))
        }),
        Case::Strings => pass::run(load, decoder, |reply| {
            let strings = typed::<Vec<String>>(reply)?;
            Ok(bytes(strings.iter().map(String::as_bytes)))
        }),
        _ => pass::run(load, decoder, |reply| unread(reply)),
    }
}

/// Measures the array of 5000 in one piece, whatever the load asks for: beside the same in pieces.
pub(crate) fn run_whole(load: &Load) -> Result<Sample, Failure> {
    let mut load = load.clone();
    load.work.kind = Kind::Decode(Case::LrangeWhole);
    run(&load)
}

fn typed<T: FromReply>(reply: Reply<'_>) -> Result<T, Failure> {
    T::from_reply(reply).map_err(Failure::library("reading a value"))
}

/// A read buffer as simple as can be: what was read is taken from its front, and the rest moves
/// there when more comes.
struct Codec {
    scanner: Scanner,
    buffer: Vec<u8>,
    taken: usize,
}

impl Codec {
    fn new() -> Self {
        Self {
            scanner: Scanner::new(ReplyLimits::default()),
            buffer: Vec::new(),
            taken: 0,
        }
    }

    fn rest(&self) -> &[u8] {
        self.buffer.get(self.taken..).unwrap_or_default()
    }
}

impl Decoder for Codec {
    type Frame<'a> = Reply<'a>;

    fn extend(&mut self, piece: &[u8]) {
        self.buffer.drain(..self.taken);
        self.taken = 0;
        // Room for all of a reply whose length is known.
        let needed = self.scanner.needed(self.buffer.len());
        self.buffer.reserve(needed.max(piece.len()));
        self.buffer.extend_from_slice(piece);
    }

    fn next(
        &mut self,
        read: impl FnOnce(Reply<'_>) -> Result<u64, Failure>,
    ) -> Result<Option<u64>, Failure> {
        let scanned = self
            .scanner
            .scan(self.buffer.get(self.taken..).unwrap_or_default());
        let Some(frame) = scanned.map_err(Failure::library("scanning"))? else {
            return Ok(None);
        };
        let reply = frame.reply(self.rest());
        let size = read(reply.map_err(Failure::library("viewing a reply"))?)?;
        self.taken += frame.len;
        Ok(Some(size))
    }
}
