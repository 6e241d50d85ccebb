//! The protocol of MySQL and MariaDB.
//!
//! Written to the servers' behaviour: MySQL 8 and 9, MariaDB 10.2 and later, and what stands between.

pub mod answer;
pub mod auth;
mod capabilities;
mod columns;
pub mod command;
pub mod compression;
mod error;
pub mod format;
pub mod handshake;
mod kind;
mod limits;
mod ok;
pub mod packet;
pub mod row;
pub mod server;
pub mod session_state;
pub mod value;
mod wire;

pub use self::capabilities::{Capabilities, Status};
pub use self::columns::{BINARY, Column, ColumnFlags, ColumnSpec, Columns};
pub use self::error::{ProtocolError, ServerError};
pub use self::kind::{ColumnType, Kind};
pub use self::limits::Limits;
pub use self::ok::OkPacket;

#[cfg(test)]
mod tests;
