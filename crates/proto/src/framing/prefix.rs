//! The bytes before a payload.

use std::fmt;

use super::FramingError;

/// A few bytes that go on the wire before a payload, held inline.
///
/// Aligned, so that a copy within a `Result` is two whole words: copied at odd addresses, the words were read back across
/// the stores that wrote them, which stalled the processor for 15 ns a message.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
#[repr(align(8))]
pub struct Prefix {
    /// The count is the last of them, so that the built-in framings write all sixteen as one word:
    /// bytes written one by one and read as words wait for each other in the processor.
    bytes: [u8; Self::CAPACITY + 1],
}

impl Prefix {
    /// The most bytes that a prefix may have. The built-in framings need nine; fifteen and the
    /// count make sixteen, which travel in two registers.
    pub const CAPACITY: usize = 15;

    /// No bytes.
    pub const EMPTY: Self = Self {
        bytes: [0; Self::CAPACITY + 1],
    };

    /// Appends `bytes`.
    ///
    /// # Errors
    ///
    /// [`FramingError::PrefixTooLong`] if there would be more than [`CAPACITY`](Self::CAPACITY);
    /// the prefix is then as it was.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), FramingError> {
        let start = self.len();
        let len = start.saturating_add(bytes.len());
        let [room @ .., count] = &mut self.bytes;
        let Some(room) = room.get_mut(start..len) else {
            return Err(FramingError::PrefixTooLong {
                len,
                max: Self::CAPACITY,
            });
        };
        room.copy_from_slice(bytes);
        // At most `CAPACITY`, which fits.
        *count = len as u8;
        Ok(())
    }

    /// The bytes to send.
    #[inline]
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        self.bytes.get(..self.len()).unwrap_or(&[])
    }

    /// Number of bytes.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        let [.., count] = self.bytes;
        usize::from(count)
    }

    /// Whether nothing goes before the payload.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first `len` bytes of `word`, the lowest first; the others are zero and `len` is at most
    /// eight.
    #[inline]
    pub(super) const fn of_word(word: u64, len: u8) -> Self {
        let count = (len as u128) << (8 * Self::CAPACITY);
        Self {
            bytes: (word as u128 | count).to_le_bytes(),
        }
    }
}

/// A prefix of at most three bytes, which travels in registers and is written without a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortPrefix {
    /// Its bytes, the first one lowest; the others are zero.
    word: u32,
    len: u8,
}

impl ShortPrefix {
    /// No bytes.
    pub const EMPTY: Self = Self { word: 0, len: 0 };

    /// The lowest `len` bytes of `word`, three at most; the others are zero.
    #[inline(always)]
    pub(super) const fn of_word(word: u32, len: u8) -> Self {
        Self { word, len }
    }

    /// Number of bytes.
    #[inline(always)]
    #[must_use]
    pub const fn len(self) -> usize {
        self.len as usize
    }

    /// Whether nothing goes before the payload.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Appends it: four bytes in one store, of which those that are too many are taken back.
    #[inline(always)]
    pub fn append_to(self, wire: &mut Vec<u8>) {
        let end = wire.len() + self.len();
        wire.extend_from_slice(&self.word.to_le_bytes());
        wire.truncate(end);
    }
}

impl AsRef<[u8]> for Prefix {
    fn as_ref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl fmt::Debug for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Prefix").field(&self.as_slice()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_holds_what_was_pushed() {
        let mut prefix = Prefix::EMPTY;
        assert!(prefix.is_empty());
        prefix.push(b"MAG").unwrap();
        prefix.push(&[0, 0, 1, 2]).unwrap();
        assert_eq!(prefix.as_slice(), b"MAG\x00\x00\x01\x02");
        assert_eq!(prefix.len(), 7);
        assert_eq!(
            format!("{:?}", Prefix::of_word(0x0107, 2)),
            "Prefix([7, 1])"
        );
    }

    #[test]
    fn it_is_full_at_its_capacity_and_stays_as_it_was() {
        let mut prefix = Prefix::EMPTY;
        prefix.push(&[1; 15]).unwrap();
        let refused = prefix.push(&[2]).unwrap_err();
        assert_eq!(refused, FramingError::PrefixTooLong { len: 16, max: 15 });
        assert_eq!(prefix.as_slice(), [1; 15]);
    }

    #[test]
    fn a_short_one_is_appended_without_the_bytes_that_it_does_not_have() {
        let mut wire = b"so far".to_vec();
        ShortPrefix::EMPTY.append_to(&mut wire);
        ShortPrefix::of_word(7, 1).append_to(&mut wire);
        ShortPrefix::of_word(0x0002_01fe, 3).append_to(&mut wire);
        assert_eq!(wire, b"so far\x07\xfe\x01\x02");
    }

    #[test]
    fn it_travels_in_two_registers() {
        assert_eq!(size_of::<Prefix>(), 16);
    }
}
