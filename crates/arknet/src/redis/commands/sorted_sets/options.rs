//! What commands of sorted sets take.

use arknet_proto::redis::{Command as Encoded, ToArg};

/// What [`zadd_with`](super::zadd_with) takes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[must_use = "options do nothing by themselves"]
pub struct ZaddOptions {
    update: Option<Update>,
    changed: bool,
}

/// Which members are touched.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Update {
    /// Those that are new. `NX`.
    New,
    /// Those that are there. `XX`.
    Present,
    /// Those that are new, and those that get a higher score. `GT`, Redis 6.2.
    Higher,
    /// Those that are new, and those that get a lower score. `LT`, Redis 6.2.
    Lower,
}

impl ZaddOptions {
    /// None: all members are touched.
    pub fn new() -> Self {
        Self::default()
    }

    /// Only some members are touched.
    pub fn only(mut self, update: Update) -> Self {
        self.update = Some(update);
        self
    }

    /// The reply counts members with a new score as well. `CH`.
    pub fn count_changed(mut self) -> Self {
        self.changed = true;
        self
    }
}

impl ToArg for ZaddOptions {
    fn append_to(&self, command: &mut Encoded) {
        let update = self.update.map(|update| match update {
            Update::New => "NX",
            Update::Present => "XX",
            Update::Higher => "GT",
            Update::Lower => "LT",
        });
        update.append_to(command);
        self.changed.then_some("CH").append_to(command);
    }

    fn count(&self) -> usize {
        usize::from(self.update.is_some()) + usize::from(self.changed)
    }
}

/// What ranges by score and by text take.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[must_use = "options do nothing by themselves"]
pub struct RangeOptions {
    reversed: bool,
    limit: Option<(u64, u64)>,
}

impl RangeOptions {
    /// None: all members within the range, from its lower end.
    pub fn new() -> Self {
        Self::default()
    }

    /// From the upper end of the range to the lower one. `REV`.
    pub fn reversed(mut self) -> Self {
        self.reversed = true;
        self
    }

    /// Up to `count` of them, without the first `offset` ones. `LIMIT`.
    pub fn limit(mut self, offset: u64, count: u64) -> Self {
        self.limit = Some((offset, count));
        self
    }

    /// The ends of a range as this order has them: reversed, the upper one comes first.
    pub(super) fn in_order(self, (low, high): (String, String)) -> (String, String) {
        if self.reversed {
            (high, low)
        } else {
            (low, high)
        }
    }
}

impl ToArg for RangeOptions {
    fn append_to(&self, command: &mut Encoded) {
        self.reversed.then_some("REV").append_to(command);
        let limit = self.limit.map(|(offset, count)| ("LIMIT", offset, count));
        limit.append_to(command);
    }

    fn count(&self) -> usize {
        usize::from(self.reversed) + 3 * usize::from(self.limit.is_some())
    }
}

/// Of what the score of a member is made that is in several sets.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Aggregate {
    /// The sum of its scores.
    Sum,
    /// The lowest one.
    Min,
    /// The highest one.
    Max,
}

impl ToArg for Aggregate {
    fn append_to(&self, command: &mut Encoded) {
        let name = match self {
            Self::Sum => "SUM",
            Self::Min => "MIN",
            Self::Max => "MAX",
        };
        name.append_to(command);
    }
}
