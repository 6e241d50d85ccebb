//! Messages of one length.

use std::num::NonZeroUsize;

use super::decoder::{Frame, Step};

/// The first `len` bytes. The decoder was made with a limit of at least `len`.
pub(super) fn decode(len: NonZeroUsize, buffered: &[u8]) -> Step {
    let len = len.get();
    if buffered.len() < len {
        return Step::Incomplete {
            scanned: 0,
            needed: len,
        };
    }
    Step::Frame(Frame {
        start: 0,
        end: len,
        consumed: len,
    })
}

#[cfg(test)]
mod tests {
    use crate::framing::{Decoder, Framing};

    #[test]
    fn messages_are_cut_to_length() {
        let mut decoder = Decoder::new(Framing::exact(6).unwrap(), 6).unwrap();
        assert_eq!(decoder.decode(b"hello").unwrap(), None);
        assert_eq!(decoder.needed(), 6);

        let received = b"hello world!";
        let first = decoder.decode(received).unwrap().unwrap();
        assert_eq!(first.payload(received), b"hello ");
        let rest = received.split_at(first.consumed).1;
        let second = decoder.decode(rest).unwrap().unwrap();
        assert_eq!(second.payload(rest), b"world!");
    }
}
