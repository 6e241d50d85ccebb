//! Lists, from their left end (the head) to their right one.

use std::time::Duration;

use arknet_proto::redis::{Command as Encoded, Effects, FromReply, ToArg};

use super::expiry::seconds;
use crate::redis::{Command, LeaseCommand};

/// Moves an element from one list to another, waiting for one if there is none; null if none has come
/// within the time. `BLMOVE`, O(1), Redis 6.2.
pub fn blmove<T: FromReply>(
    from: impl ToArg,
    to: impl ToArg,
    from_end: End,
    to_end: End,
    within: Option<Duration>,
) -> LeaseCommand<Option<T>> {
    blocking("BLMOVE")
        .arg(from)
        .arg(to)
        .arg(from_end)
        .arg(to_end)
        .arg(seconds(within))
        .into()
}

/// Takes up to `count` elements from the first list that has one, waiting for one if none has: the key and
/// the elements, or null. `BLMPOP`, O(n), Redis 7.
pub fn blmpop<T: FromReply>(
    keys: impl ToArg,
    end: End,
    count: u64,
    within: Option<Duration>,
) -> LeaseCommand<Option<(String, Vec<T>)>> {
    blocking("BLMPOP")
        .arg(seconds(within))
        .counted(keys)
        .arg(end)
        .arg("COUNT")
        .arg(count)
        .into()
}

/// Takes the first element of the first list that has one, waiting for one if none has: the key and the
/// element, or null if none has come within the time. `BLPOP`, O(1).
pub fn blpop<T: FromReply>(
    keys: impl ToArg,
    within: Option<Duration>,
) -> LeaseCommand<Option<(String, T)>> {
    blocking("BLPOP").arg(keys).arg(seconds(within)).into()
}

/// As [`blpop`], with the last element. `BRPOP`, O(1).
pub fn brpop<T: FromReply>(
    keys: impl ToArg,
    within: Option<Duration>,
) -> LeaseCommand<Option<(String, T)>> {
    blocking("BRPOP").arg(keys).arg(seconds(within)).into()
}

/// An element by its position, negative ones from the right; null if there is none. `LINDEX`, O(n).
pub fn lindex<T: FromReply>(key: impl ToArg, index: i64) -> Command<T> {
    Command::clean("LINDEX").arg(key).arg(index)
}

/// Inserts an element before or after another one, and returns the new length; -1 if that one is not there.
/// `LINSERT`, O(n).
pub fn linsert(
    key: impl ToArg,
    place: Place,
    pivot: impl ToArg,
    element: impl ToArg,
) -> Command<i64> {
    Command::clean("LINSERT")
        .arg(key)
        .arg(place)
        .arg(pivot)
        .arg(element)
}

/// The length, zero if there is no list. `LLEN`, O(1).
pub fn llen(key: impl ToArg) -> Command<u64> {
    Command::clean("LLEN").arg(key)
}

/// Moves an element from one list to another, and returns it, or null. `LMOVE`, O(1), Redis 6.2.
pub fn lmove<T: FromReply>(
    from: impl ToArg,
    to: impl ToArg,
    from_end: End,
    to_end: End,
) -> Command<T> {
    Command::clean("LMOVE")
        .arg(from)
        .arg(to)
        .arg(from_end)
        .arg(to_end)
}

/// Takes up to `count` elements from the first list that has one: the key and the elements, or null. `LMPOP`,
/// O(n), Redis 7.
pub fn lmpop<T: FromReply>(
    keys: impl ToArg,
    end: End,
    count: u64,
) -> Command<Option<(String, Vec<T>)>> {
    let command = Command::clean("LMPOP").counted(keys);
    command.arg(end).arg("COUNT").arg(count)
}

/// Takes the first element, or null. `LPOP`, O(1).
pub fn lpop<T: FromReply>(key: impl ToArg) -> Command<T> {
    Command::clean("LPOP").arg(key)
}

/// Takes up to `count` elements from the left; null if there is no list. `LPOP`, O(n), Redis 6.2.
pub fn lpop_count<T: FromReply>(key: impl ToArg, count: u64) -> Command<Option<Vec<T>>> {
    Command::clean("LPOP").arg(key).arg(count)
}

/// The position of the first element that is this one, or null. `LPOS`, O(n).
pub fn lpos(key: impl ToArg, element: impl ToArg) -> Command<Option<u64>> {
    Command::clean("LPOS").arg(key).arg(element)
}

/// Puts elements before the first one, one after the other, and returns the new length. `LPUSH`, O(n).
pub fn lpush(key: impl ToArg, elements: impl ToArg) -> Command<u64> {
    Command::clean("LPUSH").arg(key).arg(elements)
}

/// The same, if there is a list already. `LPUSHX`, O(n).
pub fn lpushx(key: impl ToArg, elements: impl ToArg) -> Command<u64> {
    Command::clean("LPUSHX").arg(key).arg(elements)
}

/// Elements from position `start` to `stop` inclusive; negative ones count from the right. `LRANGE`, O(n).
pub fn lrange<T: FromReply>(key: impl ToArg, start: i64, stop: i64) -> Command<Vec<T>> {
    Command::clean("LRANGE").arg(key).arg(start).arg(stop)
}

/// Removes elements that are this one, and returns how many: up to `count` from the left, or with a negative
/// one from the right, or with zero all. `LREM`, O(n).
pub fn lrem(key: impl ToArg, count: i64, element: impl ToArg) -> Command<u64> {
    Command::clean("LREM").arg(key).arg(count).arg(element)
}

/// Sets the element at a position. `LSET`, O(n).
pub fn lset(key: impl ToArg, index: i64, element: impl ToArg) -> Command<()> {
    Command::clean("LSET").arg(key).arg(index).arg(element)
}

/// Removes all elements but those from position `start` to `stop` inclusive. `LTRIM`, O(n).
pub fn ltrim(key: impl ToArg, start: i64, stop: i64) -> Command<()> {
    Command::clean("LTRIM").arg(key).arg(start).arg(stop)
}

/// Takes the last element, or null. `RPOP`, O(1).
pub fn rpop<T: FromReply>(key: impl ToArg) -> Command<T> {
    Command::clean("RPOP").arg(key)
}

/// Takes up to `count` elements from the right; null if there is no list. `RPOP`, O(n), Redis 6.2.
pub fn rpop_count<T: FromReply>(key: impl ToArg, count: u64) -> Command<Option<Vec<T>>> {
    Command::clean("RPOP").arg(key).arg(count)
}

/// Puts elements behind the last one, one after the other, and returns the new length. `RPUSH`, O(n).
pub fn rpush(key: impl ToArg, elements: impl ToArg) -> Command<u64> {
    Command::clean("RPUSH").arg(key).arg(elements)
}

/// The same, if there is a list already. `RPUSHX`, O(n).
pub fn rpushx(key: impl ToArg, elements: impl ToArg) -> Command<u64> {
    Command::clean("RPUSHX").arg(key).arg(elements)
}

fn blocking<T: FromReply>(name: &'static str) -> Command<T> {
    Command::with_effects(name, Effects::BLOCKING)
}

/// An end of a list.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum End {
    /// The head, where `LPUSH` puts elements.
    Left,
    /// The tail, where `RPUSH` puts them.
    Right,
}

impl ToArg for End {
    fn append_to(&self, command: &mut Encoded) {
        match self {
            Self::Left => "LEFT".append_to(command),
            Self::Right => "RIGHT".append_to(command),
        }
    }
}

/// Where [`linsert`] puts an element.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Place {
    /// On its left.
    Before,
    /// On its right.
    After,
}

impl ToArg for Place {
    fn append_to(&self, command: &mut Encoded) {
        match self {
            Self::Before => "BEFORE".append_to(command),
            Self::After => "AFTER".append_to(command),
        }
    }
}
