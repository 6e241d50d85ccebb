//! Decoders alone: each library's way from the bytes of a read to its frame, and to typed values.

mod case;
pub(crate) mod ours;
mod pass;
pub(crate) mod redis_protocol;
pub(crate) mod redis_rs;
pub(crate) mod rustis;

pub(crate) use self::case::Case;
