//! The integers and strings that every packet is made of.
//!
//! All numbers are little-endian. A length-encoded integer is one byte below 251, or a marker and two, three or eight
//! bytes; 251 stands for NULL where a string could be, 255 for nothing.

/// First byte of a NULL where a length-encoded string could stand.
pub(crate) const NULL: u8 = 0xfb;

/// Takes a packet apart from its front. Everything is `None` once the packet is too short.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    #[inline]
    pub(crate) fn new(packet: &'a [u8]) -> Self {
        Self { rest: packet }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.rest.len()
    }

    #[inline]
    pub(crate) fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// Whatever has not been read.
    #[inline]
    pub(crate) fn rest(self) -> &'a [u8] {
        self.rest
    }

    #[inline]
    pub(crate) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(taken)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*taken)
    }

    #[inline]
    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    #[inline]
    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    #[inline]
    pub(crate) fn u24(&mut self) -> Option<u32> {
        self.array()
            .map(|[a, b, c]| u32::from_le_bytes([a, b, c, 0]))
    }

    #[inline]
    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    #[inline]
    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    #[inline]
    pub(crate) fn lenenc(&mut self) -> Option<u64> {
        let first = self.u8()?;
        if first < NULL {
            return Some(u64::from(first));
        }
        self.lenenc_marked(first)
    }

    #[cold]
    fn lenenc_marked(&mut self, marker: u8) -> Option<u64> {
        match marker {
            0xfc => self.u16().map(u64::from),
            0xfd => self.u24().map(u64::from),
            0xfe => self.u64(),
            _ => None,
        }
    }

    /// A string behind its length.
    #[inline]
    pub(crate) fn lenenc_bytes(&mut self) -> Option<&'a [u8]> {
        let len = self.lenenc()?;
        self.take(usize::try_from(len).ok()?)
    }

    /// A string up to a zero byte, which is dropped.
    pub(crate) fn nul_bytes(&mut self) -> Option<&'a [u8]> {
        let end = memchr::memchr(0, self.rest)?;
        let taken = self.take(end)?;
        self.u8()?;
        Some(taken)
    }
}

pub(crate) fn put_u16(wire: &mut Vec<u8>, value: u16) {
    wire.extend_from_slice(&value.to_le_bytes());
}

pub(crate) fn put_u32(wire: &mut Vec<u8>, value: u32) {
    wire.extend_from_slice(&value.to_le_bytes());
}

pub(crate) fn put_u64(wire: &mut Vec<u8>, value: u64) {
    wire.extend_from_slice(&value.to_le_bytes());
}

pub(crate) fn put_lenenc(wire: &mut Vec<u8>, value: u64) {
    let bytes = value.to_le_bytes();
    let (marker, len) = match value {
        0..=250 => return wire.extend_from_slice(&bytes[..1]),
        251..=0xffff => (0xfc, 2),
        0x1_0000..=0xff_ffff => (0xfd, 3),
        _ => (0xfe, 8),
    };
    wire.push(marker);
    wire.extend_from_slice(&bytes[..len]);
}

pub(crate) fn put_lenenc_bytes(wire: &mut Vec<u8>, bytes: &[u8]) {
    put_lenenc(wire, bytes.len() as u64);
    wire.extend_from_slice(bytes);
}

pub(crate) fn put_nul_bytes(wire: &mut Vec<u8>, bytes: &[u8]) {
    wire.extend_from_slice(bytes);
    wire.push(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_takes_the_shortest_form_that_holds_it() {
        for (value, form) in [
            (0, &[0][..]),
            (250, &[250]),
            (251, &[0xfc, 251, 0]),
            (0xffff, &[0xfc, 0xff, 0xff]),
            (0x1_0000, &[0xfd, 0, 0, 1]),
            (0xff_ffff, &[0xfd, 0xff, 0xff, 0xff]),
            (0x100_0000, &[0xfe, 0, 0, 0, 1, 0, 0, 0, 0]),
            (u64::MAX, &[0xfe, 255, 255, 255, 255, 255, 255, 255, 255]),
        ] {
            let mut wire = Vec::new();
            put_lenenc(&mut wire, value);
            assert_eq!(wire, form);
            let mut reader = Reader::new(&wire);
            assert_eq!((reader.lenenc(), reader.len()), (Some(value), 0));
            for cut in 0..wire.len() {
                assert_eq!(Reader::new(&wire[..cut]).lenenc(), None);
            }
        }
    }

    #[test]
    fn what_cannot_be_a_length_is_none() {
        assert_eq!(Reader::new(&[0xfb]).lenenc(), None);
        assert_eq!(Reader::new(&[0xff, 0, 0]).lenenc(), None);
        let mut too_long = vec![0xfe];
        put_u64(&mut too_long, u64::MAX);
        assert_eq!(Reader::new(&too_long).lenenc_bytes(), None);
    }

    #[test]
    fn a_string_ends_at_its_zero() {
        let mut reader = Reader::new(b"ab\0\0rest");
        assert_eq!(reader.nul_bytes(), Some(&b"ab"[..]));
        assert_eq!(reader.nul_bytes(), Some(&b""[..]));
        assert_eq!(reader.nul_bytes(), None);
        assert_eq!(reader.rest(), b"rest");
    }
}
