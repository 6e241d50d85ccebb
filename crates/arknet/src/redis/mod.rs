//! Redis: typed commands, and what runs them.

pub use arknet_proto::redis::{
    DecodeError, Double, Effects, Elements, FromReply, Pairs, ProtocolError, Reply, ReplyKind,
    ReplyLimits, ServerError, ToArg, Value,
};

pub use self::batch::{Answers, Batch, Shareable};
pub use self::command::{Command, LeaseCommand, cmd};
pub use self::error::Error;

mod batch;
mod command;
pub mod commands;
mod error;
mod storage;
