//! The owner runtime: a world that belongs to one thread, and everything that happens for it elsewhere.
//!
//! The thread that owns the world calls [`Owner::update`] when it likes, and everything that the network, databases, timers
//! and other threads have for it is delivered in that call: to a callback, which gets the world, or to a task, which resumes
//! there and asks for the world when it needs it. Nothing of the application runs on another thread unless it asks for that.
//!
//! ```
//! use std::time::Duration;
//! use arknet::owner::{Budget, Io, Owner};
//!
//! #[derive(Default)]
//! struct World {
//!     players: Vec<String>,
//! }
//!
//! let mut owner = Owner::<World>::builder().io(Io::threads(1)).build()?;
//! let mut world = World::default();
//!
//! // What belongs to a player ends with the player.
//! let player = owner.group("player 42")?;
//! player.spawn(async |cx| {
//!     let name = cx.blocking(|| "loaded from a file".to_owned()).await;
//!     cx.with(|world| world.players.extend(name));
//! })?;
//!
//! while world.players.is_empty() {
//!     let report = owner.update(&mut world, Budget::operations(512).time(Duration::from_micros(300)))?;
//!     assert!(report.panics.is_empty());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | the program | waits by |
//! |---|---|
//! | has no loop of its own | [`Owner::run`] |
//! | polls without pause, or at a fixed rate | [`Owner::update`], whenever it likes |
//! | has an event loop with a proxy | [`Owner::on_ready`], then [`Owner::arm`] before each sleep |
//! | has an epoll loop | [`Owner::descriptor`], then [`Owner::arm`] before each sleep |
//! | is a tokio program | [`Owner::ready`] |

mod agent;
mod answer;
mod blocking;
mod budget;
mod builder;
mod cadence;
mod call;
mod core;
#[cfg_attr(
    not(feature = "tcp"),
    allow(dead_code, reason = "only endpoints have something to hold back")
)]
mod corks;
mod cx;
mod database;
mod deferred;
mod desk;
mod dispatch;
mod drain;
mod error;
mod group;
mod groups;
mod here;
mod hook;
mod inlet;
mod join;
mod journal;
mod label;
mod limits;
mod loan;
mod mailbox;
mod missed;
#[cfg(feature = "tcp")]
pub mod net;
mod network;
mod park;
mod posts;
#[cfg(feature = "redis")]
mod redis;
mod replay;
mod service;
mod signal;
mod source;
mod stats;
mod tasks;
mod timers;
mod turn;
mod update;

pub use answer::Answer;
pub use budget::{Budget, EndedBy, Reentry, UpdateReport};
pub use builder::{Builder, Io, ServiceOptions};
pub use cadence::{Cadence, Next, RunReport, Tick};
pub use call::Call;
pub use cx::Cx;
pub use database::{Client, Database, Request};
pub use dispatch::Ordered;
pub use drain::{Abandoned, Deadline, DrainReport, Drained, PoolClosed, SessionsReport};
pub use error::{Ended, FromLost, Lost, OwnerError, PanicPolicy, Panicked, RejectReason, Rejected};
pub use group::{Group, GroupJoin};
pub use groups::GroupReport;
pub use inlet::{Inlet, InletLimits, Overflow};
pub use join::{Task, collect, race, try_join};
pub use journal::{Codec, Journal, JournalError};
pub use label::Label;
pub use limits::Limits;
pub use missed::Missed;
pub use posts::Poster;
pub use service::{OnCancel, Service};
pub use stats::{Distribution, Stats};
pub use timers::{Sleep, Timer};
pub use update::{Owner, Ready};
