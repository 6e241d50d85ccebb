//! Strings, and numbers and bits in them.

use arknet_proto::redis::{Command as Encoded, FromReply, ToArg};

use super::Expiry;
use crate::redis::Command;

/// Appends to a value, and returns its new length in bytes. `APPEND`, O(1).
pub fn append(key: impl ToArg, value: impl ToArg) -> Command<u64> {
    Command::clean("APPEND").arg(key).arg(value)
}

/// Counts the bits that are set. `BITCOUNT`, O(n).
pub fn bitcount(key: impl ToArg) -> Command<u64> {
    Command::clean("BITCOUNT").arg(key)
}

/// The position of the first bit that is set, or is not; -1 if there is none. `BITPOS`, O(n).
pub fn bitpos(key: impl ToArg, bit: bool) -> Command<i64> {
    Command::clean("BITPOS").arg(key).arg(bit)
}

/// Subtracts one from a number, and returns what is left. `DECR`, O(1).
pub fn decr(key: impl ToArg) -> Command<i64> {
    Command::clean("DECR").arg(key)
}

/// Subtracts from a number, and returns what is left. `DECRBY`, O(1).
pub fn decrby(key: impl ToArg, by: i64) -> Command<i64> {
    Command::clean("DECRBY").arg(key).arg(by)
}

/// The value of a key, or null. `GET`, O(1).
#[inline]
pub fn get<T: FromReply>(key: impl ToArg) -> Command<T> {
    Command::clean("GET").arg(key)
}

/// One bit of a value. `GETBIT`, O(1).
pub fn getbit(key: impl ToArg, offset: u64) -> Command<bool> {
    Command::clean("GETBIT").arg(key).arg(offset)
}

/// The value of a key, which is deleted, or null. `GETDEL`, O(1), Redis 6.2.
pub fn getdel<T: FromReply>(key: impl ToArg) -> Command<T> {
    Command::clean("GETDEL").arg(key)
}

/// The value of a key, or null; the key then ends as said, or with `None` never. `GETEX`, O(1), Redis 6.2.
pub fn getex<T: FromReply>(key: impl ToArg, expiry: Option<Expiry>) -> Command<T> {
    let command = Command::clean("GETEX").arg(key);
    match expiry {
        Some(expiry) => command.arg(expiry),
        None => command.arg("PERSIST"),
    }
}

/// A part of a value, from byte `start` to byte `end` inclusive; negative ones count from its end.
/// `GETRANGE`, O(n).
pub fn getrange<T: FromReply>(key: impl ToArg, start: i64, end: i64) -> Command<T> {
    Command::clean("GETRANGE").arg(key).arg(start).arg(end)
}

/// Adds one to a number, and returns the sum. `INCR`, O(1).
#[inline]
pub fn incr(key: impl ToArg) -> Command<i64> {
    Command::clean("INCR").arg(key)
}

/// Adds to a number, and returns the sum. `INCRBY`, O(1).
pub fn incrby(key: impl ToArg, by: i64) -> Command<i64> {
    Command::clean("INCRBY").arg(key).arg(by)
}

/// Adds to a floating-point number, and returns the sum. `INCRBYFLOAT`, O(1).
pub fn incrbyfloat(key: impl ToArg, by: f64) -> Command<f64> {
    Command::clean("INCRBYFLOAT").arg(key).arg(by)
}

/// The longest text that two values have in common, in pieces that need not touch. `LCS`, O(n·m), Redis 7.
pub fn lcs<T: FromReply>(first: impl ToArg, second: impl ToArg) -> Command<T> {
    Command::clean("LCS").arg(first).arg(second)
}

/// The values of several keys, null for each that is not there. `MGET`, O(n).
pub fn mget<T: FromReply>(keys: impl ToArg) -> Command<T> {
    Command::clean("MGET").arg(keys)
}

/// Sets several keys to values: pairs, or a map. `MSET`, O(n).
pub fn mset(pairs: impl ToArg) -> Command<()> {
    Command::clean("MSET").arg(pairs)
}

/// Sets several keys to values, unless one of them is there already; whether it did. `MSETNX`, O(n).
pub fn msetnx(pairs: impl ToArg) -> Command<bool> {
    Command::clean("MSETNX").arg(pairs)
}

/// Sets a key to a value, without an end. `SET`, O(1).
#[inline]
pub fn set(key: impl ToArg, value: impl ToArg) -> Command<()> {
    Command::clean("SET").arg(key).arg(value)
}

/// Sets a key to a value with options. `SET`, O(1).
///
/// What the reply is depends on them: [`WasSet`] with a condition, with [`SetOptions::get`] the previous value
/// or null, and `()` otherwise.
///
/// ```
/// use std::time::Duration;
/// use arknet::redis::commands::strings::{SetOptions, WasSet, set_with};
///
/// let options = SetOptions::new().expire_in(Duration::from_secs(30)).only_if_absent();
/// let lock = set_with::<WasSet>("lock:7", "me", options);
/// # let _ = lock;
/// ```
pub fn set_with<T: FromReply>(
    key: impl ToArg,
    value: impl ToArg,
    options: SetOptions,
) -> Command<T> {
    Command::clean("SET").arg(key).arg(value).arg(options)
}

/// Sets one bit of a value, and returns what it was. `SETBIT`, O(1).
pub fn setbit(key: impl ToArg, offset: u64, bit: bool) -> Command<bool> {
    Command::clean("SETBIT").arg(key).arg(offset).arg(bit)
}

/// Sets a key to a value with an end. `SET` with `PX` or `PXAT`, O(1).
pub fn setex(key: impl ToArg, value: impl ToArg, expiry: Expiry) -> Command<()> {
    Command::clean("SET").arg(key).arg(value).arg(expiry)
}

/// Sets a key to a value, unless it is there already; whether it did. `SETNX`, O(1).
pub fn setnx(key: impl ToArg, value: impl ToArg) -> Command<bool> {
    Command::clean("SETNX").arg(key).arg(value)
}

/// Writes over a part of a value, and returns its new length in bytes. `SETRANGE`, O(n).
pub fn setrange(key: impl ToArg, offset: u64, value: impl ToArg) -> Command<u64> {
    Command::clean("SETRANGE").arg(key).arg(offset).arg(value)
}

/// The length of a value in bytes, zero if it is not there. `STRLEN`, O(1).
pub fn strlen(key: impl ToArg) -> Command<u64> {
    Command::clean("STRLEN").arg(key)
}

/// What [`set_with`] takes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[must_use = "options do nothing by themselves"]
pub struct SetOptions {
    expiry: Option<SetExpiry>,
    condition: Option<SetCondition>,
    get: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum SetExpiry {
    New(Expiry),
    Keep,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum SetCondition {
    Absent,
    Present,
}

impl SetOptions {
    /// None: the key is set, without an end.
    pub fn new() -> Self {
        Self::default()
    }

    /// The key ends then.
    pub fn expiry(mut self, expiry: Expiry) -> Self {
        self.expiry = Some(SetExpiry::New(expiry));
        self
    }

    /// The key ends after so long. `PX`.
    pub fn expire_in(self, after: std::time::Duration) -> Self {
        self.expiry(Expiry::In(after))
    }

    /// The key ends when it would have ended. `KEEPTTL`.
    pub fn keep_expiry(mut self) -> Self {
        self.expiry = Some(SetExpiry::Keep);
        self
    }

    /// Only if the key is not there. `NX`.
    pub fn only_if_absent(mut self) -> Self {
        self.condition = Some(SetCondition::Absent);
        self
    }

    /// Only if the key is there. `XX`.
    pub fn only_if_present(mut self) -> Self {
        self.condition = Some(SetCondition::Present);
        self
    }

    /// The reply is the value that was there before, or null. `GET`.
    pub fn get(mut self) -> Self {
        self.get = true;
        self
    }
}

impl ToArg for SetOptions {
    fn append_to(&self, command: &mut Encoded) {
        match self.condition {
            Some(SetCondition::Absent) => "NX".append_to(command),
            Some(SetCondition::Present) => "XX".append_to(command),
            None => {}
        }
        if self.get {
            "GET".append_to(command);
        }
        match self.expiry {
            Some(SetExpiry::New(expiry)) => expiry.append_to(command),
            Some(SetExpiry::Keep) => "KEEPTTL".append_to(command),
            None => {}
        }
    }

    fn count(&self) -> usize {
        let expiry = match self.expiry {
            Some(SetExpiry::New(expiry)) => expiry.count(),
            Some(SetExpiry::Keep) => 1,
            None => 0,
        };
        usize::from(self.condition.is_some()) + usize::from(self.get) + expiry
    }
}

/// Whether a conditional `SET` did: `OK` is yes, null is no.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct WasSet(pub bool);

impl FromReply for WasSet {
    fn from_reply(
        reply: arknet_proto::redis::Reply<'_>,
    ) -> Result<Self, arknet_proto::redis::DecodeError> {
        Option::<()>::from_reply(reply).map(|done| Self(done.is_some()))
    }
}
