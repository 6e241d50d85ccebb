//! What a command leaves behind on its connection, and what it asks of it.

use std::fmt;

mod table;

/// What a command does to the connection that carries it, apart from its reply.
///
/// It comes from a table of commands. One that is not in it counts as one that leaves state behind
/// ([`Self::dirties_session`]), since nobody knows.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Effects(u16);

impl Effects {
    /// Nothing: it is answered, and leaves the session as it was.
    pub const NONE: Self = Self(0);
    /// It changes the session: the database, the user, the name, subscriptions, modes.
    pub const DIRTIES_SESSION: Self = Self(1);
    /// Its reply may take as long as it says, and holds up all others until then.
    pub const BLOCKING: Self = Self(1 << 1);
    /// It changes what a connection means to everybody who shares it.
    pub const EXCLUSIVE: Self = Self(1 << 2);
    /// It is not answered, or makes others not be answered (`CLIENT REPLY`).
    pub const NO_REPLY: Self = Self(1 << 3);
    /// Its confirmations are messages: the subscribe and unsubscribe family.
    pub const SUBSCRIBES: Self = Self(1 << 4);
    /// `MULTI`.
    pub const OPENS_TRANSACTION: Self = Self(1 << 5);
    /// `EXEC`, `DISCARD`: no transaction and no watched key is left.
    pub const CLOSES_TRANSACTION: Self = Self(1 << 6);
    /// `WATCH`.
    pub const WATCHES: Self = Self(1 << 7);
    /// `UNWATCH`.
    pub const UNWATCHES: Self = Self(1 << 8);

    /// What a command of this name does, in any case of letters; of two words, what the subcommand does.
    #[must_use]
    pub fn of(name: &str) -> Self {
        table::look_up(name)
    }

    /// Both.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What is left when `later` has run as well: what it ends is not.
    #[must_use]
    pub const fn then(self, later: Self) -> Self {
        let mut ended = Self::NONE;
        if later.contains(Self::CLOSES_TRANSACTION) {
            ended = Self::OPENS_TRANSACTION.union(Self::WATCHES);
        } else if later.contains(Self::UNWATCHES) {
            ended = Self::WATCHES;
        }
        Self(self.0 & !ended.0 | later.0)
    }

    /// Whether all of `other` is in it.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether the session is not as it was: something was set, or a transaction or a watched key is left.
    #[must_use]
    pub const fn dirties_session(self) -> bool {
        let left = Self::DIRTIES_SESSION
            .union(Self::OPENS_TRANSACTION)
            .union(Self::WATCHES);
        self.0 & left.0 != 0
    }

    /// Whether its reply may be long in coming.
    #[must_use]
    pub const fn is_blocking(self) -> bool {
        self.contains(Self::BLOCKING)
    }

    /// Whether only the one user of a connection may send it.
    #[must_use]
    pub const fn is_exclusive(self) -> bool {
        self.contains(Self::EXCLUSIVE)
    }

    /// Whether it has no reply.
    #[must_use]
    pub const fn no_reply(self) -> bool {
        self.contains(Self::NO_REPLY)
    }

    /// Whether it is one of the subscribe and unsubscribe family.
    #[must_use]
    pub const fn subscribes(self) -> bool {
        self.contains(Self::SUBSCRIBES)
    }
}

impl Default for Effects {
    /// None.
    fn default() -> Self {
        Self::NONE
    }
}

impl fmt::Debug for Effects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = [
            ("dirties session", Self::DIRTIES_SESSION),
            ("blocking", Self::BLOCKING),
            ("exclusive", Self::EXCLUSIVE),
            ("no reply", Self::NO_REPLY),
            ("subscribes", Self::SUBSCRIBES),
            ("opens transaction", Self::OPENS_TRANSACTION),
            ("closes transaction", Self::CLOSES_TRANSACTION),
            ("watches", Self::WATCHES),
            ("unwatches", Self::UNWATCHES),
        ];
        let mut names = f.debug_set();
        for (name, effect) in named {
            if self.contains(effect) {
                names.entry(&format_args!("{name}"));
            }
        }
        names.finish()
    }
}
