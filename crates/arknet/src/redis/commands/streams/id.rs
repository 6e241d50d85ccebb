//! Where an entry stands in its stream.

use std::fmt;
use std::str::FromStr;

use arknet_proto::redis::{Command as Encoded, DecodeError, FromReply, Reply, ToArg};

/// The id of an entry: a time in milliseconds, and a number among those of the same one. In order of age.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct StreamId {
    /// Milliseconds since 1970, by the server's clock, unless ids are given by hand.
    pub millis: u64,
    /// The number among those of the same time.
    pub sequence: u64,
}

impl StreamId {
    /// Before every entry.
    pub const MIN: Self = Self::new(0, 0);
    /// Behind every entry.
    pub const MAX: Self = Self::new(u64::MAX, u64::MAX);

    /// An id.
    #[must_use]
    pub const fn new(millis: u64, sequence: u64) -> Self {
        Self { millis, sequence }
    }

    /// The one right behind it; `None` behind the last one.
    #[must_use]
    pub const fn next(self) -> Option<Self> {
        match (self.sequence.checked_add(1), self.millis.checked_add(1)) {
            (Some(sequence), _) => Some(Self::new(self.millis, sequence)),
            (None, Some(millis)) => Some(Self::new(millis, 0)),
            (None, None) => None,
        }
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.millis, self.sequence)
    }
}

/// The text is no id of an entry.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("an id of a stream is two numbers with a hyphen between them")]
pub struct InvalidStreamId;

impl FromStr for StreamId {
    type Err = InvalidStreamId;

    /// `1526919030474-55`, or `1526919030474` for the first one of that time.
    fn from_str(text: &str) -> Result<Self, InvalidStreamId> {
        let (millis, sequence) = text.split_once('-').unwrap_or((text, "0"));
        match (millis.parse(), sequence.parse()) {
            (Ok(millis), Ok(sequence)) => Ok(Self { millis, sequence }),
            _ => Err(InvalidStreamId),
        }
    }
}

impl FromReply for StreamId {
    fn from_reply(reply: Reply<'_>) -> Result<Self, DecodeError> {
        let (Reply::Bulk(text) | Reply::Simple(text)) = reply else {
            return Err(reply.unexpected("the id of an entry"));
        };
        let text = std::str::from_utf8(text).ok();
        let id = text.and_then(|text| text.parse().ok());
        id.ok_or_else(|| reply.unfit("the id of an entry"))
    }
}

impl ToArg for StreamId {
    fn append_to(&self, command: &mut Encoded) {
        self.to_string().append_to(command);
    }
}
