//! The sources of arknet that are looked at; what these tests do not use of them is no news.

#[allow(dead_code, reason = "the tests use a part of it")]
#[path = "../../../arknet/src/owner/hook.rs"]
mod hook;
#[allow(dead_code, reason = "the tests use a part of it")]
#[path = "../../../arknet/src/owner/mailbox.rs"]
mod mailbox;
#[allow(dead_code, reason = "the tests use a part of it")]
#[path = "../../../arknet/src/owner/signal.rs"]
mod signal;

#[cfg(test)]
#[allow(clippy::expect_used, reason = "a test fails by panicking")]
mod orders;
