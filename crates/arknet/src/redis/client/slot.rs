//! The place of one batch, from its submission until its result has been fetched.

use std::ops::Range;
use std::task::Waker;
use std::time::Instant;

use arknet_proto::redis::exchange::Fate;
use bytes::Bytes;

use super::finish::{Completion, Failure};

/// Replies of at least this size are handed over as part of the receive buffer; smaller ones are copied into storage
/// that is used again, which costs less than the counting of references.
pub(super) const LARGE: usize = 4 * 1024;

/// Storage that has grown above this is given back to the system when its reply has been decoded.
const KEPT_BYTES: usize = 2 * LARGE;

/// The same for the places of a pipeline's replies.
const KEPT_FRAMES: usize = 512;

/// What has come for a batch.
#[derive(Debug, Default)]
pub(super) struct Collected {
    bytes: Vec<u8>,
    /// Where the replies of a pipeline lie. The one reply to a single command is all that there is, and has no place here.
    frames: Vec<Range<usize>>,
    shared: Option<Bytes>,
}

impl Collected {
    pub(super) const EMPTY: Self = Self {
        bytes: Vec::new(),
        frames: Vec::new(),
        shared: None,
    };

    /// The bytes in which the replies lie.
    #[inline]
    pub(super) fn wire(&self) -> &[u8] {
        match &self.shared {
            Some(shared) => shared,
            None => &self.bytes,
        }
    }

    /// Shows the bytes, and where each reply lies in them, in their order.
    #[inline]
    pub(super) fn with<T>(&self, function: impl FnOnce(&[u8], &[Range<usize>]) -> T) -> T {
        let wire = self.wire();
        if self.frames.is_empty() && !wire.is_empty() {
            function(wire, std::slice::from_ref(&(0..wire.len())))
        } else {
            function(wire, &self.frames)
        }
    }

    /// Takes what `other` has, and leaves its own storage there for the next batch.
    #[inline]
    pub(super) fn take(&mut self, other: &mut Self) {
        std::mem::swap(&mut self.bytes, &mut other.bytes);
        if !other.frames.is_empty() {
            std::mem::swap(&mut self.frames, &mut other.frames);
        }
        if other.shared.is_some() {
            self.shared = other.shared.take();
        }
    }

    /// Takes in the one reply to a single command.
    #[inline]
    fn set(&mut self, wave: &Wave<'_>, frame: &Range<usize>) {
        match wave.shared {
            Some(shared) if frame.len() >= LARGE => self.shared = Some(shared.slice(frame.clone())),
            _ => {
                let bytes = wave.bytes.get(frame.clone()).unwrap_or_default();
                self.bytes.extend_from_slice(bytes);
            }
        }
    }

    /// Takes in the next replies to a pipeline. What lies between them comes along, unlooked at.
    fn append(&mut self, wave: &Wave<'_>, frames: &[Range<usize>], last: bool) {
        let (Some(first), Some(end)) = (frames.first(), frames.last()) else {
            return;
        };
        let region = first.start..end.end;
        let before = self.bytes.len();
        let (from, to) = match wave.shared {
            Some(shared) if last && before == 0 && region.len() >= LARGE => {
                self.shared = Some(shared.slice(region.clone()));
                (region.start, 0)
            }
            _ => {
                let bytes = wave.bytes.get(region.clone()).unwrap_or_default();
                self.bytes.extend_from_slice(bytes);
                (region.start, before)
            }
        };
        let place = |frame: &Range<usize>| frame.start - from + to..frame.end - from + to;
        self.frames.extend(frames.iter().map(place));
    }

    /// Makes it ready for the next batch.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.frames.clear();
        if self.shared.is_some()
            || self.bytes.capacity() > KEPT_BYTES
            || self.frames.capacity() > KEPT_FRAMES
        {
            self.shrink();
        }
    }

    #[cold]
    fn shrink(&mut self) {
        self.shared = None;
        if self.bytes.capacity() > KEPT_BYTES {
            self.bytes = Vec::new();
        }
        if self.frames.capacity() > KEPT_FRAMES {
            self.frames = Vec::new();
        }
    }
}

/// Replies that have arrived together.
#[derive(Debug)]
pub(super) struct Wave<'a> {
    pub(super) bytes: &'a [u8],
    /// The same bytes, where one of the replies is large.
    pub(super) shared: Option<&'a Bytes>,
    /// The replies among them, in their order.
    pub(super) frames: &'a [Range<usize>],
}

/// Who waits for the result.
pub(super) enum Owner {
    /// Nobody any more: what comes is thrown away.
    Nobody,
    /// A future.
    Future(Waker),
    /// A callback.
    Callback(Box<dyn Completion>),
}

/// Where the bytes of a batch are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Stage {
    /// In the buffer that the next write takes.
    Queued,
    /// There too, to be taken out before that.
    Withdrawn,
    /// With the connection; replies are to come.
    InFlight,
    /// Nothing is to come.
    Over,
}

pub(super) struct Slot {
    pub(super) owner: Owner,
    pub(super) stage: Stage,
    /// Replies that are to come.
    pub(super) to_come: usize,
    /// There is one request in it.
    pub(super) single: bool,
    pub(super) collected: Collected,
    pub(super) failure: Option<Failure>,
    /// The result can be fetched.
    pub(super) ready: bool,
    pub(super) deadline: Option<Instant>,
    /// Where its bytes begin in the connection's stream, and how many they are.
    pub(super) begin: u64,
    pub(super) len: usize,
}

impl Slot {
    pub(super) fn new() -> Self {
        Self {
            owner: Owner::Nobody,
            stage: Stage::Over,
            to_come: 0,
            single: true,
            collected: Collected::default(),
            failure: None,
            ready: false,
            deadline: None,
            begin: 0,
            len: 0,
        }
    }

    /// The next `count` of its replies are here.
    #[inline]
    pub(super) fn receive(&mut self, wave: &Wave<'_>, frames: &[Range<usize>]) {
        let last = frames.len() == self.to_come;
        self.to_come -= frames.len();
        if self.ready || matches!(self.owner, Owner::Nobody) {
            return;
        }
        match frames {
            [frame] if self.single => self.collected.set(wave, frame),
            _ => self.collected.append(wave, frames, last),
        }
    }

    /// Whether no one needs it any more.
    #[inline]
    pub(super) fn is_free(&self) -> bool {
        self.stage == Stage::Over && matches!(self.owner, Owner::Nobody)
    }

    /// How many of its requests the system was given bytes of. It was given the stream up to `written`; `pending` are the
    /// last bytes before `end` of what was to be written.
    pub(super) fn begun(&self, written: u64, pending: &[u8], end: u64) -> usize {
        let sent = written.saturating_sub(self.begin);
        if sent == 0 || sent >= self.len as u64 {
            return if sent == 0 { 0 } else { usize::MAX };
        }
        let from = (pending.len() as u64)
            .checked_sub(end.saturating_sub(self.begin))
            .and_then(|from| usize::try_from(from).ok());
        let wire = from.and_then(|from| pending.get(from..)?.get(..self.len));
        let fate = Fate {
            answered: 0,
            written: sent,
        };
        // Without the bytes, all of them may have been.
        wire.map_or(usize::MAX, |wire| fate.begun(wire))
    }
}
