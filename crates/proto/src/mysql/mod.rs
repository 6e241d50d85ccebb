//! The protocol of MySQL and MariaDB.
//!
//! Written to the servers' behaviour: MySQL 8 and 9, MariaDB 10.2 and later, and what stands between.

pub mod auth;
mod capabilities;
mod error;
pub mod handshake;
mod limits;
mod ok;
pub mod packet;
pub mod session_state;
mod wire;

pub use self::capabilities::{Capabilities, Status};
pub use self::error::{ProtocolError, ServerError};
pub use self::limits::Limits;
pub use self::ok::OkPacket;
