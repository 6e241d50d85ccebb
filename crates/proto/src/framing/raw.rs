//! No framing: whatever has arrived.

use super::decoder::{Frame, Step};

/// Everything there is, in pieces of at most `limit`.
#[inline]
pub(super) fn decode(buffered: &[u8], limit: usize) -> Step {
    let len = buffered.len().min(limit);
    if len == 0 {
        return Step::Incomplete {
            scanned: 0,
            needed: 1,
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
    fn whatever_arrived_is_delivered_and_never_nothing() {
        let mut decoder = Decoder::new(Framing::Raw, 1_024).unwrap();
        assert_eq!(decoder.decode(b"").unwrap(), None);
        assert_eq!(decoder.needed(), 1);
        let frame = decoder.decode(b"abc").unwrap().unwrap();
        assert_eq!((frame.start, frame.end, frame.consumed), (0, 3, 3));
    }

    #[test]
    fn more_than_the_limit_comes_in_pieces() {
        let mut decoder = Decoder::new(Framing::Raw, 4).unwrap();
        let received = b"0123456789";
        let mut pieces = Vec::new();
        let mut rest = received.as_slice();
        while let Some(frame) = decoder.decode(rest).unwrap() {
            pieces.push(frame.payload(rest));
            rest = rest.split_at(frame.consumed).1;
        }
        assert_eq!(pieces, [b"0123".as_slice(), b"4567", b"89"]);
    }
}
