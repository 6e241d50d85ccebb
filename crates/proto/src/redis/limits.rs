//! How much of a reply is accepted.

/// The largest reply that is accepted, in each of its dimensions.
///
/// A reply beyond one of them is refused as soon as that is known: when its length is announced, not
/// when its bytes have been stored.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ReplyLimits {
    /// Bytes of one reply on the wire, with everything in it. 64 MiB by default; a server allows values
    /// of up to 512 MiB.
    pub max_reply_bytes: usize,
    /// Elements of one reply, counted over all its aggregates; a pair of a map counts twice. 4,194,304
    /// by default: decoded to a [`Value`](super::Value) each, they take 160 MiB.
    pub max_elements: usize,
    /// Aggregates within one another. 32 by default, of at most [`Self::DEEPEST`]; servers nest six.
    pub max_depth: usize,
    /// Bytes of a line: a simple string, an error, a number. 64 KiB by default.
    pub max_line: usize,
}

impl ReplyLimits {
    /// The largest depth that can be allowed; more is taken as this. Decoding recurses, and a stack
    /// holds this much with ease.
    pub const DEEPEST: usize = 128;

    /// With another limit of bytes of one reply.
    #[must_use]
    pub fn max_reply_bytes(mut self, bytes: usize) -> Self {
        self.max_reply_bytes = bytes;
        self
    }

    /// With another limit of elements of one reply.
    #[must_use]
    pub fn max_elements(mut self, elements: usize) -> Self {
        self.max_elements = elements;
        self
    }

    /// With another limit of nesting.
    #[must_use]
    pub fn max_depth(mut self, depth: usize) -> Self {
        self.max_depth = depth;
        self
    }

    /// With another limit of bytes of a line.
    #[must_use]
    pub fn max_line(mut self, bytes: usize) -> Self {
        self.max_line = bytes;
        self
    }
}

impl Default for ReplyLimits {
    fn default() -> Self {
        Self {
            max_reply_bytes: 64 << 20,
            max_elements: 4 << 20,
            max_depth: 32,
            max_line: 64 << 10,
        }
    }
}
