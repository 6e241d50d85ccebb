//! Which connection of a pool goes to whom, and what is to be done about the rest.
//!
//! [`Engine`] counts and decides; it has no connection, no clock and no task. Whoever drives it keeps a connection for
//! each [`SlotId`] and a way to wake somebody for each [`WaiterId`], tells the engine what happened, and does what
//! [`Engine::poll_action`] says. So every order of events can be tried in a test, and the counts add up in all of them
//! because a slot changes its state in one place.

mod config;
mod engine;
mod pace;
mod slots;
#[cfg(test)]
mod tests;
mod waiters;

pub use config::{Config, ConfigError};
pub use engine::{Action, Engine, Refusal, Totals, Turn};
pub use slots::{Counts, SlotId};
pub use waiters::WaiterId;
