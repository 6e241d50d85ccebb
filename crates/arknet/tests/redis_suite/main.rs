//! The behaviour of the Redis clients: each case once, for every transport, protocol, access and style, against
//! a real server.
//!
//! A case is a function of a [`Host`](harness::Host), a client in one [`Cell`](harness::Cell); [`in_every_cell`]
//! makes a test of it for each, whose name says the cell, and one that goes through all of them on Valkey where
//! that can be had. What only a lease can do is a case [`in_every_lease_cell`].
#![cfg(all(not(miri), unix))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

#[macro_use]
mod harness;

mod auth;
mod collections;
mod errors;
mod families;
mod keys;
mod large;
mod leaks;
mod lease;
mod pipelines;
mod scripts;
mod sorted_sets;
mod streams;
mod strings;
mod tls;
mod types;
