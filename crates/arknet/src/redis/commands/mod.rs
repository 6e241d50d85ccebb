//! Commands by family: plain functions, each of which returns a typed [`Command`](super::Command).
//!
//! They are called as in Redis, and take their arguments in the same order. What is optional stands in a
//! value of its own (`set_with(key, value, SetOptions::new().only_if_absent())`); what takes several
//! arguments takes anything that is several ([`ToArg`](super::ToArg)): an array, a `Vec`, a map, pairs.
//! Values are decoded to whatever the caller asks for ([`FromReply`](super::FromReply)); another type than
//! the one that a function gives is had by [`Command::returning`](super::Command::returning). What is
//! missing here, [`cmd`](super::cmd) runs.
//!
//! Commands that wait, and those that change what a connection means, are
//! [`LeaseCommand`](super::LeaseCommand)s: a shared client does not take them.

pub mod geo;
pub mod hashes;
pub mod hyperloglogs;
pub mod keys;
pub mod lists;
pub mod pubsub;
pub mod scripts;
pub mod server;
pub mod sets;
pub mod sorted_sets;
pub mod streams;
pub mod strings;
pub mod transactions;

pub use self::expiry::Expiry;
pub use self::scan::{ScanCommand, ScanCursor, ScanOptions, ScanPage};

mod expiry;
mod scan;
#[cfg(test)]
mod tests;
