//! The bytes before a payload.

use std::fmt;

use super::FramingError;

/// A few bytes that go on the wire before a payload, held inline.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Prefix {
    bytes: [u8; Self::CAPACITY],
    len: u8,
}

impl Prefix {
    /// The most bytes that a prefix may have. The built-in framings need nine; fifteen and the
    /// count make sixteen, which travel in two registers.
    pub const CAPACITY: usize = 15;

    /// No bytes.
    pub const EMPTY: Self = Self {
        bytes: [0; Self::CAPACITY],
        len: 0,
    };

    /// Appends `bytes`.
    ///
    /// # Errors
    ///
    /// [`FramingError::PrefixTooLong`] if there would be more than [`CAPACITY`](Self::CAPACITY);
    /// the prefix is then as it was.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), FramingError> {
        let start = usize::from(self.len);
        let len = start.saturating_add(bytes.len());
        let too_long = FramingError::PrefixTooLong {
            len,
            max: Self::CAPACITY,
        };
        let room = self.bytes.get_mut(start..len).ok_or(too_long)?;
        room.copy_from_slice(bytes);
        // At most `CAPACITY`, which fits.
        self.len = len as u8;
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
        usize::from(self.len)
    }

    /// Whether nothing goes before the payload.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// One byte, without the checks of `push`.
    #[inline]
    pub(super) fn one(byte: u8) -> Self {
        let mut prefix = Self::EMPTY;
        prefix.bytes[0] = byte;
        prefix.len = 1;
        prefix
    }

    /// Three bytes, without the checks of `push`.
    #[inline]
    pub(super) fn three([first, second, third]: [u8; 3]) -> Self {
        let mut prefix = Self::EMPTY;
        (prefix.bytes[0], prefix.bytes[1], prefix.bytes[2]) = (first, second, third);
        prefix.len = 3;
        prefix
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
        assert_eq!(format!("{:?}", Prefix::one(7)), "Prefix([7])");
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
    fn it_travels_in_two_registers() {
        assert_eq!(size_of::<Prefix>(), 16);
    }
}
