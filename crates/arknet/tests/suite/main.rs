//! The behaviour of stream endpoints: each case once, for every transport, style and lane model.
//!
//! A case is a function of a [`Cell`](harness::Cell); [`in_every_cell`] makes a test of it for each, whose name says the
//! cell. What a cell cannot change is tested once, by an ordinary test beside the others.
#![cfg(not(miri))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

#[macro_use]
mod harness;

mod addresses;
mod admission;
mod backpressure;
mod bad_input;
mod callbacks;
mod cancellation;
mod churn;
mod completions;
mod drops;
mod echo;
mod ipv6;
mod keepalive;
mod lanes;
mod lifecycle;
mod load;
mod looking;
mod manual;
mod moved;
mod panics;
mod parts;
mod reconnect;
mod registry;
mod shutdown;
mod tcp;
mod timeouts;
mod timers;
mod tls;
