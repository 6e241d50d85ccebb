//! Where one message ends and the next begins in a stream of bytes.
//!
//! Framing is a value: a connection is given a [`Framing`], and both its directions follow from it.
//! Receiving is a [`Decoder`], which looks at the bytes that have come so far and says where the
//! next message lies in them; it copies nothing and allocates nothing. Sending is
//! [`Framing::prefix`], the few bytes that go before a payload.
//!
//! Both run once for every message, so what is common ([`Framing::Raw`] and the short forms of
//! [`Framing::LengthPrefix`]) is inlined to a handful of instructions, and everything else is out of
//! the way.
//!
//! Every kind obeys the same limit: a message may not exceed it, prefix and delimiter included, and
//! a message that can no longer end within it is refused as soon as that is known, not when its
//! bytes have been stored.
//!
//! ```
//! use arknet_proto::framing::{Decoder, Framing};
//!
//! let mut decoder = Decoder::new(Framing::delimited("\r\n")?, 16 * 1024)?;
//! let received = b"PING\r\nPO";
//!
//! let frame = decoder.decode(received)?.expect("one line is there");
//! assert_eq!(frame.payload(received), b"PING\r\n");
//! assert!(decoder.decode(&received[frame.consumed..])?.is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::num::NonZeroUsize;
use std::sync::Arc;

pub use self::big_endian::PrefixWidth;
pub use self::custom::Framer;
pub use self::decoder::{Decoder, Frame, Step};
pub use self::delimited::Delimiter;
pub use self::error::{FramingError, InvalidFraming};
pub use self::prefix::{Prefix, ShortPrefix};

mod big_endian;
mod custom;
mod decoder;
mod delimited;
mod error;
mod exact;
mod length_prefix;
mod prefix;
#[cfg(test)]
mod properties;
mod raw;

/// How a connection tells one message from the next.
///
/// Both peers must use the same one. Cloning is cheap: nothing in it is copied.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Framing {
    /// No messages: whatever has arrived is delivered, at least one byte and at most the limit.
    /// What is sent leaves as it is. The default.
    #[default]
    Raw,
    /// A message ends with these bytes and is delivered as received, with them. The sender's bytes
    /// leave as they are: no delimiter is appended.
    Delimited(Delimiter),
    /// Every message has this many bytes. What is sent leaves as it is, and is not checked.
    Exact(NonZeroUsize),
    /// A length of one byte, three or nine, then the payload; the shortest form that holds the
    /// length is the only one allowed. Empty messages are messages.
    ///
    /// | payload, bytes | prefix |
    /// |---|---|
    /// | 0 to 253 | the length as one byte |
    /// | 254 to 65,535 | 254, then the length as `u16`, little-endian |
    /// | 65,536 and more | 255, then the length as `u64`, little-endian |
    LengthPrefix,
    /// The payload's length as an unsigned big-endian number, then the payload. Empty messages are
    /// messages.
    BigEndian {
        /// Bytes of the length, usually two or four.
        width: PrefixWidth,
        /// The largest payload in bytes, in both directions, whatever the width could express. The
        /// connection's limit applies as well.
        max: usize,
    },
    /// A framing of one's own.
    Custom(Arc<dyn Framer>),
}

impl Framing {
    /// Messages that end with `delimiter`, which they include.
    ///
    /// # Errors
    ///
    /// [`InvalidFraming::EmptyDelimiter`].
    pub fn delimited(delimiter: impl AsRef<[u8]>) -> Result<Self, InvalidFraming> {
        Delimiter::new(delimiter).map(Self::Delimited)
    }

    /// Messages of `len` bytes each.
    ///
    /// # Errors
    ///
    /// [`InvalidFraming::ZeroLength`].
    pub fn exact(len: usize) -> Result<Self, InvalidFraming> {
        NonZeroUsize::new(len)
            .map(Self::Exact)
            .ok_or(InvalidFraming::ZeroLength)
    }

    /// Payloads of up to `max` bytes behind a big-endian length of `width` bytes.
    ///
    /// # Errors
    ///
    /// [`InvalidFraming::Width`] unless `width` is 1 to 8.
    pub fn big_endian(width: u8, max: usize) -> Result<Self, InvalidFraming> {
        PrefixWidth::new(width).map(|width| Self::BigEndian { width, max })
    }

    /// A framing of one's own.
    pub fn custom(framer: impl Framer + 'static) -> Self {
        Self::Custom(Arc::new(framer))
    }

    /// The bytes that go on the wire before a payload of `payload_len` bytes; none for the kinds
    /// that send what they are given.
    ///
    /// # Errors
    ///
    /// [`FramingError::PayloadTooLarge`] if this framing cannot carry so much, and whatever a
    /// custom framing refuses.
    #[inline(always)]
    pub fn prefix(&self, payload_len: usize) -> Result<Prefix, FramingError> {
        match self {
            Self::Raw | Self::Delimited(_) | Self::Exact(_) => Ok(Prefix::EMPTY),
            Self::LengthPrefix => Ok(length_prefix::prefix(payload_len)),
            Self::BigEndian { width, max } => big_endian::prefix(*width, *max, payload_len),
            Self::Custom(framer) => custom::prefix(framer.as_ref(), payload_len),
        }
    }

    /// The same, where it is known to be short without asking further; an endpoint asks here first.
    #[inline(always)]
    #[must_use]
    pub fn short_prefix(&self, payload_len: usize) -> Option<ShortPrefix> {
        match self {
            Self::LengthPrefix => length_prefix::short_prefix(payload_len),
            Self::Raw | Self::Delimited(_) | Self::Exact(_) => Some(ShortPrefix::EMPTY),
            Self::BigEndian { .. } | Self::Custom(_) => None,
        }
    }

    /// The smallest limit, in bytes, with which this framing can deliver anything and can read
    /// every prefix that it allows.
    #[must_use]
    pub fn least_limit(&self) -> usize {
        match self {
            Self::Raw | Self::Custom(_) => 1,
            Self::Delimited(delimiter) => delimiter.as_bytes().len(),
            Self::Exact(len) => len.get(),
            Self::LengthPrefix => length_prefix::LONGEST_PREFIX,
            Self::BigEndian { width, .. } => width.get(),
        }
    }
}

/// The example of the crate's README is of framing, and is run with the others here.
#[doc = include_str!("../../README.md")]
#[cfg(doctest)]
struct Readme;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_sense_cannot_be_written_down() {
        assert_eq!(
            Framing::delimited("").unwrap_err(),
            InvalidFraming::EmptyDelimiter
        );
        assert_eq!(Framing::exact(0).unwrap_err(), InvalidFraming::ZeroLength);
        assert_eq!(
            Framing::big_endian(0, 1).unwrap_err(),
            InvalidFraming::Width { width: 0 }
        );
        assert_eq!(
            Framing::big_endian(9, 1).unwrap_err(),
            InvalidFraming::Width { width: 9 }
        );
    }

    #[test]
    fn kinds_without_a_prefix_send_what_they_are_given() {
        for framing in [
            Framing::Raw,
            Framing::delimited("\n").unwrap(),
            Framing::exact(6).unwrap(),
        ] {
            assert!(framing.prefix(8_190).unwrap().is_empty(), "{framing:?}");
        }
    }

    #[test]
    fn the_default_is_raw() {
        assert!(matches!(Framing::default(), Framing::Raw));
    }
}
