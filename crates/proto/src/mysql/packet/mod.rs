//! Packets, and the frames that carry them.
//!
//! A frame is a length of three bytes, a number of one, and so many bytes. A packet that does not fit one frame is cut
//! into full ones (0xFFFFFF bytes) and a last one that is shorter, and empty if need be. The number counts the frames of
//! one exchange, both directions together, and wraps at 256: a client's request begins with 0, and the answer goes on
//! from there.

mod reader;
mod writer;

pub use self::reader::PacketReader;
pub use self::writer::{PacketWriter, TooLarge};

/// Bytes of a frame's header.
pub const HEADER: usize = 4;

/// Bytes of a frame that says that the packet goes on in the next one.
pub const FULL_FRAME: usize = 0xff_ffff;
