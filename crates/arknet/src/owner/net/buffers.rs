//! Storage that the connections of an endpoint use in turn: an idle one holds none.

use std::sync::Mutex;

use crate::lanes::lock;

/// What is kept for the next ones in all: 10,000 connections with a message each in every tick find theirs again.
const KEPT: usize = 16 << 20;

/// Storage of a connection that once had a huge message goes with it.
const LARGEST: usize = 1 << 20;

/// The least that is lent: a few small messages.
const LEAST: usize = 512;

#[derive(Debug, Default)]
pub(crate) struct Buffers(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    buffers: Vec<Vec<u8>>,
    bytes: usize,
}

impl Buffers {
    pub(crate) fn lend(&self) -> Vec<u8> {
        let kept = {
            let mut kept = lock(&self.0);
            let buffer = kept.buffers.pop();
            kept.bytes -= buffer.as_ref().map_or(0, Vec::capacity);
            buffer
        };
        kept.unwrap_or_else(|| Vec::with_capacity(LEAST))
    }

    pub(crate) fn give_back(&self, buffer: Vec<u8>) {
        let size = buffer.capacity();
        if size > LARGEST || size == 0 {
            return;
        }
        let mut kept = lock(&self.0);
        if kept.bytes + size <= KEPT {
            kept.bytes += size;
            kept.buffers.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storage_comes_back_up_to_a_bound() {
        let buffers = Buffers::default();
        let first = buffers.lend();
        let address = first.as_ptr();
        buffers.give_back(first);
        let again = buffers.lend();
        assert_eq!(again.as_ptr(), address);
        buffers.give_back(Vec::with_capacity(LARGEST + 1));
        for _ in 0..100 {
            buffers.give_back(Vec::with_capacity(LARGEST));
        }
        let kept = lock(&buffers.0);
        assert_eq!((kept.buffers.len(), kept.bytes), (16, KEPT));
    }
}
