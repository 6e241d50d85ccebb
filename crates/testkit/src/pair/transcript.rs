//! What happened, in order.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

/// Entries that are kept; of more, the last. A failing story is understood from its end.
const KEPT: usize = 4_096;

/// What happened between two engines, in order: the last 4,096 entries.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Transcript {
    entries: VecDeque<Entry>,
    dropped: usize,
}

/// Something that happened.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Entry {
    /// When, since the clock was made.
    pub at: Duration,
    /// To which side.
    pub who: Who,
    /// What.
    pub what: Happening,
}

/// A side of a pair.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Who {
    /// The one that was given first.
    A,
    /// The one that was given second.
    B,
}

/// What can happen to a side.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Happening {
    /// Its engine told this event.
    Told(String),
    /// It handed so many bytes over.
    Sent(usize),
    /// It ended its stream.
    EndSent,
    /// So many bytes arrived.
    Arrived(usize),
    /// The end of the other's stream arrived.
    EndArrived,
    /// It saw the connection break.
    Reset,
    /// A deadline of its engine had come.
    Deadline,
}

impl Transcript {
    /// The entries that are kept, oldest first.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    pub(super) fn note(&mut self, entry: Entry) {
        if self.entries.len() == KEPT {
            self.entries.pop_front();
            self.dropped += 1;
        }
        self.entries.push_back(entry);
    }
}

impl fmt::Display for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.dropped > 0 {
            writeln!(f, "({} earlier entries)", self.dropped)?;
        }
        self.entries
            .iter()
            .try_for_each(|entry| writeln!(f, "{entry}"))
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>12.6} s  {:?}  ", self.at.as_secs_f64(), self.who)?;
        match &self.what {
            Happening::Told(event) => write!(f, "told {event}"),
            Happening::Sent(count) => write!(f, "sent {count}"),
            Happening::EndSent => f.write_str("ended its stream"),
            Happening::Arrived(count) => write!(f, "received {count}"),
            Happening::EndArrived => f.write_str("received the end"),
            Happening::Reset => f.write_str("saw a reset"),
            Happening::Deadline => f.write_str("met a deadline"),
        }
    }
}

impl Who {
    /// The other side.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_kept_and_the_rest_is_counted() {
        let mut transcript = Transcript::default();
        for count in 0..KEPT + 3 {
            transcript.note(Entry {
                at: Duration::from_millis(1_500),
                who: Who::B,
                what: Happening::Sent(count),
            });
        }
        assert_eq!(transcript.entries().count(), KEPT);
        let text = transcript.to_string();
        assert!(text.starts_with("(3 earlier entries)\n    1.500000 s  B  sent 3\n"));
    }
}
