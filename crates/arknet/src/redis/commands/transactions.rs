//! Transactions in single steps, on a lease.
//!
//! [`Lease::transaction`](crate::redis::Lease::transaction) does all of them, and
//! [`Pipeline::atomic`](crate::redis::Pipeline::atomic) those without watched keys, in one flight.

use arknet_proto::redis::{Effects, FromReply, ToArg};

use crate::redis::{Command, LeaseCommand};

const ENDS: Effects = Effects::CLOSES_TRANSACTION.union(Effects::EXCLUSIVE);

/// Ends a transaction without having done anything. `DISCARD`, O(n).
pub fn discard() -> LeaseCommand<()> {
    Command::with_effects("DISCARD", ENDS).into()
}

/// Carries out what was queued, and returns all replies; null if a watched key has changed. `EXEC`, O(n).
pub fn exec<T: FromReply>() -> LeaseCommand<T> {
    Command::with_effects("EXEC", ENDS).into()
}

/// From now on, commands are queued. `MULTI`, O(1).
pub fn multi() -> LeaseCommand<()> {
    let effects = Effects::OPENS_TRANSACTION.union(Effects::EXCLUSIVE);
    Command::with_effects("MULTI", effects).into()
}

/// Forgets all watched keys. `UNWATCH`, O(1).
pub fn unwatch() -> LeaseCommand<()> {
    let effects = Effects::UNWATCHES.union(Effects::EXCLUSIVE);
    Command::with_effects("UNWATCH", effects).into()
}

/// Has the next transaction do nothing if one of these keys is changed before it. `WATCH`, O(n).
pub fn watch(keys: impl ToArg) -> LeaseCommand<()> {
    let effects = Effects::WATCHES.union(Effects::EXCLUSIVE);
    Command::with_effects("WATCH", effects).arg(keys).into()
}
