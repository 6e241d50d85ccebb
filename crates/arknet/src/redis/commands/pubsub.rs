//! Publishing, and who listens. Listening is for a subscriber, with a connection of its own.

use arknet_proto::redis::{FromReply, ToArg};

use crate::redis::Command;

/// Sends a message to all subscribers of a channel, and returns how many there were on this server. `PUBLISH`,
/// O(n).
pub fn publish(channel: impl ToArg, message: impl ToArg) -> Command<u64> {
    Command::clean("PUBLISH").arg(channel).arg(message)
}

/// The channels that somebody has subscribed to, of those that match a pattern. `PUBSUB CHANNELS`, O(n).
pub fn pubsub_channels<T: FromReply>(pattern: Option<&str>) -> Command<Vec<T>> {
    Command::clean("PUBSUB CHANNELS").arg(pattern)
}

/// How many patterns somebody has subscribed to. `PUBSUB NUMPAT`, O(1).
pub fn pubsub_numpat() -> Command<u64> {
    Command::clean("PUBSUB NUMPAT")
}

/// How many subscribers channels have, patterns apart. `PUBSUB NUMSUB`, O(n).
pub fn pubsub_numsub(channels: impl ToArg) -> Command<Vec<(String, u64)>> {
    Command::clean("PUBSUB NUMSUB").arg(channels)
}

/// As [`pubsub_channels`], for sharded ones. `PUBSUB SHARDCHANNELS`, O(n), Redis 7.
pub fn pubsub_shardchannels<T: FromReply>(pattern: Option<&str>) -> Command<Vec<T>> {
    Command::clean("PUBSUB SHARDCHANNELS").arg(pattern)
}

/// As [`pubsub_numsub`], for sharded ones. `PUBSUB SHARDNUMSUB`, O(n), Redis 7.
pub fn pubsub_shardnumsub(channels: impl ToArg) -> Command<Vec<(String, u64)>> {
    Command::clean("PUBSUB SHARDNUMSUB").arg(channels)
}

/// As [`publish`], for a sharded channel. `SPUBLISH`, O(n), Redis 7.
pub fn spublish(channel: impl ToArg, message: impl ToArg) -> Command<u64> {
    Command::clean("SPUBLISH").arg(channel).arg(message)
}
