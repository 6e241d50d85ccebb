//! Keys, whatever is in them.

use std::time::{Duration, SystemTime};

use arknet_proto::redis::{Command as Encoded, DecodeError, FromReply, Reply, ToArg};

use super::expiry::{millis, unix_millis};
use super::scan::{ScanCommand, ScanOptions};
use crate::redis::Command;

/// Copies a value to another key, unless that is there and not to be replaced; whether it did. `COPY`, O(n),
/// Redis 6.2.
pub fn copy(from: impl ToArg, to: impl ToArg, replace: bool) -> Command<bool> {
    let replace = replace.then_some("REPLACE");
    Command::clean("COPY").arg(from).arg(to).arg(replace)
}

/// Deletes keys, and returns how many there were. `DEL`, O(n).
pub fn del(keys: impl ToArg) -> Command<u64> {
    Command::clean("DEL").arg(keys)
}

/// A value in a form that [`restore`] takes, or null. `DUMP`, O(n).
pub fn dump(key: impl ToArg) -> Command<Option<Vec<u8>>> {
    Command::clean("DUMP").arg(key)
}

/// How many of the keys are there; one that is named twice counts twice. `EXISTS`, O(n).
pub fn exists(keys: impl ToArg) -> Command<u64> {
    Command::clean("EXISTS").arg(keys)
}

/// Has a key end after so long; whether it is there. `PEXPIRE`, O(1).
pub fn expire(key: impl ToArg, after: Duration) -> Command<bool> {
    Command::clean("PEXPIRE").arg(key).arg(millis(after))
}

/// The same, on a condition; whether it will. `PEXPIRE`, O(1), Redis 7.
pub fn expire_if(key: impl ToArg, after: Duration, condition: ExpireIf) -> Command<bool> {
    expire(key, after).arg(condition)
}

/// Has a key end at a time; whether it is there. `PEXPIREAT`, O(1).
pub fn expireat(key: impl ToArg, at: SystemTime) -> Command<bool> {
    Command::clean("PEXPIREAT").arg(key).arg(unix_millis(at))
}

/// All keys that match a pattern. The server does nothing else meanwhile: [`scan`] is kinder. `KEYS`, O(n).
pub fn keys<T: FromReply>(pattern: impl ToArg) -> Command<Vec<T>> {
    Command::clean("KEYS").arg(pattern)
}

/// How a value is stored, such as `listpack`, or null. `OBJECT ENCODING`, O(1).
pub fn object_encoding(key: impl ToArg) -> Command<Option<String>> {
    Command::clean("OBJECT ENCODING").arg(key)
}

/// Seconds since a value was read or written, or null. `OBJECT IDLETIME`, O(1).
pub fn object_idletime(key: impl ToArg) -> Command<Option<u64>> {
    Command::clean("OBJECT IDLETIME").arg(key)
}

/// Has a key not end after all; whether it had an end. `PERSIST`, O(1).
pub fn persist(key: impl ToArg) -> Command<bool> {
    Command::clean("PERSIST").arg(key)
}

/// A key by chance, or null. `RANDOMKEY`, O(1).
pub fn randomkey<T: FromReply>() -> Command<T> {
    Command::clean("RANDOMKEY")
}

/// Gives a key another name, in place of what has that name. `RENAME`, O(1).
pub fn rename(from: impl ToArg, to: impl ToArg) -> Command<()> {
    Command::clean("RENAME").arg(from).arg(to)
}

/// The same, unless something has that name; whether it did. `RENAMENX`, O(1).
pub fn renamenx(from: impl ToArg, to: impl ToArg) -> Command<bool> {
    Command::clean("RENAMENX").arg(from).arg(to)
}

/// Makes a key of what [`dump`] gave, without an end, in place of what is there if `replace`. `RESTORE`, O(n).
pub fn restore(key: impl ToArg, value: impl ToArg, replace: bool) -> Command<()> {
    let replace = replace.then_some("REPLACE");
    Command::clean("RESTORE")
        .arg(key)
        .arg(0)
        .arg(value)
        .arg(replace)
}

/// All keys, page by page. `SCAN`, O(1) a page.
pub fn scan<T: FromReply>(options: ScanOptions) -> ScanCommand<T> {
    ScanCommand::of_keys("SCAN", options)
}

/// The elements of a list, set or sorted set in order of their numbers, or of their text if `alpha`. `SORT`,
/// O(n·log n).
pub fn sort<T: FromReply>(key: impl ToArg, alpha: bool) -> Command<Vec<T>> {
    Command::clean("SORT")
        .arg(key)
        .arg(alpha.then_some("ALPHA"))
}

/// Marks keys as used, and returns how many there are. `TOUCH`, O(n).
pub fn touch(keys: impl ToArg) -> Command<u64> {
    Command::clean("TOUCH").arg(keys)
}

/// How long a key has left. `PTTL`, O(1).
pub fn ttl(key: impl ToArg) -> Command<Ttl> {
    Command::clean("PTTL").arg(key)
}

/// The type of a value: `string`, `list`, `set`, `zset`, `hash`, `stream`, or `none`. `TYPE`, O(1).
pub fn type_of(key: impl ToArg) -> Command<String> {
    Command::clean("TYPE").arg(key)
}

/// Deletes keys, frees what was in them later, and returns how many there were. `UNLINK`, O(n).
pub fn unlink(keys: impl ToArg) -> Command<u64> {
    Command::clean("UNLINK").arg(keys)
}

/// When [`expire_if`] sets an end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ExpireIf {
    /// The key has none.
    None,
    /// It has one.
    Some,
    /// It has an earlier one.
    Later,
    /// It has a later one, or none.
    Sooner,
}

impl ToArg for ExpireIf {
    fn append_to(&self, command: &mut Encoded) {
        let flag = match self {
            Self::None => "NX",
            Self::Some => "XX",
            Self::Later => "GT",
            Self::Sooner => "LT",
        };
        flag.append_to(command);
    }
}

/// How long a key has left.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Ttl {
    /// There is no such key.
    Missing,
    /// It does not end.
    Endless,
    /// It ends after so long.
    Left(Duration),
}

impl FromReply for Ttl {
    fn from_reply(reply: Reply<'_>) -> Result<Self, DecodeError> {
        match i64::from_reply(reply)? {
            -2 => Ok(Self::Missing),
            -1 => Ok(Self::Endless),
            left => match u64::try_from(left) {
                Ok(left) => Ok(Self::Left(Duration::from_millis(left))),
                Err(_) => Err(reply.unfit("the rest of a key's time")),
            },
        }
    }
}
