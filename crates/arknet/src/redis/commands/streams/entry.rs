//! Entries.

use arknet_proto::redis::{DecodeError, FromReply, Reply};
use bytes::Bytes;

use super::StreamId;

/// An entry of a stream.
///
/// Of an entry that was given to a consumer and is deleted meanwhile, the fields are null: `Option<..>` takes
/// that.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Entry<T = Vec<(String, Bytes)>> {
    /// Where it stands.
    pub id: StreamId,
    /// Its fields.
    pub fields: T,
}

impl<T: FromReply> FromReply for Entry<T> {
    fn from_reply(reply: Reply<'_>) -> Result<Self, DecodeError> {
        let (id, fields) = reply.decode()?;
        Ok(Self { id, fields })
    }
}

/// What reading several streams gives: each that has entries, with its key, in the order in which they were
/// asked for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Read<T = Vec<(String, Bytes)>> {
    /// Keys and entries.
    pub streams: Vec<(String, Vec<Entry<T>>)>,
}

impl<T> Read<T> {
    /// Whether there was nothing to be read.
    pub fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    /// The entries of one stream.
    pub fn entries(&self, key: &str) -> &[Entry<T>] {
        let found = self.streams.iter().find(|(found, _)| found == key);
        found.map_or(&[], |(_, entries)| entries)
    }
}

/// Null, with which servers say that there is nothing, is nothing.
impl<T: FromReply> FromReply for Read<T> {
    fn from_reply(reply: Reply<'_>) -> Result<Self, DecodeError> {
        let streams = Option::from_reply(reply)?.unwrap_or_default();
        Ok(Self { streams })
    }
}

/// What [`xautoclaim`](super::xautoclaim) gives.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Claimed<T = Vec<(String, Bytes)>> {
    /// Where to go on; [`StreamId::MIN`] at the end.
    pub next: StreamId,
    /// Entries that are this consumer's now.
    pub entries: Vec<Entry<T>>,
    /// Entries that do not exist any more; nobody has to acknowledge them. Redis 7.
    pub deleted: Vec<StreamId>,
}

impl<T: FromReply> FromReply for Claimed<T> {
    fn from_reply(reply: Reply<'_>) -> Result<Self, DecodeError> {
        let Reply::Array(list) = reply else {
            return Err(reply.unexpected("claimed entries"));
        };
        // Redis 6.2 does not tell of deleted ones.
        let (next, entries, deleted) = if list.len() == 2 {
            let (next, entries) = reply.decode()?;
            (next, entries, Vec::new())
        } else {
            reply.decode()?
        };
        Ok(Self {
            next,
            entries,
            deleted,
        })
    }
}
