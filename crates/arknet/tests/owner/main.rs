//! The contracts of the owner runtime, one module each: C1 to C19.
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

mod c01_budget;
mod c02_snapshot;
mod c03_fairness;
mod c04_order;
mod c05_cancel;
mod c06_drain;
mod c07_backpressure;
mod c08_wake;
mod c09_time;
mod c10_replay;
mod c11_structure;
mod c12_panics;
mod c13_state;
mod c14_styles;
mod c15_blocking;
mod c16_guards;
mod c17_drop;
mod c19_sight;
mod cadence;
mod cost;
mod explorer;
#[cfg(feature = "tcp")]
mod net;
mod support;
