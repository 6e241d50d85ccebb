//! A flat buffer that is filled at its end and consumed at its front, and never grows.

/// Bytes between a moving front and a moving end.
///
/// An emptied buffer starts again at its first byte, so that small messages stay in the same few
/// cache lines.
#[derive(Debug)]
pub struct Flat {
    bytes: Box<[u8]>,
    start: usize,
    end: usize,
}

impl Flat {
    /// An empty buffer of `capacity` bytes; the system only backs what is written to.
    pub fn new(capacity: usize) -> Self {
        Flat {
            bytes: vec![0; capacity].into_boxed_slice(),
            start: 0,
            end: 0,
        }
    }

    /// What was filled in and not yet consumed.
    #[inline]
    pub fn filled(&self) -> &[u8] {
        self.bytes.get(self.start..self.end).unwrap_or_default()
    }

    /// Whether nothing is left to consume.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// The room behind what is filled. If that is less than `least`, what is filled moves to the
    /// front first.
    #[inline]
    pub fn spare(&mut self, least: usize) -> &mut [u8] {
        if self.bytes.len() - self.end < least {
            self.bytes.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        self.bytes.get_mut(self.end..).unwrap_or_default()
    }

    /// Room for at least half a buffer, unless more than that is filled: for reads.
    #[inline]
    pub fn room(&mut self) -> &mut [u8] {
        self.spare(self.bytes.len() / 2)
    }

    /// Counts `n` bytes of the spare room as filled.
    #[inline]
    pub fn fill(&mut self, n: usize) {
        self.end = (self.end + n).min(self.bytes.len());
    }

    /// Takes `n` bytes from the front.
    #[inline]
    pub fn consume(&mut self, n: usize) {
        self.start = (self.start + n).min(self.end);
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(buffer: &mut Flat, bytes: &[u8]) {
        buffer.spare(bytes.len())[..bytes.len()].copy_from_slice(bytes);
        buffer.fill(bytes.len());
    }

    #[test]
    fn what_is_filled_is_consumed_in_order() {
        let mut buffer = Flat::new(8);
        push(&mut buffer, b"abcdef");
        buffer.consume(2);
        assert_eq!(buffer.filled(), b"cdef");
        buffer.consume(4);
        assert!(buffer.is_empty());
        assert_eq!(buffer.spare(8).len(), 8, "an emptied buffer starts again");
    }

    #[test]
    fn the_rest_moves_to_the_front_only_when_room_is_short() {
        let mut buffer = Flat::new(8);
        push(&mut buffer, b"abcdef");
        buffer.consume(5);
        assert_eq!(buffer.spare(2).len(), 2);
        assert_eq!(buffer.room().len(), 7);
        push(&mut buffer, b"ghijklm");
        assert_eq!(buffer.filled(), b"fghijklm");
        assert!(buffer.room().is_empty());
    }
}
