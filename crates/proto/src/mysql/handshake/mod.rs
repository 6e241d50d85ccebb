//! From the first byte of a connection to the first statement.

mod change_user;
mod client;
mod config;
mod error;
mod greeting;
mod reply;

pub use self::change_user::ChangeUser;
pub use self::client::{Established, Handshake, ServerInfo, Step};
pub use self::config::{Compression, Config, InvalidConfig, Options, Tls};
pub use self::error::HandshakeError;
pub use self::greeting::Greeting;
pub use self::reply::{Reply, ReplyKind};

/// Bytes that a packet of the handshake may have. Greetings have a hundred; a reply may carry 64 KiB of attributes.
pub const MAX_HANDSHAKE_PACKET: usize = 128 * 1024;

/// `utf8mb4_general_ci`, the collation that every server since 5.5.3 knows by its number.
pub const UTF8MB4: u8 = 45;
