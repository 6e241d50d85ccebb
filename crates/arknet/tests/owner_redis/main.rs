//! The owner's Redis, with a real server: each module is a contract that a database has to keep.
//!
//! Every test ends with a leak check of its whole process, so each needs a process of its own: run them with nextest.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]
#![allow(clippy::print_stderr, reason = "a panic says what it is")]

#[global_allocator]
static ALLOCATOR: arknet_testkit::alloc::Counting = arknet_testkit::alloc::Counting;

mod bounds;
mod cancel;
mod drain;
mod drops;
mod order;
mod steady;
mod styles;
mod support;
