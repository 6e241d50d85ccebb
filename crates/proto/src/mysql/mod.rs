//! The protocol of MySQL and MariaDB: MySQL 8 and 9, MariaDB 10.2 and later, and what stands between them and a client.
//!
//! A connection goes through these, in this order:
//!
//! 1. [`handshake::Handshake`] takes the first bytes, says when to begin TLS and what to encrypt, and ends with an
//!    [`Established`](handshake::Established) or with the reason why not. Plugins are in [`auth`]. From here on, both
//!    directions go through [`compression`] if that was agreed on.
//! 2. [`command`] writes requests at the end of a send buffer, any number of them without waiting;
//!    [`mod@format`] writes values into statements where preparing is not wanted.
//! 3. [`answer::Conversation`] is told of every request and of every byte that arrives, and says what the server
//!    answers: columns, rows, results, errors. After a loss it says what may have become of each request.
//! 4. [`row`] reads rows where they lie in the receive buffer, as types of the caller's ([`FromRow`](row::FromRow)), or
//!    as a [`Value`](value::Value) of any type.
//! 5. [`handshake::ChangeUser`], or [`command::reset_connection`], begins the session anew.
//!
//! [`packet`] is below all of them, [`server`] is the other side, for servers that tests embed.
//!
//! Nothing here draws random bytes, does RSA or looks at a clock: they are parameters, and steps of the caller. Every
//! length and count that a peer sends is checked against [`Limits`] before anything is stored for it.

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
