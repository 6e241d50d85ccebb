//! Counting what is different, roughly, in 12 KiB.

use arknet_proto::redis::ToArg;

use crate::redis::Command;

/// Adds elements; whether the count has changed. `PFADD`, O(n).
pub fn pfadd(key: impl ToArg, elements: impl ToArg) -> Command<bool> {
    Command::clean("PFADD").arg(key).arg(elements)
}

/// About how many different elements were added, to any of the keys. `PFCOUNT`, O(n).
pub fn pfcount(keys: impl ToArg) -> Command<u64> {
    Command::clean("PFCOUNT").arg(keys)
}

/// Adds what was added to other keys. `PFMERGE`, O(n).
pub fn pfmerge(to: impl ToArg, keys: impl ToArg) -> Command<()> {
    Command::clean("PFMERGE").arg(to).arg(keys)
}
