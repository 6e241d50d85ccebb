//! Strings.

use arknet_proto::redis::{FromReply, ToArg};

use crate::redis::Command;

/// The value of a key, or null. `GET`, O(1).
pub fn get<T: FromReply>(key: impl ToArg) -> Command<T> {
    Command::clean("GET").arg(key)
}

/// Adds one to a number, and returns the sum. `INCR`, O(1).
pub fn incr(key: impl ToArg) -> Command<i64> {
    Command::clean("INCR").arg(key)
}
