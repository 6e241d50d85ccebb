//! Any stream of replies, any limits: the same frames and the same error however the bytes arrive, within
//! the limits, and whatever was found can be decoded.
//!
//! | input | meaning |
//! |---|---|
//! | byte | which limits: even are the defaults, odd are small ones |
//! | byte, and so many bytes | sizes of the pieces in which the stream arrives, repeated |
//! | the rest | the stream |

use std::collections::{BTreeMap, HashMap};

use arknet_proto::redis::{
    DecodeError, Frame, FrameKind, FromReply, ProtocolError, Reply, ReplyLimits, Scanner,
    ServerError, Value,
};

use super::Input;

/// Runs one input.
pub(crate) fn run(data: &[u8]) {
    let mut input = Input(data);
    let limits = match input.byte() % 2 {
        0 => ReplyLimits::default(),
        _ => ReplyLimits::default()
            .max_reply_bytes(96)
            .max_elements(12)
            .max_depth(4)
            .max_line(20),
    };
    let count = usize::from(input.byte());
    let pieces = input.take(count);
    let stream = input.0;
    let at_once = scan(limits, stream, &[]);
    for pieces in [pieces, &[1]] {
        assert_eq!(at_once, scan(limits, stream, pieces));
    }
    bytes_that_no_scanner_has_seen_are_harmless(stream);
}

#[derive(Debug, PartialEq)]
struct Scanned {
    /// Kinds, lengths, and what is in them, as text: a number that is none equals nothing.
    frames: Vec<(FrameKind, usize, String)>,
    end: Result<(), ProtocolError>,
}

/// Scans a stream that arrives in `pieces`, again and again; at once if there are none.
fn scan(limits: ReplyLimits, stream: &[u8], pieces: &[u8]) -> Scanned {
    let mut scanner = Scanner::new(limits);
    let mut frames = Vec::new();
    let mut sizes = pieces.iter().map(|size| usize::from(*size).max(1)).cycle();
    // What is buffered is stream[consumed..arrived].
    let (mut consumed, mut arrived) = (0, 0);
    loop {
        let buffered = stream.get(consumed..arrived).unwrap();
        match scanner.scan(buffered) {
            Ok(Some(frame)) => {
                assert!(scanner.is_idle());
                frames.push((frame.kind, frame.len, check(frame, buffered, limits)));
                consumed += frame.len;
            }
            Ok(None) if arrived < stream.len() => {
                let needed = scanner.needed(buffered.len());
                assert!((1..=limits.max_reply_bytes).contains(&needed));
                arrived += sizes
                    .next()
                    .unwrap_or(usize::MAX)
                    .min(stream.len() - arrived);
            }
            Ok(None) => {
                return Scanned {
                    frames,
                    end: Ok(()),
                };
            }
            Err(error) => {
                return Scanned {
                    frames,
                    end: Err(error),
                };
            }
        }
    }
}

fn check(frame: Frame, buffered: &[u8], limits: ReplyLimits) -> String {
    assert!((3..=buffered.len()).contains(&frame.len));
    assert!(frame.len <= limits.max_reply_bytes);
    let reply = frame.reply(buffered).unwrap();
    let kind = match reply {
        Reply::Error(_) => FrameKind::Error,
        Reply::Push(_) => FrameKind::Push,
        _ => FrameKind::Reply,
    };
    assert_eq!(kind, frame.kind);
    let value = Value::from_reply(reply).unwrap();
    is_well_formed::<Result<Option<String>, ServerError>>(reply);
    is_well_formed::<Vec<Option<String>>>(reply);
    is_well_formed::<Vec<(String, f64)>>(reply);
    is_well_formed::<(i64, Vec<u8>, Value)>(reply);
    is_well_formed::<HashMap<String, Vec<i64>>>(reply);
    is_well_formed::<BTreeMap<String, BTreeMap<String, bool>>>(reply);
    format!("{value:?}")
}

/// It may be of another type, but it is whole.
fn is_well_formed<T: FromReply>(reply: Reply<'_>) {
    let decoded = reply.decode::<T>();
    assert!(!matches!(decoded, Err(DecodeError::Malformed)));
}

fn bytes_that_no_scanner_has_seen_are_harmless(bytes: &[u8]) {
    let _ = Reply::attributes(bytes).map(Iterator::count);
    if let Ok(reply) = Reply::parse(bytes) {
        let _ = reply.decode::<Value>();
        let _ = reply.decode::<Vec<(String, f64)>>();
        let _ = reply.decode::<HashMap<String, Option<String>>>();
    }
}
