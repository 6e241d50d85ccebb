//! What can be wrong with a framed stream, and with a framing.

use std::borrow::Cow;
use std::fmt;

/// A rule of the framing that was broken, with the limit where there is one.
///
/// Decoding errors are final: the position in the stream is lost, and the connection can only be
/// closed. They are the peer's fault, except [`InvalidFrame`](Self::InvalidFrame), which is a fault
/// of the custom [`Framer`](super::Framer). Errors from [`Framing::prefix`](super::Framing::prefix)
/// are the caller's: the payload was not sent, and the connection is as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FramingError {
    /// The peer announced a message larger than the connection accepts.
    #[error("message of {} bytes, prefix included, exceeds the limit of {} bytes", Grouped(*.size), grouped(*.limit))]
    MessageTooLarge {
        /// Bytes of the message with its prefix. The largest `u64` also stands for more.
        size: u64,
        /// The largest accepted message in bytes, prefix included.
        limit: usize,
    },
    /// A payload that this framing does not allow, received or to be sent.
    #[error("payload of {} bytes exceeds the {} bytes that the framing allows", Grouped(*.len), Grouped(*.max))]
    PayloadTooLarge {
        /// Bytes of the payload.
        len: u64,
        /// The largest payload of the framing in bytes.
        max: u64,
    },
    /// The peer wrote a length in a longer form than it needs.
    #[error("length prefix {marker} used for {} bytes, which fit {}", Grouped(*.len), shortest_form(*.len))]
    NonCanonicalPrefix {
        /// The prefix's first byte, 254 or 255.
        marker: u8,
        /// The length that followed it.
        len: u64,
    },
    /// The limit was reached before the delimiter.
    #[error("no delimiter within the limit of {} bytes", grouped(*.limit))]
    DelimiterMissing {
        /// The largest accepted message in bytes, delimiter included.
        limit: usize,
    },
    /// The limit was reached by a message of a custom framing that is not complete.
    #[error("unfinished message reached the limit of {} bytes", grouped(*.limit))]
    Unfinished {
        /// The largest accepted message in bytes.
        limit: usize,
    },
    /// The peer ended its stream inside a message.
    #[error("stream ended inside a message, after {} of at least {} bytes", grouped(*.received), grouped(*.needed))]
    UnexpectedEnd {
        /// Bytes of the message that had come, prefix included.
        received: usize,
        /// The fewest bytes with which the message could have been complete.
        needed: usize,
    },
    /// A custom framing returned a message that is not there: out of order, outside the received
    /// bytes, or consuming none.
    #[error(
        "custom framing returned payload {start}..{end} and consumed {consumed} of {available} bytes"
    )]
    InvalidFrame {
        /// Where it said that the payload begins.
        start: usize,
        /// Where it said that the payload ends.
        end: usize,
        /// How many bytes it said to drop.
        consumed: usize,
        /// How many bytes it had been shown.
        available: usize,
    },
    /// A custom framing wrote a prefix longer than [`Prefix::CAPACITY`](super::Prefix::CAPACITY).
    #[error("prefix of {len} bytes exceeds the {max} bytes that a prefix may have")]
    PrefixTooLong {
        /// Bytes of the prefix.
        len: usize,
        /// The most that a prefix may have.
        max: usize,
    },
    /// A rule of a custom framing.
    #[error("{reason}")]
    Custom {
        /// The rule and its limit, in the custom framing's own words.
        reason: Cow<'static, str>,
    },
}

impl FramingError {
    /// A broken rule of a custom framing, in its own words.
    pub fn custom(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Custom {
            reason: reason.into(),
        }
    }
}

/// Why a framing cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidFraming {
    /// Every message would end before it began.
    #[error("a delimiter needs at least one byte")]
    EmptyDelimiter,
    /// There is no end to the messages of no bytes in any stream.
    #[error("messages of an exact length need at least one byte")]
    ZeroLength,
    /// A length cannot be written in so few or so many bytes.
    #[error("a length prefix of {width} bytes is not possible, it has 1 to 8")]
    Width {
        /// The width asked for, in bytes.
        width: u8,
    },
    /// No message could be received, or not every prefix be read.
    #[error("a message limit of {} bytes is too small, this framing needs at least {}", grouped(*.limit), grouped(*.least))]
    LimitTooSmall {
        /// The limit asked for, in bytes.
        limit: usize,
        /// The smallest limit with which the framing works, in bytes.
        least: usize,
    },
}

/// Digits in groups of three, because limits of eight digits are read wrong without.
struct Grouped(u64);

impl fmt::Display for Grouped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (index, digit) in digits.chars().enumerate() {
            let remaining = digits.len() - index;
            if index > 0 && remaining.is_multiple_of(3) {
                f.write_str(",")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

fn grouped(bytes: usize) -> Grouped {
    Grouped(u64::try_from(bytes).unwrap_or(u64::MAX))
}

fn shortest_form(len: u64) -> &'static str {
    if len <= u64::from(super::length_prefix::LARGEST_SHORT) {
        "one byte"
    } else {
        "two bytes"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_rule_and_the_limit() {
        let told = [
            (
                FramingError::MessageTooLarge {
                    size: 20_000_009,
                    limit: 16 << 20,
                },
                "message of 20,000,009 bytes, prefix included, exceeds the limit of 16,777,216 bytes",
            ),
            (
                FramingError::PayloadTooLarge {
                    len: 65_536,
                    max: 65_535,
                },
                "payload of 65,536 bytes exceeds the 65,535 bytes that the framing allows",
            ),
            (
                FramingError::NonCanonicalPrefix {
                    marker: 254,
                    len: 17,
                },
                "length prefix 254 used for 17 bytes, which fit one byte",
            ),
            (
                FramingError::NonCanonicalPrefix {
                    marker: 255,
                    len: 65_535,
                },
                "length prefix 255 used for 65,535 bytes, which fit two bytes",
            ),
            (
                FramingError::DelimiterMissing { limit: 1_024 },
                "no delimiter within the limit of 1,024 bytes",
            ),
            (
                FramingError::Unfinished { limit: 64 },
                "unfinished message reached the limit of 64 bytes",
            ),
            (
                FramingError::UnexpectedEnd {
                    received: 2,
                    needed: 1_003,
                },
                "stream ended inside a message, after 2 of at least 1,003 bytes",
            ),
            (
                FramingError::InvalidFrame {
                    start: 3,
                    end: 9,
                    consumed: 9,
                    available: 5,
                },
                "custom framing returned payload 3..9 and consumed 9 of 5 bytes",
            ),
            (
                FramingError::PrefixTooLong { len: 16, max: 15 },
                "prefix of 16 bytes exceeds the 15 bytes that a prefix may have",
            ),
            (
                FramingError::custom("tag 7 is not 0 to 3"),
                "tag 7 is not 0 to 3",
            ),
        ];
        for (error, text) in told {
            assert_eq!(error.to_string(), text);
        }
    }

    #[test]
    fn refusals_of_a_framing_name_what_would_work() {
        let told = [
            (
                InvalidFraming::EmptyDelimiter,
                "a delimiter needs at least one byte",
            ),
            (
                InvalidFraming::ZeroLength,
                "messages of an exact length need at least one byte",
            ),
            (
                InvalidFraming::Width { width: 9 },
                "a length prefix of 9 bytes is not possible, it has 1 to 8",
            ),
            (
                InvalidFraming::LimitTooSmall {
                    limit: 4,
                    least: 1_000,
                },
                "a message limit of 4 bytes is too small, this framing needs at least 1,000",
            ),
        ];
        for (error, text) in told {
            assert_eq!(error.to_string(), text);
        }
    }

    #[test]
    fn digits_are_grouped_from_the_right() {
        let told = [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (u64::MAX, "18,446,744,073,709,551,615"),
        ];
        for (number, text) in told {
            assert_eq!(Grouped(number).to_string(), text);
        }
    }
}
