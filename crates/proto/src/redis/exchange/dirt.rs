//! What the user of a session has left behind in it.

use crate::redis::Effects;

/// What is known of a session's state, from the commands that were sent on it.
///
/// A transaction that was opened and closed leaves nothing; everything else that changes a session stays noted until it
/// is reset, even if the user has put it back. A `SELECT` within a `MULTI` that is discarded, for one, never happened;
/// to know that takes a server's mind, and a reset costs no round trip.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Dirt {
    session: bool,
    /// Between `MULTI` and its `EXEC` or `DISCARD`.
    transaction: bool,
    /// Keys are watched.
    watch: bool,
    /// Replies do not answer requests any more one by one: no reset can be awaited.
    beyond_reset: bool,
}

impl Dirt {
    /// A session as it begins.
    pub const CLEAN: Self = Self {
        session: false,
        transaction: false,
        watch: false,
        beyond_reset: false,
    };

    /// Takes note of what was sent.
    pub fn note(&mut self, effects: Effects) {
        if effects == Effects::NONE {
            return;
        }
        self.session |= effects.contains(Effects::DIRTIES_SESSION);
        self.beyond_reset |= effects.no_reply();
        if effects.contains(Effects::CLOSES_TRANSACTION) {
            self.transaction = false;
            self.watch = false;
        }
        if effects.contains(Effects::UNWATCHES) {
            self.watch = false;
        }
        self.transaction |= effects.contains(Effects::OPENS_TRANSACTION);
        self.watch |= effects.contains(Effects::WATCHES);
    }

    /// Takes note that something is not as it should be: a transaction's end was refused, a reply was not understood.
    pub fn note_unknown(&mut self) {
        self.session = true;
    }

    /// Whether the session is another than it was: who has logged in, what is subscribed to, or who knows what.
    #[must_use]
    pub fn has_changed_session(self) -> bool {
        self.session
    }

    /// Whether the session is as it began.
    pub fn is_clean(self) -> bool {
        self == Self::CLEAN
    }

    /// Whether there was a `MULTI`, and neither `EXEC` nor `DISCARD`.
    pub fn has_open_transaction(self) -> bool {
        self.transaction
    }

    /// Whether a transaction is open or prepared: keys are watched.
    pub fn is_in_transaction(self) -> bool {
        self.transaction || self.watch
    }

    /// Whether only closing the connection helps.
    pub fn is_beyond_reset(self) -> bool {
        self.beyond_reset
    }
}
