//! The server's side, for servers that are embedded in tests: handshake, commands, results.
//!
//! It knows two plugins, `mysql_native_password` and `caching_sha2_password`, and whatever a client of this library
//! can be asked. It executes nothing.

mod command;
mod handshake;
mod login;
mod params;
mod responder;

pub use self::command::Command;
pub use self::handshake::{Accepted, Account, Config, Handshake, RefusedClient, Step};
pub use self::params::ParamTypes;
pub use self::responder::Responder;
