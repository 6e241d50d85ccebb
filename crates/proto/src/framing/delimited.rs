//! Messages that end with a delimiter.

use std::fmt;
use std::sync::Arc;

use memchr::memmem;

use super::decoder::{Frame, Step};
use super::{FramingError, InvalidFraming};

/// The bytes that end a message, at least one.
///
/// Cloning shares them together with the search that was prepared for them once.
#[derive(Clone)]
pub struct Delimiter(Arc<memmem::Finder<'static>>);

impl Delimiter {
    /// A delimiter of these bytes.
    ///
    /// # Errors
    ///
    /// [`InvalidFraming::EmptyDelimiter`].
    pub fn new(bytes: impl AsRef<[u8]>) -> Result<Self, InvalidFraming> {
        let bytes = bytes.as_ref();
        if bytes.is_empty() {
            return Err(InvalidFraming::EmptyDelimiter);
        }
        Ok(Self(Arc::new(memmem::Finder::new(bytes).into_owned())))
    }

    /// Its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.0.needle()
    }

    /// Where it begins in `bytes`.
    fn find(&self, bytes: &[u8]) -> Option<usize> {
        match *self.as_bytes() {
            [byte] => memchr::memchr(byte, bytes),
            _ => self.0.find(bytes),
        }
    }
}

impl fmt::Debug for Delimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Delimiter(\"{}\")", self.as_bytes().escape_ascii())
    }
}

impl PartialEq for Delimiter {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Delimiter {}

/// The bytes up to the first delimiter, with it. Nothing is looked at beyond `limit`, so that the
/// answer does not depend on how much happens to have been read.
pub(super) fn decode(
    delimiter: &Delimiter,
    buffered: &[u8],
    scanned: usize,
    limit: usize,
) -> Result<Step, FramingError> {
    let within = buffered.get(..limit).unwrap_or(buffered);
    let fresh = within.get(scanned..).unwrap_or(&[]);
    let width = delimiter.as_bytes().len();
    if let Some(found) = delimiter.find(fresh) {
        let end = scanned + found + width;
        return Ok(Step::Frame(Frame {
            start: 0,
            end,
            consumed: end,
        }));
    }
    if within.len() == limit {
        return Err(FramingError::DelimiterMissing { limit });
    }
    // The delimiter may have begun: its first bytes are looked at again.
    let scanned = (within.len() + 1).saturating_sub(width).max(scanned);
    Ok(Step::Incomplete {
        scanned,
        needed: (within.len() + 1).max(width),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framing::{Decoder, Framing};

    fn decoder(delimiter: &str, limit: usize) -> Decoder {
        Decoder::new(Framing::delimited(delimiter).unwrap(), limit).unwrap()
    }

    #[test]
    fn a_message_is_delivered_with_its_delimiter() {
        let mut decoder = decoder("\r\n", 64);
        let received = b"first\r\n\r\nthird";
        let first = decoder.decode(received).unwrap().unwrap();
        assert_eq!(first.payload(received), b"first\r\n");
        let rest = received.split_at(first.consumed).1;
        let second = decoder.decode(rest).unwrap().unwrap();
        assert_eq!(second.payload(rest), b"\r\n");
        let rest = rest.split_at(second.consumed).1;
        assert_eq!(decoder.decode(rest).unwrap(), None);
    }

    #[test]
    fn a_delimiter_may_straddle_reads() {
        let received = b"ab--c--->>";
        let mut decoder = decoder("--->", 64);
        for len in 0..9 {
            let some = received.get(..len).unwrap();
            assert_eq!(decoder.decode(some).unwrap(), None, "after {len} bytes");
        }
        let frame = decoder.decode(received).unwrap().unwrap();
        assert_eq!(frame.payload(received), b"ab--c--->");
    }

    #[test]
    fn what_was_scanned_is_not_scanned_again() {
        let delimiter = Delimiter::new("END").unwrap();
        let step = decode(&delimiter, b"0123456E", 0, 64).unwrap();
        assert_eq!(
            step,
            Step::Incomplete {
                scanned: 6,
                needed: 9
            }
        );
        // Had the first bytes been looked at again, the delimiter put there would be found.
        let step = decode(&delimiter, b"END3456EN", 6, 64).unwrap();
        assert_eq!(
            step,
            Step::Incomplete {
                scanned: 7,
                needed: 10
            }
        );
        let found = Frame {
            start: 0,
            end: 10,
            consumed: 10,
        };
        assert_eq!(
            decode(&delimiter, b"0123456END", 7, 64).unwrap(),
            Step::Frame(found)
        );
    }

    #[test]
    fn a_message_as_large_as_the_limit_is_a_message() {
        let frame = decoder("\n", 8).decode(b"1234567\n").unwrap().unwrap();
        assert_eq!(frame.consumed, 8);
    }

    #[test]
    fn no_delimiter_within_the_limit_is_an_error() {
        let missing = FramingError::DelimiterMissing { limit: 8 };
        assert_eq!(decoder("\n", 8).decode(b"12345678").unwrap_err(), missing);
        assert_eq!(decoder("\n", 8).decode(b"12345678\n").unwrap_err(), missing);
        assert_eq!(
            decoder("\r\n", 8).decode(b"1234567\r\n").unwrap_err(),
            missing
        );
        assert_eq!(decoder("\n", 8).decode(b"1234567").unwrap(), None);
    }

    #[test]
    fn delimiters_read_as_they_are_written() {
        assert_eq!(
            format!("{:?}", Delimiter::new("\r\n").unwrap()),
            r#"Delimiter("\r\n")"#
        );
        assert_eq!(
            Delimiter::new([0, 255]).unwrap(),
            Delimiter::new([0, 255]).unwrap()
        );
        assert_ne!(Delimiter::new("a").unwrap(), Delimiter::new("b").unwrap());
    }
}
