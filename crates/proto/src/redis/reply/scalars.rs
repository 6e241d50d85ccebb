//! Numbers, truth and nothing.

use super::super::error::DecodeError;
use super::walk::Walk;
use super::{FromReply, Reply, strings};

impl FromReply for () {
    #[inline]
    fn from_reply(reply: Reply<'_>) -> Result<Self, DecodeError> {
        match reply {
            Reply::Error(_) => Err(reply.unexpected("anything")),
            _ => Ok(()),
        }
    }
}

impl FromReply for bool {
    fn from_reply(reply: Reply<'_>) -> Result<Self, DecodeError> {
        match reply {
            Reply::Boolean(is_true) => Ok(is_true),
            Reply::Integer(0) | Reply::Bulk(b"0") | Reply::Simple(b"0") => Ok(false),
            Reply::Integer(1) | Reply::Bulk(b"1") | Reply::Simple(b"1") => Ok(true),
            Reply::Integer(_) | Reply::Bulk(_) | Reply::Simple(_) => Err(reply.unfit("a boolean")),
            _ => Err(reply.unexpected("a boolean")),
        }
    }
}

/// The number that the text of a string or big number is.
fn parsed<T: std::str::FromStr>(
    text: &[u8],
    reply: Reply<'_>,
    expected: &'static str,
) -> Result<T, DecodeError> {
    let number = std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.parse().ok());
    number.ok_or_else(|| reply.unfit(expected))
}

macro_rules! integers {
    ($($integer:ident, $expected:literal;)*) => {$(
        impl FromReply for $integer {
            #[inline]
            fn from_reply(reply: Reply<'_>) -> Result<Self, DecodeError> {
                match reply {
                    Reply::Integer(number) => {
                        $integer::try_from(number).map_err(|_| reply.unfit($expected))
                    }
                    Reply::Bulk(text) | Reply::Simple(text) | Reply::BigNumber(text) => {
                        parsed(text, reply, $expected)
                    }
                    _ => Err(reply.unexpected($expected)),
                }
            }
        }
    )*};
}

integers! {
    i8, "an integer of 8 bits";
    i16, "an integer of 16 bits";
    i32, "an integer of 32 bits";
    i64, "an integer of 64 bits";
    i128, "an integer of 128 bits";
    isize, "an integer of the machine's size";
    u16, "an unsigned integer of 16 bits";
    u32, "an unsigned integer of 32 bits";
    u64, "an unsigned integer of 64 bits";
    u128, "an unsigned integer of 128 bits";
    usize, "an unsigned integer of the machine's size";
}

/// Apart from the other integers, since a list of them is a string of bytes.
impl FromReply for u8 {
    fn from_reply(reply: Reply<'_>) -> Result<Self, DecodeError> {
        const EXPECTED: &str = "an unsigned integer of 8 bits";
        match reply {
            Reply::Integer(number) => Self::try_from(number).map_err(|_| reply.unfit(EXPECTED)),
            Reply::Bulk(text) | Reply::Simple(text) => parsed(text, reply, EXPECTED),
            _ => Err(reply.unexpected(EXPECTED)),
        }
    }

    #[inline]
    fn vec_from_reply(reply: Reply<'_>) -> Result<Vec<Self>, DecodeError> {
        strings::bytes(reply)
    }
}

impl FromReply for f64 {
    fn from_reply(reply: Reply<'_>) -> Result<Self, DecodeError> {
        const EXPECTED: &str = "a floating-point number";
        match reply {
            Reply::Double(double) => Ok(double.value()),
            // As exact as the nearest one can be.
            Reply::Integer(number) => Ok(number as Self),
            Reply::Bulk(text) | Reply::Simple(text) | Reply::BigNumber(text) => {
                parsed(text, reply, EXPECTED)
            }
            _ => Err(reply.unexpected(EXPECTED)),
        }
    }
}

impl FromReply for f32 {
    /// The nearest one.
    fn from_reply(reply: Reply<'_>) -> Result<Self, DecodeError> {
        f64::from_reply(reply).map(|double| double as Self)
    }
}

impl<T: FromReply> FromReply for Option<T> {
    #[inline]
    fn from_reply(reply: Reply<'_>) -> Result<Self, DecodeError> {
        match reply {
            Reply::Null => Ok(None),
            some => T::from_reply(some).map(Some),
        }
    }

    fn missing() -> Option<Self> {
        Some(None)
    }

    #[inline(always)]
    fn next_of(walk: &mut Walk<'_>) -> Result<Self, DecodeError> {
        if walk.is_bulk() {
            walk.one().map(Some)
        } else {
            walk.another()
        }
    }
}
