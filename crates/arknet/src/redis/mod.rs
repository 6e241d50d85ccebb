#![doc = include_str!("../docs/redis.md")]

pub use arknet_proto::redis::{
    DecodeError, Double, Effects, Elements, FromReply, Pairs, ProtocolError, Reply, ReplyKind,
    ReplyLimits, ServerError, ToArg, Value,
};

pub use self::backlog::Overflow;
#[doc(hidden)]
pub use arknet_proto::redis::Fields;

/// ```
/// use arknet::redis::commands::strings::{get, incr};
/// use arknet::redis::{Error, FromReplies, pipeline};
///
/// #[derive(FromReplies)]
/// struct Visit {
///     name: Result<Option<String>, Error>,
///     visits: Result<i64, Error>,
/// }
///
/// let visit = pipeline().add(get("name")).add(incr("visits")).named::<Visit>();
/// # let _ = visit;
/// ```
pub use arknet_derive::FromReplies;
/// ```
/// use arknet::redis::FromReply;
///
/// #[derive(FromReply)]
/// struct User {
///     name: String,
///     #[redis(rename = "logins")]
///     count: u64,
///     email: Option<String>,
/// }
/// ```
pub use arknet_derive::FromReply;

pub use self::batch::{Answers, Batch, Shareable};
pub use self::client::{Client, Push, PushEvent, Pushes, Report, Run, Scan, Stats};
pub use self::command::{Command, LeaseCommand, cmd};
pub use self::config::{Config, TlsMode};
pub use self::error::{Doing, Error, ErrorKind};
pub use self::lease::Lease;
pub use self::node::ResetPolicy;
#[cfg(feature = "owner")]
pub(crate) use self::parcel::Parcel;
pub use self::pipeline::{Atomic, Named, Pipeline, Replies, pipeline};
pub use self::pool::{Pool, PoolStats};
pub use self::subscriber::{
    GapReason, Subscriber, SubscriberConfig, SubscriberEvent, SubscriberHandle,
};
pub use self::transaction::{Commit, Transaction};
pub use crate::link::{Address, InvalidAddress, ToAddress};
pub use arknet_proto::reconnect::{Backoff, ReconnectPolicy};
pub use arknet_proto::redis::exchange::{Protocol, SubscriptionKind};

mod backlog;
mod batch;
mod client;
mod command;
pub mod commands;
mod config;
mod connection;
mod error;
mod lease;
mod meters;
mod node;
#[cfg(feature = "owner")]
mod parcel;
mod pipeline;
mod pool;
mod storage;
mod subscriber;
mod transaction;
