//! The embedded server: what it does right is what Redis does, and what it does wrong is what was asked.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod differential;
mod faults;
mod life;
mod talk;
