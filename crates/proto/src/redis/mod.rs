//! The Redis protocol, RESP2 and RESP3, without IO.
//!
//! A [`Scanner`] finds where a reply ends as its bytes arrive, once over every byte, and refuses what
//! is broken or too large before anything is stored for it. A [`Reply`] is a view of the scanned bytes,
//! from which [`FromReply`] makes the caller's own types directly; the tree that other clients build
//! first is [`Value`] here, for those who ask for it. A [`Command`] is encoded while it is built, and
//! [`Effects`] says what it leaves behind on its connection.
//!
//! ```
//! use arknet_proto::redis::{FromReply, ReplyLimits, Scanner};
//!
//! let mut scanner = Scanner::new(ReplyLimits::default());
//! let received = b"*2\r\n$5\r\nhello\r\n:42\r\n+OK\r\n";
//!
//! let frame = scanner.scan(received)?.expect("the first reply is there");
//! let (word, number) = <(String, u32)>::from_reply(frame.reply(received)?)?;
//! assert_eq!((word.as_str(), number), ("hello", 42));
//! assert_eq!(&received[frame.len..], b"+OK\r\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use self::command::{Command, ToArg};
pub use self::effects::Effects;
pub use self::error::{DecodeError, ProtocolError, ServerError};
pub use self::limits::ReplyLimits;
pub use self::reply::{Double, Elements, FromReply, Pairs, Reply, ReplyKind};
#[doc(hidden)]
pub use self::reply::{Fields, Walk};
pub use self::scan::{Frame, FrameKind, Scanner};
pub use self::value::Value;

mod command;
mod effects;
mod error;
pub mod exchange;
mod header;
mod limits;
mod reply;
mod scan;
pub mod server;
#[cfg(test)]
mod tests;
mod value;
