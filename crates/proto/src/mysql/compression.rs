//! The compressed protocol: packets in packets.
//!
//! What both sides would send goes through zlib in pieces, each with a header of seven bytes: its length, a number, and
//! the length of what it holds, or zero where it is as it was. Packets and pieces begin and end where they like. zstd,
//! which MySQL has too, is left out: nothing pure speaks it.

use std::io::Read;

use flate2::Compression;
use flate2::bufread::{ZlibDecoder, ZlibEncoder};

use super::error::ProtocolError;
use super::limits::Limits;

/// Bytes of a piece's header.
const HEADER: usize = 7;

/// The most that a piece holds, compressed or not.
const MAX_PIECE: usize = 0xff_ffff;

/// Shorter pieces are left as they are, as servers do: they would not get smaller.
const MIN_COMPRESSED: usize = 50;

/// Wraps what is to be sent.
#[derive(Debug)]
pub struct Compressor {
    level: Compression,
}

impl Compressor {
    /// zlib at its usual level, 6.
    #[must_use]
    pub fn new() -> Self {
        Self {
            level: Compression::default(),
        }
    }

    /// Appends `plain`, which begins with a command, to `wire`. Commands in one flight may be given together.
    ///
    /// Every flight begins with number 0; servers do not look.
    pub fn compress(&mut self, plain: &[u8], wire: &mut Vec<u8>) {
        for (number, piece) in plain.chunks(MAX_PIECE).enumerate() {
            let start = wire.len();
            wire.extend_from_slice(&[0; HEADER]);
            let is_smaller = piece.len() >= MIN_COMPRESSED && self.deflate(piece, wire);
            if !is_smaller {
                wire.truncate(start + HEADER);
                wire.extend_from_slice(piece);
            }
            let len = wire.len() - start - HEADER;
            let [l1, l2, l3, _] = (len as u32).to_le_bytes();
            let held = if is_smaller { piece.len() as u32 } else { 0 };
            let [h1, h2, h3, _] = held.to_le_bytes();
            if let Some(header) = wire.get_mut(start..start + HEADER) {
                header.copy_from_slice(&[l1, l2, l3, number as u8, h1, h2, h3]);
            }
        }
    }

    /// Whether it got smaller.
    fn deflate(&self, piece: &[u8], wire: &mut Vec<u8>) -> bool {
        let before = wire.len();
        let mut encoder = ZlibEncoder::new(piece, self.level);
        encoder.read_to_end(wire).is_ok() && wire.len() - before < piece.len()
    }
}

impl Default for Compressor {
    fn default() -> Self {
        Self::new()
    }
}

/// Unwraps what has been received.
///
/// A piece is unwrapped when all of it has come: it may hold 16 MiB. Numbers are not looked at: servers count them
/// differently, and what is inside has numbers of its own.
#[derive(Debug)]
pub struct Inflater {
    /// A piece that has not all come.
    waiting: Vec<u8>,
    max_piece: usize,
}

impl Inflater {
    /// For packets of at most [`Limits::max_packet`] bytes.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        // A piece can hold many packets, so that it is only limited by what a piece can be, unless packets are few.
        Self {
            waiting: Vec::new(),
            max_piece: limits.max_packet.clamp(1 << 16, MAX_PIECE),
        }
    }

    /// Takes what was received, and appends what it holds to `plain`, as far as pieces are complete.
    ///
    /// # Errors
    ///
    /// [`ProtocolError::PacketTooLarge`] by a piece's header, [`ProtocolError::Malformed`]. Final.
    pub fn inflate(&mut self, received: &[u8], plain: &mut Vec<u8>) -> Result<(), ProtocolError> {
        if self.waiting.is_empty() {
            let used = self.inflate_pieces(received, plain)?;
            self.waiting
                .extend_from_slice(received.get(used..).unwrap_or_default());
            return Ok(());
        }
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.extend_from_slice(received);
        let used = self.inflate_pieces(&waiting, plain)?;
        waiting.drain(..used);
        self.waiting = waiting;
        Ok(())
    }

    /// Whether the stream may end here: not inside a piece.
    ///
    /// # Errors
    ///
    /// [`ProtocolError::UnexpectedEnd`].
    pub fn finish(&self) -> Result<(), ProtocolError> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        Err(ProtocolError::UnexpectedEnd {
            what: "a compressed packet",
        })
    }

    /// Unwraps whole pieces, and returns how much of `bytes` they were.
    fn inflate_pieces(&self, bytes: &[u8], plain: &mut Vec<u8>) -> Result<usize, ProtocolError> {
        let mut rest = bytes;
        while let Some(([l1, l2, l3, _, h1, h2, h3], behind)) = rest.split_first_chunk::<HEADER>() {
            let len = u32::from_le_bytes([*l1, *l2, *l3, 0]) as usize;
            let held = u32::from_le_bytes([*h1, *h2, *h3, 0]) as usize;
            let largest = len.max(held);
            if largest > self.max_piece {
                return Err(ProtocolError::PacketTooLarge {
                    len: largest,
                    limit: self.max_piece,
                });
            }
            let Some((piece, next)) = behind.split_at_checked(len) else {
                break;
            };
            if held == 0 {
                plain.extend_from_slice(piece);
            } else {
                unwrap(piece, held, plain)?;
            }
            rest = next;
        }
        Ok(bytes.len() - rest.len())
    }
}

/// Unwraps one piece, which must hold exactly so many bytes, all of them needed.
fn unwrap(piece: &[u8], held: usize, plain: &mut Vec<u8>) -> Result<(), ProtocolError> {
    let malformed = || ProtocolError::malformed("compressed packet");
    let before = plain.len();
    let mut decoder = ZlibDecoder::new(piece);
    // One byte more than there should be tells whether there is more.
    let mut limited = (&mut decoder).take(held as u64 + 1);
    limited.read_to_end(plain).map_err(|_| malformed())?;
    let is_whole = decoder.total_in() == piece.len() as u64;
    if plain.len() - before != held || !is_whole {
        return Err(malformed());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inflater() -> Inflater {
        Inflater::new(&Limits::default())
    }

    #[test]
    fn what_is_wrapped_is_unwrapped_wherever_it_is_cut() {
        let plain = [b"short".to_vec(), vec![b'x'; 5_000], (0..=255).collect()].concat();
        let mut wire = Vec::new();
        let mut compressor = Compressor::new();
        compressor.compress(&plain[..5], &mut wire);
        compressor.compress(&plain[5..], &mut wire);
        assert!(wire.len() < 500, "it gets smaller");
        for piece in 1..wire.len() {
            let (mut inflater, mut got) = (inflater(), Vec::new());
            for bytes in wire.chunks(piece) {
                inflater.inflate(bytes, &mut got).unwrap();
            }
            assert_eq!(inflater.finish(), Ok(()));
            assert!(got == plain, "in pieces of {piece}");
        }
        let mut inflater = inflater();
        inflater
            .inflate(&wire[..wire.len() - 1], &mut Vec::new())
            .unwrap();
        assert!(inflater.finish().is_err());
    }

    #[test]
    fn large_ones_take_several_pieces() {
        let plain = b"0123456789abcdef".repeat(MAX_PIECE / 16 + 2);
        let (mut wire, mut got) = (Vec::new(), Vec::new());
        Compressor::new().compress(&plain, &mut wire);
        inflater().inflate(&wire, &mut got).unwrap();
        assert!(got == plain);
    }

    #[test]
    fn a_piece_that_holds_something_else_than_it_says_is_an_error() {
        let mut wire = Vec::new();
        Compressor::new().compress(&[b'x'; 1_000], &mut wire);
        let malformed = Err(ProtocolError::malformed("compressed packet"));
        for wrong in [1_u8, 0xe7, 0xe9] {
            let mut wire = wire.clone();
            wire[4] = wrong;
            assert_eq!(inflater().inflate(&wire, &mut Vec::new()), malformed);
        }
        let mut flipped = wire.clone();
        flipped[10] ^= 1;
        assert_eq!(inflater().inflate(&flipped, &mut Vec::new()), malformed);
        let mut longer = wire.clone();
        longer[0] += 1;
        longer.push(0);
        assert_eq!(inflater().inflate(&longer, &mut Vec::new()), malformed);
    }

    #[test]
    fn a_piece_is_limited_by_its_header() {
        let limits = Limits {
            max_packet: 1 << 16,
            ..Limits::default()
        };
        let bomb = [9, 0, 0, 0, 1, 0, 1];
        assert_eq!(
            Inflater::new(&limits).inflate(&bomb, &mut Vec::new()),
            Err(ProtocolError::PacketTooLarge {
                len: 0x1_0001,
                limit: 0x1_0000
            })
        );
    }
}
