//! Any stream, however it arrives: the same packets and the same error, nothing over the limit; and what is written is
//! read.
//!
//! Input: two bytes of limit, the first number, how many sizes of pieces, the sizes, and the stream.

use arknet_proto::mysql::compression::{Compressor, Inflater};
use arknet_proto::mysql::packet::{PacketReader, PacketWriter};
use arknet_proto::mysql::{Limits, ProtocolError};

use super::Input;

/// Runs one input.
pub(crate) fn run(data: &[u8]) {
    let mut input = Input(data);
    let mut limits = Limits::default();
    limits.max_packet = input.number();
    let sequence = input.byte();
    let count = usize::from(input.byte());
    let pieces = input.take(count);
    let stream = input.0;

    let whole = read(&limits, sequence, stream, &[]);
    assert_eq!(read(&limits, sequence, stream, pieces), whole);
    assert_eq!(read(&limits, sequence, stream, &[0]), whole);
    let (packets, end) = &whole;
    assert!(
        packets
            .iter()
            .all(|packet| packet.len() <= limits.max_packet)
    );
    if end.is_ok() {
        // Stray errors have numbers of their own, so what is written may differ in those only.
        let again = write(packets, sequence);
        assert_eq!(again.len(), stream.len());
        assert_eq!(read(&limits, sequence, &again, pieces), whole);
    }
    inflate(&limits, stream, pieces);
    deflate(&limits, stream);
}

type Read = (Vec<Vec<u8>>, Result<(), ProtocolError>);

fn read(limits: &Limits, sequence: u8, stream: &[u8], pieces: &[u8]) -> Read {
    let mut reader = PacketReader::new(limits);
    reader.expect(sequence);
    let (mut buffer, mut packets) = (Vec::new(), Vec::new());
    for piece in cut(stream, pieces) {
        buffer.extend_from_slice(piece);
        let mut at = 0;
        loop {
            match reader.next(&buffer, &mut at) {
                Ok(Some(packet)) => packets.push(packet.to_vec()),
                Ok(None) => break,
                Err(error) => return (packets, Err(error)),
            }
            assert!(at <= buffer.len());
        }
        buffer.drain(..at);
        assert!(reader.needed() > buffer.len(), "it wants what it has");
    }
    let end = reader.finish(buffer.len());
    (packets, end)
}

/// The stream in pieces of these sizes, over and over; in one where there are none.
fn cut<'a>(mut stream: &'a [u8], pieces: &'a [u8]) -> Vec<&'a [u8]> {
    let mut sizes = pieces.iter().map(|size| usize::from(*size).max(1)).cycle();
    let mut cut = Vec::new();
    while !stream.is_empty() {
        let size = sizes.next().unwrap_or(stream.len()).min(stream.len());
        let (piece, rest) = stream.split_at(size);
        cut.push(piece);
        stream = rest;
    }
    cut
}

fn write(packets: &[Vec<u8>], mut sequence: u8) -> Vec<u8> {
    let mut wire = Vec::new();
    for payload in packets {
        let mut packet = PacketWriter::begin(&mut wire, sequence);
        packet.payload().extend_from_slice(payload);
        sequence = packet.finish();
    }
    wire
}

/// The stream as that of the compressed protocol.
fn inflate(limits: &Limits, stream: &[u8], pieces: &[u8]) {
    let whole = inflated(limits, stream, &[]);
    let parts = inflated(limits, stream, pieces);
    assert_eq!(whole.1, parts.1);
    if whole.1.is_ok() {
        assert_eq!(whole.0, parts.0);
    }
}

fn inflated(limits: &Limits, stream: &[u8], pieces: &[u8]) -> Read {
    let (mut inflater, mut plain) = (Inflater::new(limits), Vec::new());
    for piece in cut(stream, pieces) {
        if let Err(error) = inflater.inflate(piece, &mut plain) {
            return (vec![plain], Err(error));
        }
    }
    (vec![plain], inflater.finish())
}

fn deflate(limits: &Limits, plain: &[u8]) {
    let mut wire = Vec::new();
    Compressor::new().compress(plain, &mut wire);
    let (again, end) = inflated(limits, &wire, &[7]);
    if plain.len() <= 1 << 16 {
        assert_eq!((again, end), (vec![plain.to_vec()], Ok(())));
    }
}
