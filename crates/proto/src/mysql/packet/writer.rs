//! Frames what is to be sent.

use super::{FULL_FRAME, HEADER};

/// One packet that is being written at the end of a send buffer.
///
/// The payload is written where it will leave from; [`finish`](Self::finish) fills in the headers. Only a packet of
/// 0xFFFFFF bytes or more is moved for that.
#[derive(Debug)]
pub struct PacketWriter<'w> {
    wire: &'w mut Vec<u8>,
    start: usize,
    sequence: u8,
}

/// A packet that the other side would not take was not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("packet of {len} bytes exceeds the limit of {limit} bytes (max_allowed_packet)")]
pub struct TooLarge {
    /// Bytes of the packet.
    pub len: usize,
    /// The limit in bytes.
    pub limit: usize,
}

impl<'w> PacketWriter<'w> {
    /// Begins a packet whose first frame has the number `sequence`.
    #[inline]
    pub fn begin(wire: &'w mut Vec<u8>, sequence: u8) -> Self {
        let start = wire.len();
        wire.extend_from_slice(&[0; HEADER]);
        Self {
            wire,
            start,
            sequence,
        }
    }

    /// Where the payload is appended. What lies in it already must stay as it is.
    #[inline]
    pub fn payload(&mut self) -> &mut Vec<u8> {
        self.wire
    }

    /// Bytes of the payload so far.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.wire.len().saturating_sub(self.start + HEADER)
    }

    /// Whether the payload has no bytes yet.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes the packet back, as if it had not been begun.
    pub fn abandon(self) {
        self.wire.truncate(self.start);
    }

    /// Completes the packet unless it is longer than `limit`, in which case nothing of it is left.
    ///
    /// # Errors
    ///
    /// [`TooLarge`].
    #[inline]
    pub fn finish_within(self, limit: usize) -> Result<u8, TooLarge> {
        let len = self.len();
        if len > limit {
            self.abandon();
            return Err(TooLarge { len, limit });
        }
        Ok(self.finish())
    }

    /// Completes the packet. Returns the number that follows that of its last frame.
    #[inline]
    pub fn finish(self) -> u8 {
        let len = self.len();
        if len >= FULL_FRAME {
            return self.finish_in_frames(len);
        }
        let header = header(len, self.sequence);
        if let Some(place) = self.wire.get_mut(self.start..self.start + HEADER) {
            place.copy_from_slice(&header);
        }
        self.sequence.wrapping_add(1)
    }

    /// Makes room for the headers within the payload, from its end, so that every byte is moved once.
    #[cold]
    fn finish_in_frames(self, len: usize) -> u8 {
        let more = len / FULL_FRAME;
        let last = len % FULL_FRAME;
        self.wire.resize(self.wire.len() + more * HEADER, 0);
        for frame in (0..=more).rev() {
            let frame_len = if frame == more { last } else { FULL_FRAME };
            let from = self.start + HEADER + frame * FULL_FRAME;
            let to = self.start + frame * (HEADER + FULL_FRAME);
            self.wire.copy_within(from..from + frame_len, to + HEADER);
            let header = header(frame_len, self.sequence.wrapping_add(frame as u8));
            if let Some(place) = self.wire.get_mut(to..to + HEADER) {
                place.copy_from_slice(&header);
            }
        }
        self.sequence.wrapping_add(more as u8).wrapping_add(1)
    }
}

#[inline]
fn header(len: usize, sequence: u8) -> [u8; HEADER] {
    let [a, b, c, _] = (len as u32).to_le_bytes();
    [a, b, c, sequence]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_a_header_and_its_payload() {
        let mut wire = b"before".to_vec();
        let mut packet = PacketWriter::begin(&mut wire, 255);
        assert!(packet.is_empty());
        packet.payload().extend_from_slice(b"abc");
        assert_eq!(packet.len(), 3);
        assert_eq!(packet.finish(), 0);
        assert_eq!(wire, b"before\x03\0\0\xffabc");
    }

    #[test]
    fn frames_are_full_except_the_last() {
        for (len, frames) in [
            (0xff_fffe, &[0xff_fffe][..]),
            (0xff_ffff, &[0xff_ffff, 0]),
            (0x100_0000, &[0xff_ffff, 1]),
            (2 * 0xff_ffff, &[0xff_ffff, 0xff_ffff, 0]),
        ] {
            let payload = (0..253).collect::<Vec<u8>>().repeat(len / 253 + 1);
            let payload = &payload[..len];
            let mut wire = vec![9];
            let mut packet = PacketWriter::begin(&mut wire, 254);
            packet.payload().extend_from_slice(payload);
            let next = packet.finish();
            assert_eq!(next, 254_u8.wrapping_add(frames.len() as u8));

            let mut expected = vec![9];
            let mut rest = payload;
            for (number, frame) in frames.iter().enumerate() {
                expected.extend(header(*frame, 254_u8.wrapping_add(number as u8)));
                expected.extend_from_slice(&rest[..*frame]);
                rest = &rest[*frame..];
            }
            assert!(wire == expected, "{len} bytes");
        }
    }

    #[test]
    fn what_is_too_large_leaves_nothing_behind() {
        let mut wire = b"kept".to_vec();
        let mut packet = PacketWriter::begin(&mut wire, 0);
        packet.payload().extend_from_slice(b"abc");
        assert_eq!(packet.finish_within(2), Err(TooLarge { len: 3, limit: 2 }));
        assert_eq!(wire, b"kept");
    }
}
