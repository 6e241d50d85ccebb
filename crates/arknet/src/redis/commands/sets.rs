//! Sets.

use arknet_proto::redis::{FromReply, ToArg};

use super::scan::{ScanCommand, ScanOptions};
use crate::redis::Command;

/// Adds members, and returns how many are new. `SADD`, O(n).
pub fn sadd(key: impl ToArg, members: impl ToArg) -> Command<u64> {
    Command::clean("SADD").arg(key).arg(members)
}

/// How many members there are, zero if there is no set. `SCARD`, O(1).
pub fn scard(key: impl ToArg) -> Command<u64> {
    Command::clean("SCARD").arg(key)
}

/// What is in the first set and in no other: a `Vec`, or a set. `SDIFF`, O(n).
pub fn sdiff<T: FromReply>(keys: impl ToArg) -> Command<T> {
    Command::clean("SDIFF").arg(keys)
}

/// The same, written to a key; how many it has. `SDIFFSTORE`, O(n).
pub fn sdiffstore(to: impl ToArg, keys: impl ToArg) -> Command<u64> {
    Command::clean("SDIFFSTORE").arg(to).arg(keys)
}

/// What is in all sets: a `Vec`, or a set. `SINTER`, O(n·m).
pub fn sinter<T: FromReply>(keys: impl ToArg) -> Command<T> {
    Command::clean("SINTER").arg(keys)
}

/// How many members all sets have in common, counted up to `limit`, or all with zero. `SINTERCARD`, O(n·m),
/// Redis 7.
pub fn sintercard(keys: impl ToArg, limit: u64) -> Command<u64> {
    Command::clean("SINTERCARD")
        .counted(keys)
        .arg("LIMIT")
        .arg(limit)
}

/// What is in all sets, written to a key; how many it has. `SINTERSTORE`, O(n·m).
pub fn sinterstore(to: impl ToArg, keys: impl ToArg) -> Command<u64> {
    Command::clean("SINTERSTORE").arg(to).arg(keys)
}

/// Whether it is a member. `SISMEMBER`, O(1).
pub fn sismember(key: impl ToArg, member: impl ToArg) -> Command<bool> {
    Command::clean("SISMEMBER").arg(key).arg(member)
}

/// All members: a `Vec`, or a set. `SMEMBERS`, O(n).
pub fn smembers<T: FromReply>(key: impl ToArg) -> Command<T> {
    Command::clean("SMEMBERS").arg(key)
}

/// Whether each of several is a member. `SMISMEMBER`, O(n), Redis 6.2.
pub fn smismember(key: impl ToArg, members: impl ToArg) -> Command<Vec<bool>> {
    Command::clean("SMISMEMBER").arg(key).arg(members)
}

/// Moves a member from one set to another; whether it was there. `SMOVE`, O(1).
pub fn smove(from: impl ToArg, to: impl ToArg, member: impl ToArg) -> Command<bool> {
    Command::clean("SMOVE").arg(from).arg(to).arg(member)
}

/// Takes a member by chance, or null. `SPOP`, O(1).
pub fn spop<T: FromReply>(key: impl ToArg) -> Command<T> {
    Command::clean("SPOP").arg(key)
}

/// Takes up to `count` members by chance. `SPOP`, O(n).
pub fn spop_count<T: FromReply>(key: impl ToArg, count: u64) -> Command<Vec<T>> {
    Command::clean("SPOP").arg(key).arg(count)
}

/// A member by chance, which stays, or null. `SRANDMEMBER`, O(1).
pub fn srandmember<T: FromReply>(key: impl ToArg) -> Command<T> {
    Command::clean("SRANDMEMBER").arg(key)
}

/// Members by chance, which stay: up to `count` different ones, or with a negative one so many with repeats.
/// `SRANDMEMBER`, O(n).
pub fn srandmember_count<T: FromReply>(key: impl ToArg, count: i64) -> Command<Vec<T>> {
    Command::clean("SRANDMEMBER").arg(key).arg(count)
}

/// Removes members, and returns how many there were. `SREM`, O(n).
pub fn srem(key: impl ToArg, members: impl ToArg) -> Command<u64> {
    Command::clean("SREM").arg(key).arg(members)
}

/// All members, page by page. `SSCAN`, O(1) a page.
pub fn sscan<T: FromReply>(key: impl ToArg, options: ScanOptions) -> ScanCommand<T> {
    ScanCommand::of_key("SSCAN", key, options)
}

/// What is in any set: a `Vec`, or a set. `SUNION`, O(n).
pub fn sunion<T: FromReply>(keys: impl ToArg) -> Command<T> {
    Command::clean("SUNION").arg(keys)
}

/// The same, written to a key; how many it has. `SUNIONSTORE`, O(n).
pub fn sunionstore(to: impl ToArg, keys: impl ToArg) -> Command<u64> {
    Command::clean("SUNIONSTORE").arg(to).arg(keys)
}
