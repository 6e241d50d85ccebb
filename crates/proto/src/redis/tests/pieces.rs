//! Replies that arrive in pieces.

use super::golden::vectors;
use super::*;

fn stream() -> Vec<u8> {
    vectors()
        .into_iter()
        .flat_map(|(wire, ..)| wire.bytes())
        .collect()
}

#[test]
fn every_reply_split_at_every_byte_is_the_same_reply() {
    for (wire, kind, expected) in vectors() {
        let wire = wire.as_bytes();
        for split in 0..=wire.len() {
            let mut scanner = Scanner::new(ReplyLimits::default());
            if split < wire.len() {
                assert_eq!(scanner.scan(&wire[..split]), Ok(None), "{split}");
            }
            let frame = scanner.scan(wire).unwrap().unwrap();
            assert_eq!((frame.len, frame.kind), (wire.len(), kind), "{split}");
            assert_eq!(value(frame, wire), expected);
        }
    }
}

#[test]
fn a_stream_in_pieces_of_any_size_is_the_same_stream() {
    let stream = stream();
    let whole = scanned(&stream, ReplyLimits::default(), &[usize::MAX]);
    assert_eq!(whole.1, Ok(0));
    for size in 1..=70 {
        let pieces = scanned(&stream, ReplyLimits::default(), &[size]);
        assert_eq!(pieces, whole, "{size}");
    }
}

#[test]
fn what_is_missing_at_the_least_is_known() {
    let mut scanner = Scanner::new(ReplyLimits::default());
    assert_eq!(scanner.scan(b"$1000\r\nabc"), Ok(None));
    assert_eq!(scanner.needed(10), 999);
    assert_eq!(
        scanner.scan(&[b"$1000\r\n", &[b'x'; 1000][..]].concat()),
        Ok(None)
    );
    assert_eq!(scanner.needed(1007), 2);

    let mut scanner = Scanner::new(ReplyLimits::default());
    assert_eq!(scanner.scan(b"+some"), Ok(None));
    assert_eq!(scanner.needed(5), 1);
    assert!(!scanner.is_idle());
}

#[test]
fn a_scanner_that_is_reset_begins_anew() {
    let mut scanner = Scanner::new(ReplyLimits::default());
    assert_eq!(scanner.scan(b"*3\r\n*2\r\n:1\r\n$100\r\nab"), Ok(None));
    scanner.reset();
    assert!(scanner.is_idle());
    let frame = scanner.scan(b":7\r\n").unwrap().unwrap();
    assert_eq!((frame.len, frame.kind), (4, FrameKind::Reply));
}
