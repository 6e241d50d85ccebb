//! Sorted sets: members, each with a score.

use std::ops::RangeBounds;
use std::time::Duration;

use arknet_proto::redis::{Effects, FromReply, ToArg};

use super::expiry::seconds;
use super::scan::{ScanCommand, ScanOptions};
use crate::redis::{Command, LeaseCommand};

pub(super) use self::bounds::{lex_bounds, score_bounds};
pub use self::options::{Aggregate, RangeOptions, Update, ZaddOptions};

mod bounds;
mod options;

/// Takes the member with the highest score of the first set that has one, waiting for one if none has: the
/// key, the member and its score, or null if none has come within the time. `BZPOPMAX`, O(log n).
pub fn bzpopmax<T: FromReply>(
    keys: impl ToArg,
    within: Option<Duration>,
) -> LeaseCommand<Option<(String, T, f64)>> {
    let command = Command::with_effects("BZPOPMAX", Effects::BLOCKING);
    command.arg(keys).arg(seconds(within)).into()
}

/// As [`bzpopmax`], with the lowest score. `BZPOPMIN`, O(log n).
pub fn bzpopmin<T: FromReply>(
    keys: impl ToArg,
    within: Option<Duration>,
) -> LeaseCommand<Option<(String, T, f64)>> {
    let command = Command::with_effects("BZPOPMIN", Effects::BLOCKING);
    command.arg(keys).arg(seconds(within)).into()
}

/// Adds members, each behind its score (`(1.5, "a")`, or a list of such pairs), or gives them that score;
/// how many are new. `ZADD`, O(n·log m).
pub fn zadd(key: impl ToArg, members: impl ToArg) -> Command<u64> {
    Command::clean("ZADD").arg(key).arg(members)
}

/// The same, with options; how many are new, or have changed if that is asked for. `ZADD`, O(n·log m).
pub fn zadd_with(key: impl ToArg, members: impl ToArg, options: ZaddOptions) -> Command<u64> {
    Command::clean("ZADD").arg(key).arg(options).arg(members)
}

/// How many members there are. `ZCARD`, O(1).
pub fn zcard(key: impl ToArg) -> Command<u64> {
    Command::clean("ZCARD").arg(key)
}

/// How many members have a score within a range. `ZCOUNT`, O(log n).
///
/// ```
/// use arknet::redis::commands::sorted_sets::zcount;
///
/// let adults = zcount("ages", 18.0..);
/// # let _ = adults;
/// ```
pub fn zcount(key: impl ToArg, scores: impl RangeBounds<f64>) -> Command<u64> {
    Command::clean("ZCOUNT").arg(key).arg(score_bounds(&scores))
}

/// What is in the first set and in no other. `ZDIFF`, O(n·log n), Redis 6.2.
pub fn zdiff<T: FromReply>(keys: impl ToArg) -> Command<Vec<T>> {
    Command::clean("ZDIFF").counted(keys)
}

/// The same, written to a key; how many it has. `ZDIFFSTORE`, O(n·log n), Redis 6.2.
pub fn zdiffstore(to: impl ToArg, keys: impl ToArg) -> Command<u64> {
    Command::clean("ZDIFFSTORE").arg(to).counted(keys)
}

/// Adds to a member's score, and returns the sum. `ZINCRBY`, O(log n).
pub fn zincrby(key: impl ToArg, by: f64, member: impl ToArg) -> Command<f64> {
    Command::clean("ZINCRBY").arg(key).arg(by).arg(member)
}

/// What is in all sets. `ZINTER`, O(n·m), Redis 6.2.
pub fn zinter<T: FromReply>(keys: impl ToArg) -> Command<Vec<T>> {
    Command::clean("ZINTER").counted(keys)
}

/// What is in all sets, written to a key, with scores of which [`Aggregate`] is made; how many it has.
/// `ZINTERSTORE`, O(n·m).
pub fn zinterstore(to: impl ToArg, keys: impl ToArg, scores: Aggregate) -> Command<u64> {
    let command = Command::clean("ZINTERSTORE").arg(to).counted(keys);
    command.arg(("AGGREGATE", scores))
}

/// How many members are within a range of text, where all have the same score. `ZLEXCOUNT`, O(log n).
pub fn zlexcount<'a>(key: impl ToArg, range: impl RangeBounds<&'a str>) -> Command<u64> {
    Command::clean("ZLEXCOUNT").arg(key).arg(lex_bounds(&range))
}

/// The scores of several members, null for each that is not there. `ZMSCORE`, O(n), Redis 6.2.
pub fn zmscore(key: impl ToArg, members: impl ToArg) -> Command<Vec<Option<f64>>> {
    Command::clean("ZMSCORE").arg(key).arg(members)
}

/// Takes up to `count` members with the highest scores. `ZPOPMAX`, O(n·log m).
pub fn zpopmax<T: FromReply>(key: impl ToArg, count: u64) -> Command<Vec<(T, f64)>> {
    Command::clean("ZPOPMAX").arg(key).arg(count)
}

/// Takes up to `count` members with the lowest scores. `ZPOPMIN`, O(n·log m).
pub fn zpopmin<T: FromReply>(key: impl ToArg, count: u64) -> Command<Vec<(T, f64)>> {
    Command::clean("ZPOPMIN").arg(key).arg(count)
}

/// Members by chance: up to `count` different ones, or with a negative one so many with repeats.
/// `ZRANDMEMBER`, O(n), Redis 6.2.
pub fn zrandmember<T: FromReply>(key: impl ToArg, count: i64) -> Command<Vec<T>> {
    Command::clean("ZRANDMEMBER").arg(key).arg(count)
}

/// Members from rank `start` to `stop` inclusive, from the lowest score; negative ones count from the
/// highest. `ZRANGE`, O(log n + m).
pub fn zrange<T: FromReply>(key: impl ToArg, start: i64, stop: i64) -> Command<Vec<T>> {
    Command::clean("ZRANGE").arg(key).arg(start).arg(stop)
}

/// The same, with their scores. `ZRANGE` with `WITHSCORES`, O(log n + m).
pub fn zrange_withscores<T: FromReply>(
    key: impl ToArg,
    start: i64,
    stop: i64,
) -> Command<Vec<(T, f64)>> {
    let command = Command::clean("ZRANGE").arg(key);
    command.arg(start).arg(stop).arg("WITHSCORES")
}

/// Members within a range of text, where all have the same score. `ZRANGE` with `BYLEX`, O(log n + m),
/// Redis 6.2.
pub fn zrange_bylex<'a, T: FromReply>(
    key: impl ToArg,
    range: impl RangeBounds<&'a str>,
    options: RangeOptions,
) -> Command<Vec<T>> {
    let bounds = options.in_order(lex_bounds(&range));
    Command::clean("ZRANGE")
        .arg(key)
        .arg(bounds)
        .arg("BYLEX")
        .arg(options)
}

/// Members with a score within a range. `ZRANGE` with `BYSCORE`, O(log n + m), Redis 6.2.
///
/// ```
/// use arknet::redis::commands::sorted_sets::{RangeOptions, zrange_byscore};
///
/// let best = zrange_byscore::<String>("scores", 100.0.., RangeOptions::new().reversed().limit(0, 10));
/// # let _ = best;
/// ```
pub fn zrange_byscore<T: FromReply>(
    key: impl ToArg,
    scores: impl RangeBounds<f64>,
    options: RangeOptions,
) -> Command<Vec<T>> {
    let bounds = options.in_order(score_bounds(&scores));
    Command::clean("ZRANGE")
        .arg(key)
        .arg(bounds)
        .arg("BYSCORE")
        .arg(options)
}

/// The same, with their scores. `ZRANGE` with `BYSCORE` and `WITHSCORES`, O(log n + m), Redis 6.2.
pub fn zrange_byscore_withscores<T: FromReply>(
    key: impl ToArg,
    scores: impl RangeBounds<f64>,
    options: RangeOptions,
) -> Command<Vec<(T, f64)>> {
    zrange_byscore::<T>(key, scores, options)
        .arg("WITHSCORES")
        .returning()
}

/// The rank of a member, from the lowest score, or null. `ZRANK`, O(log n).
pub fn zrank(key: impl ToArg, member: impl ToArg) -> Command<Option<u64>> {
    Command::clean("ZRANK").arg(key).arg(member)
}

/// Removes members, and returns how many there were. `ZREM`, O(n·log m).
pub fn zrem(key: impl ToArg, members: impl ToArg) -> Command<u64> {
    Command::clean("ZREM").arg(key).arg(members)
}

/// Removes members within a range of text, and returns how many. `ZREMRANGEBYLEX`, O(log n + m).
pub fn zremrangebylex<'a>(key: impl ToArg, range: impl RangeBounds<&'a str>) -> Command<u64> {
    Command::clean("ZREMRANGEBYLEX")
        .arg(key)
        .arg(lex_bounds(&range))
}

/// Removes members from rank `start` to `stop` inclusive, and returns how many. `ZREMRANGEBYRANK`,
/// O(log n + m).
pub fn zremrangebyrank(key: impl ToArg, start: i64, stop: i64) -> Command<u64> {
    Command::clean("ZREMRANGEBYRANK")
        .arg(key)
        .arg(start)
        .arg(stop)
}

/// Removes members with a score within a range, and returns how many. `ZREMRANGEBYSCORE`, O(log n + m).
pub fn zremrangebyscore(key: impl ToArg, scores: impl RangeBounds<f64>) -> Command<u64> {
    Command::clean("ZREMRANGEBYSCORE")
        .arg(key)
        .arg(score_bounds(&scores))
}

/// The rank of a member, from the highest score, or null. `ZREVRANK`, O(log n).
pub fn zrevrank(key: impl ToArg, member: impl ToArg) -> Command<Option<u64>> {
    Command::clean("ZREVRANK").arg(key).arg(member)
}

/// All members with their scores, page by page; `T` is a pair. `ZSCAN`, O(1) a page.
pub fn zscan<T: FromReply>(key: impl ToArg, options: ScanOptions) -> ScanCommand<T> {
    ScanCommand::of_key("ZSCAN", key, options)
}

/// The score of a member, or null. `ZSCORE`, O(1).
pub fn zscore(key: impl ToArg, member: impl ToArg) -> Command<Option<f64>> {
    Command::clean("ZSCORE").arg(key).arg(member)
}

/// What is in any set. `ZUNION`, O(n·log n), Redis 6.2.
pub fn zunion<T: FromReply>(keys: impl ToArg) -> Command<Vec<T>> {
    Command::clean("ZUNION").counted(keys)
}

/// What is in any set, written to a key, with scores of which [`Aggregate`] is made; how many it has.
/// `ZUNIONSTORE`, O(n·log n).
pub fn zunionstore(to: impl ToArg, keys: impl ToArg, scores: Aggregate) -> Command<u64> {
    let command = Command::clean("ZUNIONSTORE").arg(to).counted(keys);
    command.arg(("AGGREGATE", scores))
}
