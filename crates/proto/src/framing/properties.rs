//! What holds for every framing, every message and every way in which bytes can arrive.

use proptest::prelude::*;

use super::{Decoder, Framing, FramingError};

/// Large enough for every message below.
const LIMIT: usize = 1 << 20;

/// Lengths at which a prefix changes its form, and their neighbours.
const BOUNDARIES: [usize; 10] = [0, 1, 2, 252, 253, 254, 255, 65_534, 65_535, 65_536];

/// Every kind that keeps messages apart, whatever their bytes and lengths.
fn transparent() -> impl Strategy<Value = Framing> {
    prop_oneof![
        Just(Framing::LengthPrefix),
        (3..=8_u8).prop_map(|width| Framing::big_endian(width, LIMIT).unwrap()),
    ]
}

fn encode(framing: &Framing, messages: &[Vec<u8>]) -> Vec<u8> {
    let mut stream = Vec::new();
    for message in messages {
        stream.extend_from_slice(framing.prefix(message.len()).unwrap().as_slice());
        stream.extend_from_slice(message);
    }
    stream
}

/// Decodes a stream that arrives in `pieces`, and the rest at once.
fn decode(
    framing: &Framing,
    limit: usize,
    stream: &[u8],
    pieces: &[usize],
) -> Result<Vec<Vec<u8>>, FramingError> {
    let mut decoder = Decoder::new(framing.clone(), limit).unwrap();
    let (mut messages, mut buffer) = (Vec::new(), Vec::new());
    let mut rest = stream;
    for piece in pieces.iter().copied().chain([usize::MAX]) {
        let (arrived, later) = rest.split_at(piece.min(rest.len()));
        rest = later;
        buffer.extend_from_slice(arrived);
        while let Some(frame) = decoder.decode(&buffer)? {
            assert!(frame.consumed <= limit);
            messages.push(frame.payload(&buffer).to_vec());
            buffer.drain(..frame.consumed);
        }
        assert!(decoder.needed() > buffer.len(), "it wants what it has");
    }
    decoder.finish(buffer.len())?;
    Ok(messages)
}

fn message() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        8 => prop::collection::vec(any::<u8>(), 0..40),
        2 => prop::collection::vec(any::<u8>(), 250..260),
        1 => prop::sample::select(&BOUNDARIES).prop_map(|len| vec![0xfe; len]),
    ]
}

#[test]
fn every_boundary_survives_every_split() {
    let framings = [
        Framing::LengthPrefix,
        Framing::big_endian(3, LIMIT).unwrap(),
        Framing::big_endian(4, LIMIT).unwrap(),
    ];
    for framing in framings {
        for len in BOUNDARIES {
            let messages = [b"before".to_vec(), vec![0xff; len], b"after".to_vec()];
            let stream = encode(&framing, &messages);
            // All of the first 300 positions and of the last, which hold every prefix.
            let splits = (0..stream.len()).filter(|at| *at < 300 || stream.len() - at < 30);
            for at in splits {
                let decoded = decode(&framing, LIMIT, &stream, &[at]).unwrap();
                assert_eq!(decoded, messages, "{framing:?}, {len} bytes, split at {at}");
            }
        }
    }
}

#[test]
fn a_stream_that_is_cut_is_never_taken_for_whole() {
    let messages = [b"one".to_vec(), vec![7; 300]];
    for framing in [
        Framing::LengthPrefix,
        Framing::big_endian(2, LIMIT).unwrap(),
    ] {
        let stream = encode(&framing, &messages);
        let first = framing.prefix(3).unwrap().len() + 3;
        for len in (1..stream.len()).filter(|len| *len != first) {
            let cut = decode(&framing, LIMIT, stream.split_at(len).0, &[]).unwrap_err();
            assert!(
                matches!(cut, FramingError::UnexpectedEnd { .. }),
                "{cut:?} after {len} bytes"
            );
        }
    }
}

proptest! {
    #[test]
    fn prefixed_messages_come_back_however_they_arrive(
        framing in transparent(),
        messages in prop::collection::vec(message(), 0..12),
        pieces in prop::collection::vec(0..600_usize, 0..60),
    ) {
        let stream = encode(&framing, &messages);
        prop_assert_eq!(decode(&framing, LIMIT, &stream, &pieces), Ok(messages));
    }

    #[test]
    fn delimited_messages_come_back_however_they_arrive(
        delimiter in prop::sample::select(vec!["\n", "\r\n", "aab", "abab"]),
        bodies in prop::collection::vec("[abx\r]{0,12}", 0..12),
        pieces in prop::collection::vec(0..6_usize, 0..60),
    ) {
        let framing = Framing::delimited(delimiter).unwrap();
        let mut stream = bodies.join(delimiter);
        stream.push_str(delimiter);
        // Read as plainly as can be: bodies may hold delimiters, and may form them at their ends.
        let mut expected: Vec<Vec<u8>> =
            stream.split(delimiter).map(|body| format!("{body}{delimiter}").into_bytes()).collect();
        let rest = expected.pop().unwrap();
        prop_assume!(rest.len() == delimiter.len());
        prop_assert_eq!(decode(&framing, LIMIT, stream.as_bytes(), &pieces), Ok(expected));
    }

    #[test]
    fn exact_messages_come_back_however_they_arrive(
        len in 1..20_usize,
        count in 0..12_usize,
        pieces in prop::collection::vec(0..30_usize, 0..60),
    ) {
        let stream: Vec<u8> = (0..len * count).map(|at| at as u8).collect();
        let expected: Vec<Vec<u8>> = stream.chunks(len).map(<[u8]>::to_vec).collect();
        let framing = Framing::exact(len).unwrap();
        prop_assert_eq!(decode(&framing, len, &stream, &pieces), Ok(expected));
    }

    #[test]
    fn raw_bytes_come_back_in_order_and_never_as_nothing(
        stream in prop::collection::vec(any::<u8>(), 0..300),
        limit in 1..50_usize,
        pieces in prop::collection::vec(0..30_usize, 0..60),
    ) {
        let pieces = decode(&Framing::Raw, limit, &stream, &pieces).unwrap();
        prop_assert!(pieces.iter().all(|piece| !piece.is_empty() && piece.len() <= limit));
        prop_assert_eq!(pieces.concat(), stream);
    }

    #[test]
    fn a_message_is_accepted_up_to_the_limit_and_not_beyond(
        framing in transparent(),
        len in prop::sample::select(&BOUNDARIES),
    ) {
        let size = framing.prefix(len).unwrap().len() + len;
        let stream = encode(&framing, &[vec![1; len]]);
        let limit = size.max(framing.least_limit());
        prop_assert!(decode(&framing, limit, &stream, &[]).is_ok());
        if size > framing.least_limit() {
            let refused = FramingError::MessageTooLarge { size: size as u64, limit: size - 1 };
            prop_assert_eq!(decode(&framing, size - 1, &stream, &[]), Err(refused));
        }
    }
}
