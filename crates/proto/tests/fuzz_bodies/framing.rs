//! Any framing, any limit, any stream: the same messages and the same error however the bytes
//! arrive, within the limit, and what is encoded is decoded.
//!
//! | input | meaning |
//! |---|---|
//! | byte | the kind of framing |
//! | byte | its parameter |
//! | two bytes, little-endian | the limit; from 32,768 on, 1 MiB |
//! | byte, and so many bytes | sizes of the pieces in which the stream arrives, repeated |
//! | the rest | the stream, and then lengths of messages to encode |

use arknet_proto::framing::{Decoder, Frame, Framer, Framing, FramingError, Prefix, Step};

use super::Input;

const LARGE_LIMIT: usize = 1 << 20;
/// Enough to pass every boundary of every prefix several times, little enough to be quick.
const MOST_ENCODED: usize = 8;

/// Runs one input.
pub(crate) fn run(data: &[u8]) {
    let mut input = Input(data);
    let framing = framing(input.byte(), input.byte());
    let limit = limit(input.number());
    let count = usize::from(input.byte());
    let pieces = input.take(count);
    let stream = input.0;
    let Ok(decoder) = Decoder::new(framing, limit) else {
        return;
    };
    the_way_of_arrival_does_not_matter(&decoder, stream, pieces);
    what_is_encoded_is_decoded(&decoder, stream, pieces);
}

pub(super) fn limit(number: usize) -> usize {
    match number {
        small @ ..0x8000 => small,
        _ => LARGE_LIMIT,
    }
}

pub(super) fn framing(kind: u8, parameter: u8) -> Framing {
    let framing = match kind % 7 {
        0 => Ok(Framing::Raw),
        1 => Framing::delimited([parameter]),
        2 => Framing::delimited([b'\r', b'\n']),
        3 => Framing::exact(usize::from(parameter) + 1),
        4 => Ok(Framing::LengthPrefix),
        // Twice the usual limits, so that both maxima are met.
        5 => Framing::big_endian(parameter % 8 + 1, usize::from(parameter) * 256),
        _ => Ok(Framing::custom(Quoted)),
    };
    framing.expect("every parameter makes a framing")
}

fn the_way_of_arrival_does_not_matter(decoder: &Decoder, stream: &[u8], pieces: &[u8]) {
    let at_once = decode(decoder, stream, &[]);
    for pieces in [pieces, &[1]] {
        let in_pieces = decode(decoder, stream, pieces);
        assert_eq!(at_once.end, in_pieces.end);
        assert_eq!(at_once.messages.concat(), in_pieces.messages.concat());
        // Raw keeps bytes in order and nothing else.
        if !matches!(decoder.framing(), Framing::Raw) {
            assert_eq!(at_once.messages, in_pieces.messages);
        }
    }
}

fn what_is_encoded_is_decoded(decoder: &Decoder, lengths: &[u8], pieces: &[u8]) {
    let (mut input, mut stream, mut messages) = (Input(lengths), Vec::new(), Vec::new());
    if !matches!(
        decoder.framing(),
        Framing::LengthPrefix | Framing::BigEndian { .. }
    ) {
        return;
    }
    while !input.is_empty() && messages.len() < MOST_ENCODED {
        // Two past what two bytes can say, so that the longest prefix is reached.
        let message = vec![input.byte(); input.number() + 2];
        match decoder.framing().prefix(message.len()) {
            Ok(prefix) if prefix.len() + message.len() <= decoder.limit() => {
                stream.extend_from_slice(prefix.as_slice());
                stream.extend_from_slice(&message);
                messages.push(message);
            }
            Ok(_) => {}
            Err(error) => assert!(matches!(error, FramingError::PayloadTooLarge { .. })),
        }
    }
    let decoded = decode(decoder, &stream, pieces);
    assert_eq!(
        decoded,
        Decoded {
            messages,
            end: Ok(())
        }
    );
}

#[derive(Debug, PartialEq)]
pub(super) struct Decoded {
    pub(super) messages: Vec<Vec<u8>>,
    pub(super) end: Result<(), FramingError>,
}

/// Decodes a stream that arrives in `pieces`, again and again; at once if there are none.
pub(super) fn decode(decoder: &Decoder, stream: &[u8], pieces: &[u8]) -> Decoded {
    let mut decoder = decoder.clone();
    let mut messages = Vec::new();
    let mut sizes = pieces.iter().map(|size| usize::from(*size).max(1)).cycle();
    // What is buffered is stream[consumed..arrived].
    let (mut consumed, mut arrived) = (0, 0);
    loop {
        let buffered = stream.get(consumed..arrived).unwrap();
        match decoder.decode(buffered) {
            Ok(Some(frame)) => {
                check(frame, buffered, decoder.limit());
                messages.push(frame.payload(buffered).to_vec());
                consumed += frame.consumed;
            }
            Ok(None) if arrived < stream.len() => {
                assert!(decoder.needed() > buffered.len(), "it wants what it has");
                assert!(
                    decoder.needed() <= decoder.limit(),
                    "it wants more than it allows"
                );
                arrived += sizes
                    .next()
                    .unwrap_or(usize::MAX)
                    .min(stream.len() - arrived);
            }
            Ok(None) => {
                return Decoded {
                    messages,
                    end: decoder.finish(buffered.len()),
                };
            }
            Err(error) => {
                return Decoded {
                    messages,
                    end: Err(error),
                };
            }
        }
    }
}

fn check(frame: Frame, buffered: &[u8], limit: usize) {
    assert!(frame.start <= frame.end && frame.end <= frame.consumed);
    assert!(0 < frame.consumed && frame.consumed <= buffered.len());
    assert!(frame.consumed <= limit);
}

/// Text between two bytes that are the same, whichever: a framing with a trailer and a rule.
#[derive(Debug)]
struct Quoted;

impl Framer for Quoted {
    fn decode(&self, buffered: &[u8], scanned: usize, _: usize) -> Result<Step, FramingError> {
        let Some((quote, text)) = buffered.split_first() else {
            return Ok(Step::Incomplete {
                scanned: 0,
                needed: 2,
            });
        };
        if *quote == 0 {
            return Err(FramingError::custom("a quote is not zero"));
        }
        let from = scanned.saturating_sub(1);
        let found = text
            .get(from..)
            .unwrap()
            .iter()
            .position(|byte| byte == quote);
        Ok(match found {
            Some(found) => {
                let end = from + found + 1;
                Step::Frame(Frame {
                    start: 1,
                    end,
                    consumed: end + 1,
                })
            }
            None => Step::Incomplete {
                scanned: buffered.len(),
                needed: buffered.len() + 1,
            },
        })
    }

    fn encode_prefix(&self, _: usize, prefix: &mut Prefix) -> Result<(), FramingError> {
        prefix.push(b"\"")
    }
}
