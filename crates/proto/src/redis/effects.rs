//! What a command leaves behind on its connection, and what it asks of it.

use std::fmt;

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
    pub fn of(name: &str) -> Self;
    /// Both.
    #[must_use]
    pub const fn union(self, other: Self) -> Self;
    /// What is left when `later` has run as well: a transaction that it ends is not.
    #[must_use]
    pub const fn then(self, later: Self) -> Self;
    /// Whether all of `other` is in it.
    pub const fn contains(self, other: Self) -> bool;
    /// Whether the session is not as it was.
    pub const fn dirties_session(self) -> bool;
    /// Whether its reply may be long in coming.
    pub const fn is_blocking(self) -> bool;
    /// Whether only the one user of a connection may send it.
    pub const fn is_exclusive(self) -> bool;
    /// Whether it has no reply.
    pub const fn no_reply(self) -> bool;
    /// Whether it is one of the subscribe and unsubscribe family.
    pub const fn subscribes(self) -> bool;
}
