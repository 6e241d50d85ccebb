//! The behaviour of a pool, over a server that exists in memory only: each case once, for every lane model.
#![cfg(not(miri))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

#[macro_use]
mod rig;
mod server;

mod acquiring;
mod callbacks;
mod cancelling;
mod closing;
mod dropping;
mod failing;
mod manual;
mod panicking;
mod reaping;
