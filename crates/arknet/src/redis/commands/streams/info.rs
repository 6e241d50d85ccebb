//! What the server knows of a stream.

use arknet_derive::FromReply;

use super::StreamId;

/// A stream, from [`xinfo_stream`](super::xinfo_stream).
#[derive(Clone, Debug, FromReply)]
#[redis(crate = "crate::redis", rename_all = "kebab-case")]
#[non_exhaustive]
pub struct StreamInfo {
    /// How many entries it has.
    pub length: u64,
    /// How many groups read it.
    pub groups: u64,
    /// The last id that was given to an entry.
    pub last_generated_id: StreamId,
    /// How many entries were ever added. Redis 7.
    #[redis(default)]
    pub entries_added: u64,
}

/// A group of consumers, from [`xinfo_groups`](super::xinfo_groups).
#[derive(Clone, Debug, FromReply)]
#[redis(crate = "crate::redis", rename_all = "kebab-case")]
#[non_exhaustive]
pub struct GroupInfo {
    /// Its name.
    pub name: String,
    /// How many consumers it has.
    pub consumers: u64,
    /// How many entries were given to them and not acknowledged.
    pub pending: u64,
    /// The last entry that was given to one.
    pub last_delivered_id: StreamId,
    /// How many entries are still to be given. Unknown before Redis 7, and after some deletions.
    pub lag: Option<u64>,
}

/// A consumer of a group, from [`xinfo_consumers`](super::xinfo_consumers).
#[derive(Clone, Debug, FromReply)]
#[redis(crate = "crate::redis", rename_all = "kebab-case")]
#[non_exhaustive]
pub struct ConsumerInfo {
    /// Its name.
    pub name: String,
    /// How many entries were given to it and not acknowledged.
    pub pending: u64,
    /// Milliseconds since it last asked for something.
    pub idle: u64,
}

/// What is not acknowledged in a group, from [`xpending`](super::xpending).
#[derive(Clone, Debug, FromReply)]
#[redis(crate = "crate::redis")]
pub struct Pending(
    /// How many entries.
    pub u64,
    /// The first of them.
    pub Option<StreamId>,
    /// The last of them.
    pub Option<StreamId>,
    /// How many each consumer has.
    pub Option<Vec<(String, u64)>>,
);

/// An entry that is not acknowledged, from [`xpending_range`](super::xpending_range).
#[derive(Clone, Debug, FromReply)]
#[redis(crate = "crate::redis")]
pub struct PendingEntry(
    /// Its id.
    pub StreamId,
    /// Whose it is.
    pub String,
    /// Milliseconds since it was last given to somebody.
    pub u64,
    /// How often it was.
    pub u64,
);
