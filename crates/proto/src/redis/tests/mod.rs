//! Replies as stories: what is found, what is refused, and what becomes of it.

mod command;
mod decoding;
mod encoder;
mod golden;
mod hostile;
mod pieces;
mod properties;

use super::{Frame, FrameKind, FromReply, ProtocolError, Reply, ReplyLimits, Scanner, Value};

/// Everything in a stream that arrives in pieces of `sizes`, again and again.
fn scanned(
    stream: &[u8],
    limits: ReplyLimits,
    sizes: &[usize],
) -> (Vec<(FrameKind, Value)>, Result<usize, ProtocolError>) {
    let mut scanner = Scanner::new(limits);
    let mut sizes = sizes.iter().copied().cycle();
    let (mut consumed, mut arrived, mut found) = (0, 0, Vec::new());
    loop {
        let buffer = &stream[consumed..arrived];
        match scanner.scan(buffer) {
            Ok(Some(frame)) => {
                found.push((frame.kind, value(frame, buffer)));
                consumed += frame.len;
                assert!(scanner.is_idle());
            }
            Ok(None) if arrived < stream.len() => {
                let size = sizes.next().unwrap_or(usize::MAX);
                arrived += size.min(stream.len() - arrived);
            }
            Ok(None) => return (found, Ok(stream.len() - consumed)),
            Err(error) => return (found, Err(error)),
        }
    }
}

fn value(frame: Frame, buffer: &[u8]) -> Value {
    Value::from_reply(frame.reply(buffer).unwrap()).unwrap()
}

/// The one reply in `wire`.
fn one(wire: &str) -> (FrameKind, Value) {
    let (mut found, rest) = scanned(wire.as_bytes(), ReplyLimits::default(), &[usize::MAX]);
    assert_eq!(rest, Ok(0), "{wire:?}");
    assert_eq!(found.len(), 1, "{wire:?}");
    found.remove(0)
}

/// Why `wire` is refused.
fn refused(wire: impl AsRef<[u8]>, limits: ReplyLimits) -> ProtocolError {
    let mut scanner = Scanner::new(limits);
    scanner.scan(wire.as_ref()).unwrap_err()
}

fn decode<T: FromReply>(wire: &str) -> Result<T, super::DecodeError> {
    T::from_reply(Reply::parse(wire.as_bytes()).unwrap())
}

fn bulk(text: &str) -> Value {
    Value::Bulk(bytes::Bytes::copy_from_slice(text.as_bytes()))
}

fn simple(text: &str) -> Value {
    Value::Simple(text.to_owned())
}
