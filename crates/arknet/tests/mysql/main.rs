//! The MySQL client against real servers, and against one that does what a real one will not.
#![cfg(not(miri))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod abandoned;
mod callbacks;
mod cancellation;
mod hostile;
mod killing;
mod loading;
mod login;
mod outcomes;
mod sessions;
mod statements;
mod streams;
mod support;
mod transactions;
