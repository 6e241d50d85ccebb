//! What was delivered, in which order: to be looked at, and to be replayed.
//!
//! Posts, timers, tasks and blocking work are journalled by their order and label, and a replay executes them again;
//! results of services and events of inlets with a [`Codec`] are journalled with their bytes, and a replay delivers those.

use std::fmt;

use super::label::Label;
use super::source::{CLASSES, Class};

const MAGIC: &[u8] = b"arknet journal 1\n";

/// How a journal keeps results or events of one kind.
pub struct Codec<T> {
    /// The bytes of a value.
    pub encode: fn(&T) -> Vec<u8>,
    /// The value of bytes that `encode` made.
    pub decode: fn(&[u8]) -> T,
}

impl<T> Clone for Codec<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Codec<T> {}

impl<T> fmt::Debug for Codec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Codec")
    }
}

/// One delivery.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Delivery {
    pub(crate) tick: u64,
    /// The owner's clock in that tick, in nanoseconds since it was built.
    pub(crate) nanos: u64,
    pub(crate) class: u8,
    pub(crate) source: String,
    pub(crate) key: u64,
    pub(crate) label: String,
    pub(crate) payload: Option<Vec<u8>>,
}

impl fmt::Display for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "number {} of {}: {}", self.key, self.source, self.label)
    }
}

/// A record of everything that an owner delivered, in order.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Journal {
    pub(crate) deliveries: Vec<Delivery>,
    truncated: bool,
}

/// A journal that could not be read.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("not a journal of an owner, or cut short after {after} deliveries")]
pub struct JournalError {
    /// How many deliveries could be read.
    pub after: usize,
}

impl Journal {
    /// How many deliveries it has.
    pub fn len(&self) -> usize {
        self.deliveries.len()
    }

    /// Whether nothing was delivered.
    pub fn is_empty(&self) -> bool {
        self.deliveries.is_empty()
    }

    /// Whether the bound of its size was met, so that it ends before the owner did.
    pub fn is_truncated(&self) -> bool {
        self.truncated
    }

    /// The journal as bytes: the same deliveries are the same bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.push(u8::from(self.truncated));
        for delivery in &self.deliveries {
            bytes.extend(delivery.tick.to_le_bytes());
            bytes.extend(delivery.nanos.to_le_bytes());
            bytes.push(delivery.class);
            put(&mut bytes, delivery.source.as_bytes());
            bytes.extend(delivery.key.to_le_bytes());
            put(&mut bytes, delivery.label.as_bytes());
            match &delivery.payload {
                None => bytes.push(0),
                Some(payload) => {
                    bytes.push(1);
                    put(&mut bytes, payload);
                }
            }
        }
        bytes
    }

    /// The journal that [`to_bytes`](Self::to_bytes) made these of.
    ///
    /// # Errors
    ///
    /// [`JournalError`] where it did not.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, JournalError> {
        let mut journal = Self::default();
        let error = JournalError { after: 0 };
        let rest = bytes.strip_prefix(MAGIC).ok_or(error)?;
        let (truncated, rest) = rest.split_first().ok_or(error)?;
        journal.truncated = *truncated != 0;
        let mut reader = Reader(rest);
        while !reader.0.is_empty() {
            let error = JournalError {
                after: journal.deliveries.len(),
            };
            journal.deliveries.push(reader.delivery().ok_or(error)?);
        }
        Ok(journal)
    }
}

fn put(bytes: &mut Vec<u8>, field: &[u8]) {
    bytes.extend((field.len() as u64).to_le_bytes());
    bytes.extend(field);
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn delivery(&mut self) -> Option<Delivery> {
        Some(Delivery {
            tick: self.number()?,
            nanos: self.number()?,
            class: self.byte().filter(|class| usize::from(*class) < CLASSES)?,
            source: self.text()?,
            key: self.number()?,
            label: self.text()?,
            payload: match self.byte()? {
                0 => None,
                _ => Some(self.field()?.to_vec()),
            },
        })
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn number(&mut self) -> Option<u64> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*first))
    }

    fn field(&mut self) -> Option<&[u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (field, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(field)
    }

    fn text(&mut self) -> Option<String> {
        String::from_utf8(self.field()?.to_vec()).ok()
    }
}

/// The journal that is being written, and the one that is being replayed.
#[derive(Default)]
pub(crate) struct Recorder {
    writing: Option<Journal>,
    bytes: usize,
    most_bytes: usize,
    pub(crate) nanos: u64,
    replay: Option<Replay>,
}

struct Replay {
    journal: Journal,
    next: usize,
}

impl Recorder {
    /// Writes a journal of at most so many bytes.
    pub(crate) fn write(&mut self, most_bytes: usize) {
        self.writing = Some(Journal::default());
        self.most_bytes = most_bytes;
    }

    /// Replays a journal.
    pub(crate) fn replay(&mut self, journal: Journal) {
        self.replay = Some(Replay { journal, next: 0 });
    }

    pub(crate) fn is_on(&self) -> bool {
        self.writing.is_some()
    }

    pub(crate) fn is_replaying(&self) -> bool {
        self.replay.is_some()
    }

    pub(crate) fn take(&mut self) -> Option<Journal> {
        self.bytes = 0;
        self.writing.as_mut().map(std::mem::take)
    }

    /// The next delivery of the replay; forgets the replay after the last.
    pub(crate) fn peek(&mut self) -> Option<&Delivery> {
        if let Some(replay) = &self.replay
            && replay.next >= replay.journal.deliveries.len()
        {
            self.replay = None;
        }
        let replay = self.replay.as_ref()?;
        replay.journal.deliveries.get(replay.next)
    }

    pub(crate) fn advance(&mut self) {
        if let Some(replay) = &mut self.replay {
            replay.next += 1;
        }
    }

    pub(crate) fn delivered(
        &mut self,
        tick: u64,
        class: Class,
        source: &str,
        key: u64,
        label: Option<Label>,
        payload: Option<Vec<u8>>,
    ) {
        let Some(journal) = &mut self.writing else {
            return;
        };
        let label = label.map(|label| label.to_string()).unwrap_or_default();
        // About what it is as bytes.
        let size = 48 + source.len() + label.len() + payload.as_ref().map_or(0, Vec::len);
        self.bytes = self.bytes.saturating_add(size);
        if journal.truncated || self.bytes > self.most_bytes {
            journal.truncated = true;
            return;
        }
        journal.deliveries.push(Delivery {
            tick,
            nanos: self.nanos,
            class: u8::try_from(class.index()).unwrap_or_default(),
            source: source.to_owned(),
            key,
            label,
            payload,
        });
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn a_journal_survives_as_bytes_and_damage_is_noticed() {
        let mut recorder = Recorder::default();
        recorder.write(1 << 20);
        for key in 0..3 {
            let payload = (key == 1).then(|| vec![1, 2, 3]);
            recorder.delivered(
                7,
                Class::Databases,
                "redis",
                key,
                Some(Label::here()),
                payload,
            );
        }
        let journal = recorder.take().unwrap();
        let bytes = journal.to_bytes();
        assert_eq!(Journal::from_bytes(&bytes), Ok(journal));
        for cut in 1..bytes.len() {
            // A cut between two deliveries is a shorter journal; anywhere else it is an error. Neither panics.
            let _ = Journal::from_bytes(&bytes[..cut]);
        }
        assert!(Journal::from_bytes(&bytes[..bytes.len() - 1]).is_err());
        assert!(Journal::from_bytes(b"else").is_err());
    }

    #[test]
    fn a_journal_stops_at_its_bound() {
        let mut recorder = Recorder::default();
        recorder.write(200);
        for key in 0..100 {
            recorder.delivered(1, Class::Posts, "posts", key, None, None);
        }
        let journal = recorder.take().unwrap();
        assert!(journal.is_truncated());
        assert_eq!(journal.len(), 3);
    }
}
