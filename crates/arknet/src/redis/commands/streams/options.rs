//! What commands of streams take.

use arknet_proto::redis::{Command as Encoded, ToArg};

use super::StreamId;

/// How a stream is kept short.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[must_use = "options do nothing by themselves"]
pub struct Trim {
    bound: Bound,
    is_exact: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Bound {
    Len(u64),
    Id(StreamId),
}

impl Trim {
    /// The oldest entries go, until about so many are left: a few more may stay, which is much quicker.
    /// `MAXLEN ~`
    pub fn to_len(len: u64) -> Self {
        Self {
            bound: Bound::Len(len),
            is_exact: false,
        }
    }

    /// Entries older than this one go, about. `MINID ~`, Redis 6.2.
    pub fn before(id: StreamId) -> Self {
        Self {
            bound: Bound::Id(id),
            is_exact: false,
        }
    }

    /// To the entry. `=`
    pub fn exactly(mut self) -> Self {
        self.is_exact = true;
        self
    }
}

impl ToArg for Trim {
    fn append_to(&self, command: &mut Encoded) {
        let how = if self.is_exact { "=" } else { "~" };
        match self.bound {
            Bound::Len(len) => ("MAXLEN", how, len).append_to(command),
            Bound::Id(id) => ("MINID", how, id).append_to(command),
        }
    }

    fn count(&self) -> usize {
        3
    }
}

/// What [`xadd_with`](super::xadd_with) takes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[must_use = "options do nothing by themselves"]
pub struct AddOptions {
    id: Option<StreamId>,
    trim: Option<Trim>,
    no_stream: bool,
}

impl AddOptions {
    /// None: the server makes the id, and the stream if there is none.
    pub fn new() -> Self {
        Self::default()
    }

    /// With an id of one's own, which must be behind all others.
    pub fn id(mut self, id: StreamId) -> Self {
        self.id = Some(id);
        self
    }

    /// The stream is kept short.
    pub fn trim(mut self, trim: Trim) -> Self {
        self.trim = Some(trim);
        self
    }

    /// Nothing is added if there is no stream. `NOMKSTREAM`, Redis 6.2.
    pub fn only_if_present(mut self) -> Self {
        self.no_stream = true;
        self
    }
}

impl ToArg for AddOptions {
    fn append_to(&self, command: &mut Encoded) {
        self.no_stream.then_some("NOMKSTREAM").append_to(command);
        self.trim.append_to(command);
        match self.id {
            Some(id) => id.append_to(command),
            None => "*".append_to(command),
        }
    }

    fn count(&self) -> usize {
        usize::from(self.no_stream) + self.trim.count() + 1
    }
}

/// What [`xread`](super::xread) and [`xreadgroup`](super::xreadgroup) take.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[must_use = "options do nothing by themselves"]
pub struct ReadOptions {
    count: Option<u64>,
    no_ack: bool,
}

impl ReadOptions {
    /// None: all entries that there are.
    pub fn new() -> Self {
        Self::default()
    }

    /// Up to so many entries of each stream. `COUNT`
    pub fn count(mut self, count: u64) -> Self {
        self.count = Some(count);
        self
    }

    /// Entries count as acknowledged when they are read; of groups only. `NOACK`
    pub fn without_acknowledgement(mut self) -> Self {
        self.no_ack = true;
        self
    }
}

impl ToArg for ReadOptions {
    fn append_to(&self, command: &mut Encoded) {
        self.count.map(|count| ("COUNT", count)).append_to(command);
        self.no_ack.then_some("NOACK").append_to(command);
    }

    fn count(&self) -> usize {
        2 * usize::from(self.count.is_some()) + usize::from(self.no_ack)
    }
}
