//! Stories of the exchange engines, and what becomes of each when one step of them fails.

mod dirt;
mod handshake;
mod in_flight;
mod reset;

use super::Requests;
use crate::redis::{Frame, FrameKind, ReplyLimits, Scanner};

/// The requests in `wire`, each with its words joined by spaces.
fn requests(wire: &[u8]) -> Vec<String> {
    Requests::new(wire)
        .map(|request| {
            let words: Vec<_> = request.words().map(String::from_utf8_lossy).collect();
            words.join(" ")
        })
        .collect()
}

/// The frames in `replies`, with their kinds.
fn frames(replies: &str) -> Vec<(FrameKind, Vec<u8>)> {
    let mut scanner = Scanner::new(ReplyLimits::default());
    let mut rest = replies.as_bytes();
    let mut frames = Vec::new();
    while let Some(Frame { len, kind }) = scanner.scan(rest).unwrap() {
        let (frame, after) = rest.split_at(len);
        frames.push((kind, frame.to_vec()));
        rest = after;
    }
    assert!(rest.is_empty(), "half a frame in {replies:?}");
    frames
}

/// What a server says when it begins RESP3, in short.
const HELLO: &str = "%1\r\n$5\r\nproto\r\n:3\r\n";
