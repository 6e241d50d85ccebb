//! Streams: logs of entries, read by position or by groups of consumers.
//!
//! An [`Entry`] is an id and fields, which become whatever is asked for: pairs, a map, or a structure that
//! derives [`FromReply`].

use std::ops::{Bound, RangeBounds};
use std::time::Duration;

use arknet_proto::redis::{Effects, FromReply, ToArg};

use super::expiry::millis;
use crate::redis::{Command, LeaseCommand};

pub use self::entry::{Claimed, Entry, Read};
pub use self::id::{InvalidStreamId, StreamId};
pub use self::info::{ConsumerInfo, GroupInfo, Pending, PendingEntry, StreamInfo};
pub use self::options::{AddOptions, ReadOptions, Trim};

mod entry;
mod id;
mod info;
mod options;

/// Says that entries are done with, and returns how many were to be. `XACK`, O(n).
pub fn xack(key: impl ToArg, group: impl ToArg, ids: impl ToArg) -> Command<u64> {
    Command::clean("XACK").arg(key).arg(group).arg(ids)
}

/// Adds an entry with fields (pairs, or a map), and returns the id that the server made. `XADD`, O(1).
pub fn xadd(key: impl ToArg, fields: impl ToArg) -> Command<StreamId> {
    Command::clean("XADD").arg(key).arg("*").arg(fields)
}

/// The same, with options; null if there is no stream and none is to be made. `XADD`, O(1).
pub fn xadd_with(
    key: impl ToArg,
    fields: impl ToArg,
    options: AddOptions,
) -> Command<Option<StreamId>> {
    Command::clean("XADD").arg(key).arg(options).arg(fields)
}

/// Makes entries a consumer's own that somebody else has been silent about for so long: up to `count` ones
/// behind `start`. `XAUTOCLAIM`, O(1), Redis 6.2.
pub fn xautoclaim<T: FromReply>(
    key: impl ToArg,
    group: impl ToArg,
    consumer: impl ToArg,
    silent_for: Duration,
    start: StreamId,
    count: u64,
) -> Command<Claimed<T>> {
    Command::clean("XAUTOCLAIM")
        .arg((key, group, consumer))
        .arg(silent_for.as_millis())
        .arg(start)
        .arg(("COUNT", count))
}

/// Makes certain entries a consumer's own that somebody else has been silent about for so long, and returns
/// those that it has become. `XCLAIM`, O(n).
pub fn xclaim<T: FromReply>(
    key: impl ToArg,
    group: impl ToArg,
    consumer: impl ToArg,
    silent_for: Duration,
    ids: impl ToArg,
) -> Command<Vec<Entry<T>>> {
    Command::clean("XCLAIM")
        .arg((key, group, consumer))
        .arg(silent_for.as_millis())
        .arg(ids)
}

/// Deletes entries, and returns how many there were. `XDEL`, O(n).
pub fn xdel(key: impl ToArg, ids: impl ToArg) -> Command<u64> {
    Command::clean("XDEL").arg(key).arg(ids)
}

/// Makes a group that will be given what stands behind `start` (an id, or `"$"`: what is added from now on),
/// and the stream if there is none. `XGROUP CREATE`, O(1).
pub fn xgroup_create(key: impl ToArg, group: impl ToArg, start: impl ToArg) -> Command<()> {
    let command = Command::clean("XGROUP CREATE").arg(key).arg(group);
    command.arg(start).arg("MKSTREAM")
}

/// Deletes a consumer, and returns how many entries it had not acknowledged. `XGROUP DELCONSUMER`, O(1).
pub fn xgroup_delconsumer(
    key: impl ToArg,
    group: impl ToArg,
    consumer: impl ToArg,
) -> Command<u64> {
    Command::clean("XGROUP DELCONSUMER").arg((key, group, consumer))
}

/// Deletes a group; whether there was one. `XGROUP DESTROY`, O(n).
pub fn xgroup_destroy(key: impl ToArg, group: impl ToArg) -> Command<bool> {
    Command::clean("XGROUP DESTROY").arg(key).arg(group)
}

/// Has a group go on behind another entry. `XGROUP SETID`, O(1).
pub fn xgroup_setid(key: impl ToArg, group: impl ToArg, start: impl ToArg) -> Command<()> {
    Command::clean("XGROUP SETID").arg((key, group, start))
}

/// The consumers of a group. `XINFO CONSUMERS`, O(n).
pub fn xinfo_consumers(key: impl ToArg, group: impl ToArg) -> Command<Vec<ConsumerInfo>> {
    Command::clean("XINFO CONSUMERS").arg(key).arg(group)
}

/// The groups of a stream. `XINFO GROUPS`, O(n).
pub fn xinfo_groups(key: impl ToArg) -> Command<Vec<GroupInfo>> {
    Command::clean("XINFO GROUPS").arg(key)
}

/// What the server knows of a stream. `XINFO STREAM`, O(1).
pub fn xinfo_stream(key: impl ToArg) -> Command<StreamInfo> {
    Command::clean("XINFO STREAM").arg(key)
}

/// How many entries there are. `XLEN`, O(1).
pub fn xlen(key: impl ToArg) -> Command<u64> {
    Command::clean("XLEN").arg(key)
}

/// What a group was given and has not acknowledged. `XPENDING`, O(n).
pub fn xpending(key: impl ToArg, group: impl ToArg) -> Command<Pending> {
    Command::clean("XPENDING").arg(key).arg(group)
}

/// The same, entry by entry, up to `count` ones. `XPENDING`, O(n).
pub fn xpending_range(
    key: impl ToArg,
    group: impl ToArg,
    ids: impl RangeBounds<StreamId>,
    count: u64,
) -> Command<Vec<PendingEntry>> {
    let command = Command::clean("XPENDING").arg(key).arg(group);
    command.arg(ends(&ids)).arg(count)
}

/// Entries within a range, from the oldest, up to `count` ones. `XRANGE`, O(n).
///
/// ```
/// use arknet::redis::commands::streams::{StreamId, xrange};
///
/// let oldest = xrange::<Vec<(String, String)>>("log", .., 100);
/// let later = xrange::<Vec<(String, String)>>("log", StreamId::new(1_526_919_030_474, 0).., 100);
/// # let _ = (oldest, later);
/// ```
pub fn xrange<T: FromReply>(
    key: impl ToArg,
    ids: impl RangeBounds<StreamId>,
    count: u64,
) -> Command<Vec<Entry<T>>> {
    let command = Command::clean("XRANGE").arg(key);
    command.arg(ends(&ids)).arg(("COUNT", count))
}

/// Entries behind others, of several streams: keys, and for each the id of the last one that is known. `XREAD`,
/// O(n).
pub fn xread<T: FromReply>(
    keys: impl ToArg,
    behind: impl ToArg,
    options: ReadOptions,
) -> Command<Read<T>> {
    let command = Command::clean("XREAD").arg(options);
    command.arg("STREAMS").arg(keys).arg(behind)
}

/// The same, waiting for one if there is none; of a stream from `"$"`, for what is added from now on. Empty if
/// none has come within the time. `XREAD` with `BLOCK`, O(n).
pub fn xread_blocking<T: FromReply>(
    keys: impl ToArg,
    behind: impl ToArg,
    options: ReadOptions,
    within: Option<Duration>,
) -> LeaseCommand<Read<T>> {
    let command = Command::with_effects("XREAD", Effects::BLOCKING).arg(options);
    let command = command.arg(("BLOCK", block(within))).arg("STREAMS");
    command.arg(keys).arg(behind).into()
}

/// Entries that a group was not given yet (`">"` for each key), or those of this consumer behind an id that
/// are not acknowledged. `XREADGROUP`, O(n).
pub fn xreadgroup<T: FromReply>(
    group: impl ToArg,
    consumer: impl ToArg,
    keys: impl ToArg,
    behind: impl ToArg,
    options: ReadOptions,
) -> Command<Read<T>> {
    let command = Command::clean("XREADGROUP").arg(("GROUP", group, consumer));
    let command = command.arg(options).arg("STREAMS");
    command.arg(keys).arg(behind)
}

/// The same, waiting for one if there is none; empty if none has come within the time. `XREADGROUP` with
/// `BLOCK`, O(n).
pub fn xreadgroup_blocking<T: FromReply>(
    group: impl ToArg,
    consumer: impl ToArg,
    keys: impl ToArg,
    behind: impl ToArg,
    options: ReadOptions,
    within: Option<Duration>,
) -> LeaseCommand<Read<T>> {
    let command = Command::with_effects("XREADGROUP", Effects::BLOCKING);
    let command = command.arg(("GROUP", group, consumer)).arg(options);
    let command = command.arg(("BLOCK", block(within))).arg("STREAMS");
    command.arg(keys).arg(behind).into()
}

/// Entries within a range, from the newest, up to `count` ones. `XREVRANGE`, O(n).
pub fn xrevrange<T: FromReply>(
    key: impl ToArg,
    ids: impl RangeBounds<StreamId>,
    count: u64,
) -> Command<Vec<Entry<T>>> {
    let (oldest, newest) = ends(&ids);
    let command = Command::clean("XREVRANGE").arg(key);
    command.arg((newest, oldest)).arg(("COUNT", count))
}

/// Deletes the oldest entries, and returns how many. `XTRIM`, O(n).
pub fn xtrim(key: impl ToArg, trim: Trim) -> Command<u64> {
    Command::clean("XTRIM").arg(key).arg(trim)
}

/// The ends of a range, as the server writes them: `(` before one that is not in it (Redis 6.2).
fn ends(ids: &impl RangeBounds<StreamId>) -> (String, String) {
    let end = |bound, unbounded: &str| match bound {
        Bound::Included(id) => format!("{id}"),
        Bound::Excluded(id) => format!("({id}"),
        Bound::Unbounded => unbounded.to_owned(),
    };
    (end(ids.start_bound(), "-"), end(ids.end_bound(), "+"))
}

/// Milliseconds to wait, for ever if zero.
fn block(within: Option<Duration>) -> u128 {
    within.map_or(0, millis)
}
