//! Hashes: fields and values under one key.

use std::time::Duration;

use arknet_proto::redis::{FromReply, ToArg};

use super::expiry::millis;
use super::scan::{ScanCommand, ScanOptions};
use crate::redis::Command;

/// Deletes fields, and returns how many there were. `HDEL`, O(n).
pub fn hdel(key: impl ToArg, fields: impl ToArg) -> Command<u64> {
    Command::clean("HDEL").arg(key).arg(fields)
}

/// Whether a field is there. `HEXISTS`, O(1).
pub fn hexists(key: impl ToArg, field: impl ToArg) -> Command<bool> {
    Command::clean("HEXISTS").arg(key).arg(field)
}

/// Has fields end after so long; for each, 1 if it will, 2 if it has, -2 if it is not there. `HPEXPIRE`, O(n),
/// Redis 7.4.
pub fn hexpire(key: impl ToArg, after: Duration, fields: impl ToArg) -> Command<Vec<i64>> {
    Command::clean("HPEXPIRE")
        .arg(key)
        .arg(millis(after))
        .arg("FIELDS")
        .counted(fields)
}

/// The value of a field, or null. `HGET`, O(1).
pub fn hget<T: FromReply>(key: impl ToArg, field: impl ToArg) -> Command<T> {
    Command::clean("HGET").arg(key).arg(field)
}

/// All fields with their values: a map, or a structure that derives [`FromReply`]. `HGETALL`, O(n).
pub fn hgetall<T: FromReply>(key: impl ToArg) -> Command<T> {
    Command::clean("HGETALL").arg(key)
}

/// Adds to the number in a field, and returns the sum. `HINCRBY`, O(1).
pub fn hincrby(key: impl ToArg, field: impl ToArg, by: i64) -> Command<i64> {
    Command::clean("HINCRBY").arg(key).arg(field).arg(by)
}

/// Adds to the floating-point number in a field, and returns the sum. `HINCRBYFLOAT`, O(1).
pub fn hincrbyfloat(key: impl ToArg, field: impl ToArg, by: f64) -> Command<f64> {
    Command::clean("HINCRBYFLOAT").arg(key).arg(field).arg(by)
}

/// The names of all fields. `HKEYS`, O(n).
pub fn hkeys<T: FromReply>(key: impl ToArg) -> Command<Vec<T>> {
    Command::clean("HKEYS").arg(key)
}

/// How many fields there are. `HLEN`, O(1).
pub fn hlen(key: impl ToArg) -> Command<u64> {
    Command::clean("HLEN").arg(key)
}

/// The values of several fields, null for each that is not there. `HMGET`, O(n).
pub fn hmget<T: FromReply>(key: impl ToArg, fields: impl ToArg) -> Command<T> {
    Command::clean("HMGET").arg(key).arg(fields)
}

/// Has fields not end after all; for each, 1 if so, -1 if it had no end, -2 if it is not there. `HPERSIST`,
/// O(n), Redis 7.4.
pub fn hpersist(key: impl ToArg, fields: impl ToArg) -> Command<Vec<i64>> {
    Command::clean("HPERSIST")
        .arg(key)
        .arg("FIELDS")
        .counted(fields)
}

/// How long fields have left, in milliseconds: -1 without an end, -2 if it is not there. `HPTTL`, O(n),
/// Redis 7.4.
pub fn hpttl(key: impl ToArg, fields: impl ToArg) -> Command<Vec<i64>> {
    Command::clean("HPTTL")
        .arg(key)
        .arg("FIELDS")
        .counted(fields)
}

/// Names of fields by chance: up to `count` different ones, or with a negative one so many with repeats.
/// `HRANDFIELD`, O(n), Redis 6.2.
pub fn hrandfield<T: FromReply>(key: impl ToArg, count: i64) -> Command<Vec<T>> {
    Command::clean("HRANDFIELD").arg(key).arg(count)
}

/// The same, with their values. `HRANDFIELD` with `WITHVALUES`, O(n), Redis 6.2.
pub fn hrandfield_withvalues<F: FromReply, V: FromReply>(
    key: impl ToArg,
    count: i64,
) -> Command<Vec<(F, V)>> {
    Command::clean("HRANDFIELD")
        .arg(key)
        .arg(count)
        .arg("WITHVALUES")
}

/// All fields with their values, page by page. `HSCAN`, O(1) a page.
pub fn hscan<T: FromReply>(key: impl ToArg, options: ScanOptions) -> ScanCommand<T> {
    ScanCommand::of_key("HSCAN", key, options)
}

/// Sets fields to values (pairs, or a map), and returns how many are new. `HSET`, O(n).
pub fn hset(key: impl ToArg, pairs: impl ToArg) -> Command<u64> {
    Command::clean("HSET").arg(key).arg(pairs)
}

/// Sets a field to a value, unless it is there already; whether it did. `HSETNX`, O(1).
pub fn hsetnx(key: impl ToArg, field: impl ToArg, value: impl ToArg) -> Command<bool> {
    Command::clean("HSETNX").arg(key).arg(field).arg(value)
}

/// The length of a field's value in bytes, zero if it is not there. `HSTRLEN`, O(1).
pub fn hstrlen(key: impl ToArg, field: impl ToArg) -> Command<u64> {
    Command::clean("HSTRLEN").arg(key).arg(field)
}

/// All values. `HVALS`, O(n).
pub fn hvals<T: FromReply>(key: impl ToArg) -> Command<Vec<T>> {
    Command::clean("HVALS").arg(key)
}
