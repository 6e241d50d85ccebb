//! Finds packets in what has been received.

use super::{FULL_FRAME, HEADER};
use crate::mysql::error::ProtocolError;
use crate::mysql::limits::Limits;

/// Storage of a packet of several frames that is kept for the next one. Above it, memory goes back at the next packet.
const KEPT: usize = 1 << 20;

/// Finds packets in a receive buffer, one connection's worth.
///
/// The caller owns the buffer and the position up to which it has been read. [`next`](Self::next) moves the position
/// and returns packets, one after the other, until it returns `None`; then the caller drops what lies before the
/// position, and reads more. A packet of one frame is a slice of the buffer. One of several frames is put together in
/// storage of the reader, as its bytes come, so that the buffer need not hold it.
///
/// Numbers are checked. Only an error packet may have a wrong one, since a server that gives up does not count; then
/// [`is_stray`](Self::is_stray) says so, and the connection must not be used again.
#[derive(Clone, Debug)]
pub struct PacketReader {
    limit: usize,
    /// The number that the next frame must have.
    sequence: u8,
    checked: bool,
    stray: bool,
    state: State,
    joined: Vec<u8>,
    needed: usize,
    /// Where the last packet of one frame was.
    last: (usize, usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The next byte begins a packet.
    Between,
    /// Inside a packet of several frames, of whose present frame so many bytes have not come.
    Joining { left: usize, last: bool },
    /// `joined` was returned.
    Delivered,
}

impl PacketReader {
    /// Expects a packet with number 0, of at most [`Limits::max_packet`] bytes.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            limit: limits.max_packet,
            sequence: 0,
            checked: true,
            stray: false,
            state: State::Between,
            joined: Vec::new(),
            needed: HEADER,
            last: (0, 0),
        }
    }

    /// The next packet begins with this number: a new exchange.
    #[inline]
    pub fn expect(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    /// The number after that of the last frame.
    #[inline]
    #[must_use]
    pub fn sequence(&self) -> u8 {
        self.sequence
    }

    /// From now on at most so many bytes a packet.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Stops looking at numbers. Needed inside of the compressed protocol, where servers set them anew whenever they
    /// flush; there the numbers of the compressed packets count.
    pub fn ignore_sequence(&mut self) {
        self.checked = false;
    }

    /// Whether an error packet came with a wrong number. What the server has answered before is then uncertain, and
    /// nothing else will come.
    #[inline]
    #[must_use]
    pub fn is_stray(&self) -> bool {
        self.stray
    }

    /// The fewest bytes that must lie behind the position before a packet can be returned or more of it be stored, as
    /// of the last `None`.
    ///
    /// A hint for reading, not for allocating: four bytes from a peer can announce 16 MiB.
    #[inline]
    #[must_use]
    pub fn needed(&self) -> usize {
        self.needed
    }

    /// Whether the stream may end with `remaining` bytes behind the position: not inside a packet.
    ///
    /// # Errors
    ///
    /// [`ProtocolError::UnexpectedEnd`].
    pub fn finish(&self, remaining: usize) -> Result<(), ProtocolError> {
        if remaining == 0 && !matches!(self.state, State::Joining { .. }) {
            return Ok(());
        }
        Err(ProtocolError::UnexpectedEnd { what: "a packet" })
    }

    /// The next packet in `buffer` from `*at` on, which moves behind what was read. `None` means that it has not all
    /// come.
    ///
    /// # Errors
    ///
    /// [`ProtocolError::PacketTooLarge`] as soon as a header says so, [`ProtocolError::OutOfSequence`]. Final: the
    /// connection can only be closed.
    #[inline]
    pub fn next<'a>(
        &'a mut self,
        buffer: &'a [u8],
        at: &mut usize,
    ) -> Result<Option<&'a [u8]>, ProtocolError> {
        if self.state != State::Between {
            return self.next_joined(buffer, at);
        }
        let waiting = buffer.get(*at..).unwrap_or_default();
        let Some((header, rest)) = waiting.split_first_chunk::<HEADER>() else {
            self.needed = HEADER;
            return Ok(None);
        };
        let len = frame_len(header);
        if len > self.limit || len == FULL_FRAME {
            return self.next_large(buffer, at, len);
        }
        let Some(packet) = rest.get(..len) else {
            self.needed = HEADER + len;
            return Ok(None);
        };
        self.check(header, packet)?;
        self.last = (*at + HEADER, len);
        *at += HEADER + len;
        Ok(Some(packet))
    }

    /// The next packet, if it is in the buffer as one frame, and would not be refused. Nothing changes otherwise:
    /// [`next`](Self::next) says what is the matter. After it, `end` lies behind the packet.
    #[inline]
    pub(crate) fn next_whole<'a>(&mut self, buffer: &'a [u8], end: &mut usize) -> Option<&'a [u8]> {
        if self.state != State::Between {
            self.settle()?;
        }
        let waiting = buffer.get(*end..)?;
        let (header, rest) = waiting.split_first_chunk::<HEADER>()?;
        let len = frame_len(header);
        let [.., sequence] = *header;
        let in_order = sequence == self.sequence || !self.checked;
        if len > self.limit || len == FULL_FRAME || !in_order {
            return None;
        }
        let packet = rest.get(..len)?;
        *end += HEADER + len;
        Some(packet)
    }

    /// Takes what [`next_whole`](Self::next_whole) found: its frame is behind us.
    #[inline]
    pub(crate) fn take_whole(&mut self) {
        self.sequence = self.sequence.wrapping_add(1);
    }

    #[cold]
    fn settle(&mut self) -> Option<()> {
        if self.state != State::Delivered {
            return None;
        }
        self.forget_joined();
        Some(())
    }

    /// The packet that was returned last, for as long as the buffer is as it was.
    pub(crate) fn last<'a>(&'a self, buffer: &'a [u8]) -> &'a [u8] {
        if self.state == State::Delivered {
            return &self.joined;
        }
        let (start, len) = self.last;
        buffer.get(start..start + len).unwrap_or_default()
    }

    /// A header that announces much.
    #[cold]
    fn next_large<'a>(
        &'a mut self,
        buffer: &'a [u8],
        at: &mut usize,
        len: usize,
    ) -> Result<Option<&'a [u8]>, ProtocolError> {
        self.within_limit(len)?;
        self.state = State::Joining {
            left: 0,
            last: false,
        };
        self.next_joined(buffer, at)
    }

    #[cold]
    fn next_joined<'a>(
        &'a mut self,
        buffer: &'a [u8],
        at: &mut usize,
    ) -> Result<Option<&'a [u8]>, ProtocolError> {
        if self.state == State::Delivered {
            self.forget_joined();
            return self.next(buffer, at);
        }
        while let State::Joining { left, last } = self.state {
            let waiting = buffer.get(*at..).unwrap_or_default();
            if left > 0 {
                let piece = waiting.get(..left).unwrap_or(waiting);
                self.joined.extend_from_slice(piece);
                *at += piece.len();
                let left = left - piece.len();
                self.state = State::Joining { left, last };
                if left > 0 {
                    self.needed = 1;
                    return Ok(None);
                }
            } else if last {
                self.state = State::Delivered;
            } else {
                let Some((header, rest)) = waiting.split_first_chunk::<HEADER>() else {
                    self.needed = HEADER;
                    return Ok(None);
                };
                let len = frame_len(header);
                self.within_limit(self.joined.len().saturating_add(len))?;
                self.check(header, rest)?;
                *at += HEADER;
                self.state = State::Joining {
                    left: len,
                    last: len < FULL_FRAME,
                };
            }
        }
        Ok(Some(&self.joined))
    }

    fn forget_joined(&mut self) {
        self.state = State::Between;
        if self.joined.capacity() > KEPT {
            self.joined = Vec::new();
        } else {
            self.joined.clear();
        }
    }

    fn within_limit(&self, len: usize) -> Result<(), ProtocolError> {
        if len > self.limit {
            return Err(ProtocolError::PacketTooLarge {
                len,
                limit: self.limit,
            });
        }
        Ok(())
    }

    #[inline]
    fn check(&mut self, header: &[u8; HEADER], payload: &[u8]) -> Result<(), ProtocolError> {
        let [.., got] = *header;
        if got != self.sequence && self.checked {
            self.forgive(got, payload)?;
        }
        self.sequence = got.wrapping_add(1);
        Ok(())
    }

    #[cold]
    fn forgive(&mut self, got: u8, payload: &[u8]) -> Result<(), ProtocolError> {
        if self.state == State::Between && payload.first() == Some(&0xff) && payload.len() > 2 {
            self.stray = true;
            return Ok(());
        }
        Err(ProtocolError::OutOfSequence {
            expected: self.sequence,
            got,
        })
    }
}

#[inline]
fn frame_len(header: &[u8; HEADER]) -> usize {
    let [a, b, c, _] = *header;
    u32::from_le_bytes([a, b, c, 0]) as usize
}

#[cfg(test)]
mod tests {
    use super::super::PacketWriter;
    use super::*;

    fn frame(sequence: u8, payload: &[u8]) -> Vec<u8> {
        let mut wire = Vec::new();
        let mut packet = PacketWriter::begin(&mut wire, sequence);
        packet.payload().extend_from_slice(payload);
        packet.finish();
        wire
    }

    /// Reads `stream` as it comes in pieces, with a buffer that forgets what was read.
    fn read(
        reader: &mut PacketReader,
        stream: &[u8],
        piece: usize,
    ) -> Result<Vec<Vec<u8>>, ProtocolError> {
        let (mut buffer, mut at, mut packets) = (Vec::new(), 0, Vec::new());
        for piece in stream.chunks(piece) {
            buffer.extend_from_slice(piece);
            while let Some(packet) = reader.next(&buffer, &mut at)? {
                packets.push(packet.to_vec());
            }
            buffer.drain(..at);
            at = 0;
            assert!(reader.needed() > buffer.len(), "it wants what it has");
        }
        reader.finish(buffer.len())?;
        Ok(packets)
    }

    #[test]
    fn packets_come_out_wherever_the_stream_is_cut() {
        let stream = [frame(0, b"first"), frame(1, b""), frame(2, &[7; 300])].concat();
        for piece in 1..=stream.len() {
            let mut reader = PacketReader::new(&Limits::default());
            let packets = read(&mut reader, &stream, piece).unwrap();
            assert_eq!(packets, [b"first".to_vec(), Vec::new(), vec![7; 300]]);
            assert_eq!(reader.sequence(), 3);
        }
    }

    #[test]
    fn a_packet_of_several_frames_is_put_together() {
        for len in [
            0xff_fffe,
            0xff_ffff,
            0x100_0000,
            2 * 0xff_ffff,
            2 * 0xff_ffff + 5,
        ] {
            let payload = pattern(len);
            let stream = [frame(3, &payload), frame(3 + frames(len), b"next")].concat();
            for piece in [64 * 1024 - 3, 5 << 20, usize::MAX] {
                let mut reader = PacketReader::new(&Limits::default());
                reader.expect(3);
                let packets = read(&mut reader, &stream, piece).unwrap();
                assert!(
                    packets == [payload.clone(), b"next".to_vec()],
                    "{len} bytes in {piece}"
                );
                assert!(reader.joined.capacity() <= KEPT, "memory goes back");
            }
        }
    }

    fn pattern(len: usize) -> Vec<u8> {
        let mut bytes = (0..251).collect::<Vec<u8>>().repeat(len / 251 + 1);
        bytes.truncate(len);
        bytes
    }

    fn frames(len: usize) -> u8 {
        (len / FULL_FRAME + 1) as u8
    }

    #[test]
    fn the_limit_is_checked_by_the_header_and_over_all_frames() {
        let limits = Limits {
            max_packet: 20,
            ..Limits::default()
        };
        let mut reader = PacketReader::new(&limits);
        let too_large = Err(ProtocolError::PacketTooLarge { len: 21, limit: 20 });
        assert_eq!(reader.next(&[21, 0, 0, 0], &mut 0), too_large);
        let mut reader = PacketReader::new(&limits);
        assert_eq!(
            reader.next(&[0xff, 0xff, 0xff, 0], &mut 0),
            Err(ProtocolError::PacketTooLarge {
                len: FULL_FRAME,
                limit: 20
            })
        );

        let limits = Limits {
            max_packet: FULL_FRAME + 9,
            ..Limits::default()
        };
        let mut reader = PacketReader::new(&limits);
        let stream = frame(0, &vec![0; FULL_FRAME + 10]);
        let mut at = 0;
        assert_eq!(
            reader.next(&stream[..stream.len() - 10], &mut at),
            Err(ProtocolError::PacketTooLarge {
                len: FULL_FRAME + 10,
                limit: FULL_FRAME + 9
            })
        );
    }

    #[test]
    fn a_wrong_number_is_an_error_except_on_an_error_packet() {
        let mut reader = PacketReader::new(&Limits::default());
        let wrong = Err(ProtocolError::OutOfSequence {
            expected: 0,
            got: 1,
        });
        assert_eq!(reader.next(&frame(1, b"abc"), &mut 0), wrong);
        let packet = frame(7, b"\xff\x10\x04Too many connections");
        assert!(reader.next(&packet, &mut 0).unwrap().is_some());
        assert!(reader.is_stray());

        let mut reader = PacketReader::new(&Limits::default());
        reader.ignore_sequence();
        assert!(reader.next(&frame(9, b"abc"), &mut 0).unwrap().is_some());
    }

    #[test]
    fn numbers_wrap() {
        let mut reader = PacketReader::new(&Limits::default());
        reader.expect(255);
        let stream = [frame(255, b"a"), frame(0, b"b")].concat();
        assert_eq!(read(&mut reader, &stream, 3).unwrap().len(), 2);
    }

    #[test]
    fn a_stream_that_ends_inside_a_packet_is_an_error() {
        for stream in [&frame(0, b"abc")[..6], &[0xff, 0xff, 0xff, 0, 1]] {
            let mut reader = PacketReader::new(&Limits::default());
            assert_eq!(
                read(&mut reader, stream, 100),
                Err(ProtocolError::UnexpectedEnd { what: "a packet" })
            );
        }
    }
}
