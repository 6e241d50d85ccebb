//! Where a reply ends, found as its bytes arrive.
//!
//! One pass over headers and lines; payloads are stepped over. What a reply's decoder relies on is checked here, once: every
//! type, length, number, line break and limit.

use super::error::ProtocolError;
use super::header;
use super::limits::ReplyLimits;
use super::reply::{Reply, ReplyKind};
use super::DecodeError;

/// The shortest reply, `_\r\n`: what every announced element takes at least.
const SHORTEST: usize = 3;

/// A whole reply at the start of the scanned bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its bytes, with attributes before it. The next one begins behind them.
    pub len: usize,
    /// Whether it answers a request.
    pub kind: FrameKind,
}

impl Frame {
    /// The reply, in the bytes that were scanned.
    ///
    /// # Errors
    ///
    /// [`DecodeError::Malformed`] if these are other bytes.
    pub fn reply<'a>(&self, buffer: &'a [u8]) -> Result<Reply<'a>, DecodeError> {
        Reply::parse(buffer.get(..self.len).unwrap_or(buffer))
    }
}

/// Whether a frame answers a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// It does.
    Reply,
    /// It does, with an error.
    Error,
    /// It does not: a push message of RESP3.
    Push,
}

/// Finds replies in a stream of bytes.
///
/// It is given everything from the start of a reply, attributes before it included, until that reply is
/// whole, and remembers how far it got: no byte of a payload or a line is looked at twice, however the bytes arrive. An error is
/// final.
#[derive(Clone, Debug)]
pub struct Scanner {
    limits: ReplyLimits,
    /// Where the next header begins, which may be behind what has come.
    at: usize,
    /// The payload that ends at `at` has not been seen to end with a line break.
    payload: Option<ReplyKind>,
    /// Bytes of the line at `at` that hold no end of it.
    searched: usize,
    /// Elements announced so far.
    elements: usize,
    /// Elements of the innermost aggregate that are to come; 1 at the start, for the reply itself.
    remaining: usize,
    /// The same of the aggregates around it.
    outer: [u32; ReplyLimits::DEEPEST],
    depth: usize,
    kind: FrameKind,
}

impl Scanner {
    /// A scanner at the start of a reply.
    pub fn new(limits: ReplyLimits) -> Self;
    /// Looks on for the end of the reply at the start of `buffer`; `None` if more bytes are needed.
    pub fn scan(&mut self, buffer: &[u8]) -> Result<Option<Frame>, ProtocolError>;
    /// How many more bytes than the `received` ones the reply has at the least; to be asked after a `None`.
    pub fn needed(&self, received: usize) -> usize;
    /// Whether it is at the start of a reply, with nothing of it seen.
    pub fn is_idle(&self) -> bool;
    /// Starts anew, on another connection.
    pub fn reset(&mut self);
}
