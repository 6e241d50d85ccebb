//! Redis: typed commands, a client that many share, a pool of leases, pipelines.

pub use arknet_proto::redis::{
    DecodeError, FromReply, ProtocolError, Reply, ReplyLimits, ServerError, ToArg, Value,
};
pub use batch::{Answers, Batch, Shareable};
pub use command::{Command, LeaseCommand, cmd};
pub use error::Error;

mod batch;
mod command;
pub mod commands;
mod error;
