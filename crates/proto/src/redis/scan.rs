//! Where a reply ends, found as its bytes arrive.
//!
//! One pass over headers and lines; payloads are stepped over. What decoding relies on is checked
//! here, once: every type, length, number, line break and limit.

use super::error::{DecodeError, ProtocolError};
use super::header::{self, Length, Line};
use super::limits::ReplyLimits;
use super::reply::{Reply, ReplyKind};

/// Bytes of the shortest reply, `_\r\n`: every announced element takes so many at least.
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
/// It is given everything from the start of a reply, attributes before it included, until that reply
/// is whole, and remembers how far it got: however the bytes arrive, none of a payload or a line is
/// looked at twice, and of what stands before them at most the last header. An error is final.
#[derive(Clone, Debug)]
pub struct Scanner {
    limits: ReplyLimits,
    /// Where the next header begins, which may be behind what has come.
    at: usize,
    /// What ends at `at` and has not been seen to end with a line break.
    payload: Option<ReplyKind>,
    /// Bytes of the line at `at` that hold no end of it.
    searched: usize,
    /// Elements announced so far.
    elements: usize,
    /// Elements of the innermost aggregate that are to come; 1 at the start, for the reply itself.
    remaining: u32,
    /// The same of the aggregates around it.
    outer: [u32; ReplyLimits::DEEPEST],
    depth: usize,
    kind: FrameKind,
}

/// What a header turned out to be.
enum Step {
    /// A whole element that ends here.
    Element(usize),
    /// The first line of an aggregate with so many elements, which ends here.
    Aggregate { end: usize, count: u32 },
    /// More bytes are needed.
    More,
    /// The payload ends here, which is behind what has come.
    Payload(usize, ReplyKind),
}

impl Scanner {
    /// A scanner at the start of a reply.
    #[must_use]
    pub fn new(limits: ReplyLimits) -> Self {
        let largest = usize::try_from(u32::MAX).unwrap_or(usize::MAX);
        Self {
            limits: ReplyLimits {
                max_depth: limits.max_depth.min(ReplyLimits::DEEPEST),
                max_elements: limits.max_elements.min(largest),
                ..limits
            },
            at: 0,
            payload: None,
            searched: 0,
            elements: 0,
            remaining: 1,
            outer: [0; ReplyLimits::DEEPEST],
            depth: 0,
            kind: FrameKind::Reply,
        }
    }

    /// Looks on for the end of the reply at the start of `buffer`: `None` if more bytes are needed.
    /// After a frame, it is at the start of the next one, at `buffer[frame.len..]`.
    ///
    /// # Errors
    ///
    /// [`ProtocolError`], as soon as the bytes that have come can be the start of no reply within the
    /// limits.
    #[inline]
    pub fn scan(&mut self, buffer: &[u8]) -> Result<Option<Frame>, ProtocolError> {
        let (mut at, mut remaining) = (self.at, self.remaining);
        if let Some(of) = self.payload {
            if buffer.len() < at {
                return Ok(None);
            }
            line_break_before(buffer, at, of)?;
            self.payload = None;
            remaining = remaining.saturating_sub(1);
        }
        // A turn is a header, and there are no more of them than bytes that have come.
        loop {
            while remaining == 0 {
                let Some(depth) = self.depth.checked_sub(1) else {
                    return self.finish(at).map(Some);
                };
                self.depth = depth;
                remaining = self.outer.get(depth).copied().unwrap_or(0);
            }
            if let Some(end) = self.whole_bulk(buffer, at) {
                at = end;
                remaining = remaining.saturating_sub(1);
                continue;
            }
            self.within_limit(at.saturating_add(SHORTEST))?;
            match self.step(buffer, at)? {
                Step::Element(end) => {
                    at = end;
                    remaining = remaining.saturating_sub(1);
                }
                Step::Aggregate { end, count } => {
                    // Attributes are not one of the elements: the one that they belong to follows.
                    let is_attribute = buffer.get(at) == Some(&b'|');
                    at = end;
                    remaining = remaining.saturating_sub(u32::from(!is_attribute));
                    if count > 0 {
                        self.enter(remaining)?;
                        remaining = count;
                    }
                }
                Step::Payload(end, of) => {
                    self.payload = Some(of);
                    (self.at, self.remaining) = (end, remaining);
                    return Ok(None);
                }
                Step::More => {
                    (self.at, self.remaining) = (at, remaining);
                    return Ok(None);
                }
            }
        }
    }

    /// How many more bytes the reply has at the least, of which `received` have come; to be asked after a
    /// `None`, for making room. It is what the peer announced: make room for it in steps.
    #[must_use]
    pub fn needed(&self, received: usize) -> usize {
        self.at.saturating_sub(received).max(1)
    }

    /// Whether nothing of a reply has been seen.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.at == 0 && self.searched == 0
    }

    /// Starts anew, for another stream.
    pub fn reset(&mut self) {
        self.at = 0;
        self.payload = None;
        self.searched = 0;
        self.elements = 0;
        self.remaining = 1;
        self.depth = 0;
        self.kind = FrameKind::Reply;
    }

    /// Where the string of bytes at `at` ends, if there is one, and it is whole and within the limit: nearly
    /// every header is of one, and this is all that it needs.
    #[inline(always)]
    fn whole_bulk(&self, buffer: &[u8], at: usize) -> Option<usize> {
        let (start, len) = header::bulk(buffer.get(at..)?)?;
        let end = at + start + len + 2;
        if end > self.limits.max_reply_bytes {
            return None;
        }
        (buffer.get(end - 2..end)? == b"\r\n").then_some(end)
    }

    #[inline(never)]
    fn step(&mut self, buffer: &[u8], at: usize) -> Result<Step, ProtocolError> {
        let Some((kind, text)) = buffer.get(at..).and_then(<[u8]>::split_first) else {
            return Ok(Step::More);
        };
        match kind {
            b'$' => self.payload(buffer, at, text, ReplyKind::Bulk),
            b':' => Ok(match header::integer(text)? {
                Some(number) => Step::Element(at + 1 + number.len),
                None => Step::More,
            }),
            b'*' => self.aggregate(at, text, ReplyKind::Array),
            b'+' => match text {
                // By far the most common line.
                [b'O', b'K', b'\r', b'\n', ..] => Ok(Step::Element(at + 5)),
                _ => self.line(at, text, ReplyKind::Simple),
            },
            b'%' => self.aggregate(at, text, ReplyKind::Map),
            _ => self.rare(buffer, at, *kind, text),
        }
    }

    #[inline(never)]
    fn rare(
        &mut self,
        buffer: &[u8],
        at: usize,
        kind: u8,
        text: &[u8],
    ) -> Result<Step, ProtocolError> {
        match kind {
            b'-' => {
                self.top_level_is(FrameKind::Error);
                self.line(at, text, ReplyKind::Error)
            }
            b'!' => {
                self.top_level_is(FrameKind::Error);
                self.payload(buffer, at, text, ReplyKind::Error)
            }
            b'_' => constant(at, text, &[b"\r\n"], ReplyKind::Null),
            b'#' => constant(at, text, &[b"t\r\n", b"f\r\n"], ReplyKind::Boolean),
            b',' => self.line(at, text, ReplyKind::Double),
            b'(' => self.line(at, text, ReplyKind::BigNumber),
            b'=' => self.verbatim(buffer, at, text),
            b'~' => self.aggregate(at, text, ReplyKind::Set),
            b'|' => self.aggregate(at, text, ReplyKind::Attribute),
            b'>' if self.depth > 0 => Err(ProtocolError::NestedPush),
            b'>' => {
                self.top_level_is(FrameKind::Push);
                self.aggregate(at, text, ReplyKind::Push)
            }
            _ => Err(ProtocolError::UnknownType { byte: kind }),
        }
    }

    fn top_level_is(&mut self, kind: FrameKind) {
        if self.depth == 0 {
            self.kind = kind;
        }
    }

    #[inline(always)]
    fn payload(
        &self,
        buffer: &[u8],
        at: usize,
        text: &[u8],
        of: ReplyKind,
    ) -> Result<Step, ProtocolError> {
        match header::length(text) {
            Length::Of { value, len } => {
                let start = at + 1 + len;
                let end = self.payload_end(start, value)?;
                if end > buffer.len() {
                    return Ok(Step::Payload(end, of));
                }
                line_break_before(buffer, end, of)?;
                Ok(Step::Element(end))
            }
            unusual => without_length(unusual, at, of),
        }
    }

    /// Where a payload of `len` bytes and its line break end.
    #[inline(always)]
    fn payload_end(&self, start: usize, len: u64) -> Result<usize, ProtocolError> {
        let size = len.saturating_add(2).saturating_add(start as u64);
        match usize::try_from(size) {
            Ok(size) if size <= self.limits.max_reply_bytes => Ok(size),
            _ => Err(self.too_large(size)),
        }
    }

    /// A payload that begins with its format and a colon.
    fn verbatim(&self, buffer: &[u8], at: usize, text: &[u8]) -> Result<Step, ProtocolError> {
        let of = ReplyKind::Verbatim;
        if let Length::Of { value, len } = header::length(text) {
            if value < 4 {
                return Err(ProtocolError::InvalidLength { of });
            }
            self.payload_end(at + 1 + len, value)?;
            match text.get(len..).and_then(|payload| payload.get(3)) {
                Some(b':') => {}
                Some(_) => return Err(ProtocolError::Invalid { of }),
                None => return Ok(Step::More),
            }
        }
        self.payload(buffer, at, text, of)
    }

    #[inline(always)]
    fn aggregate(&mut self, at: usize, text: &[u8], of: ReplyKind) -> Result<Step, ProtocolError> {
        match header::length(text) {
            Length::Of { value, len } => {
                let end = at + 1 + len;
                let each = match of {
                    ReplyKind::Map | ReplyKind::Attribute => 2,
                    _ => 1,
                };
                let count = self.announce(end, value.saturating_mul(each))?;
                Ok(Step::Aggregate { end, count })
            }
            unusual => without_length(unusual, at, of),
        }
    }

    /// Accounts for `count` elements that begin at `start`.
    #[inline(always)]
    fn announce(&mut self, start: usize, count: u64) -> Result<u32, ProtocolError> {
        let total = count.saturating_add(self.elements as u64);
        let limit = self.limits.max_elements;
        let (Ok(total), Ok(announced)) = (usize::try_from(total), u32::try_from(count)) else {
            return Err(ProtocolError::TooManyElements {
                count: total,
                limit,
            });
        };
        if total > limit {
            let count = total as u64;
            return Err(ProtocolError::TooManyElements { count, limit });
        }
        let size = count
            .saturating_mul(SHORTEST as u64)
            .saturating_add(start as u64);
        if size > self.limits.max_reply_bytes as u64 {
            return Err(self.too_large(size));
        }
        self.elements = total;
        Ok(announced)
    }

    /// Goes into an aggregate, behind which `remaining` elements of the one around it are to come.
    #[inline(always)]
    fn enter(&mut self, remaining: u32) -> Result<(), ProtocolError> {
        let limit = self.limits.max_depth;
        match self.outer.get_mut(self.depth) {
            Some(outer) if self.depth < limit => {
                *outer = remaining;
                self.depth += 1;
                Ok(())
            }
            _ => Err(ProtocolError::TooDeep { limit }),
        }
    }

    /// A line, checked for what its type allows.
    fn line(&mut self, at: usize, text: &[u8], of: ReplyKind) -> Result<Step, ProtocolError> {
        let line = match header::line(text, self.searched) {
            Line::Is(line) => {
                self.line_within_limits(at, line.len())?;
                line
            }
            Line::More { searched } => {
                self.line_within_limits(at, searched)?;
                self.searched = searched;
                return Ok(Step::More);
            }
            Line::Broken { searched } => {
                self.line_within_limits(at, searched)?;
                return Err(ProtocolError::LineBreak { of });
            }
        };
        self.searched = 0;
        let is_valid = match of {
            ReplyKind::Double => header::is_double(line),
            ReplyKind::BigNumber => header::is_big_number(line),
            _ => true,
        };
        if is_valid {
            Ok(Step::Element(at + 1 + line.len() + 2))
        } else {
            Err(ProtocolError::Invalid { of })
        }
    }

    /// Refuses a line of at least `len` bytes at `at`, naming the limit that it meets first.
    fn line_within_limits(&self, at: usize, len: usize) -> Result<(), ProtocolError> {
        let limit = self.limits.max_line;
        let rest = self.limits.max_reply_bytes.saturating_sub(at + SHORTEST);
        if len <= limit.min(rest) {
            Ok(())
        } else if limit <= rest {
            Err(ProtocolError::LineTooLong { limit })
        } else {
            Err(self.too_large((self.limits.max_reply_bytes as u64).saturating_add(1)))
        }
    }

    #[inline(always)]
    fn finish(&mut self, len: usize) -> Result<Frame, ProtocolError> {
        self.within_limit(len)?;
        let kind = self.kind;
        self.reset();
        Ok(Frame { len, kind })
    }

    #[inline(always)]
    fn within_limit(&self, size: usize) -> Result<(), ProtocolError> {
        if size > self.limits.max_reply_bytes {
            return Err(self.too_large(size as u64));
        }
        Ok(())
    }

    #[cold]
    fn too_large(&self, size: u64) -> ProtocolError {
        ProtocolError::ReplyTooLarge {
            size,
            limit: self.limits.max_reply_bytes,
        }
    }
}

/// What stands where a length should: the nulls of RESP2, nothing yet, or something broken.
#[cold]
fn without_length(length: Length, at: usize, of: ReplyKind) -> Result<Step, ProtocolError> {
    match length {
        Length::More => Ok(Step::More),
        Length::Null if matches!(of, ReplyKind::Bulk | ReplyKind::Array) => {
            Ok(Step::Element(at + b"$-1\r\n".len()))
        }
        Length::Streamed => Err(ProtocolError::Streamed { of }),
        _ => Err(ProtocolError::InvalidLength { of }),
    }
}

/// One of a few texts and nothing else.
fn constant(
    at: usize,
    text: &[u8],
    allowed: &[&[u8]],
    of: ReplyKind,
) -> Result<Step, ProtocolError> {
    if let Some(found) = allowed.iter().find(|allowed| text.starts_with(allowed)) {
        return Ok(Step::Element(at + 1 + found.len()));
    }
    if allowed.iter().any(|allowed| allowed.starts_with(text)) {
        return Ok(Step::More);
    }
    Err(ProtocolError::Invalid { of })
}

#[inline(always)]
fn line_break_before(buffer: &[u8], end: usize, of: ReplyKind) -> Result<(), ProtocolError> {
    match end.checked_sub(2).and_then(|start| buffer.get(start..end)) {
        Some(b"\r\n") => Ok(()),
        _ => Err(ProtocolError::LineBreak { of }),
    }
}
