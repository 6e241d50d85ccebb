//! Any framing, any stream, any way of reading it: the messages are those that the framing finds,
//! whether they are looked at or taken, and whatever becomes of the buffer in between.
//!
//! Input is as for `framing`; the sizes of the pieces also say what is done after each of them.

use arknet_proto::buf::Inbound;
use arknet_proto::framing::{Decoder, Framing, FramingError};
use bytes::{Bytes, BytesMut};

use super::Input;
use super::framing::{Decoded, decode, framing, limit};

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
    let expected = decode(&decoder, stream, &[]);
    let raw = matches!(decoder.framing(), Framing::Raw);
    let mut inbound = Inbound::new(decoder.clone());
    assert_eq!(
        read(&mut inbound, stream, pieces, raw),
        flat(&expected, raw)
    );

    // Whatever is left of one connection does not reach the next.
    inbound.reset();
    assert!(inbound.is_empty());
    assert_eq!(read(&mut inbound, stream, &[0], raw), flat(&expected, raw));
    inbound.discard();
    assert_eq!(
        read(&mut inbound, stream, &[255], raw),
        flat(&expected, raw)
    );
}

type Read = (Vec<Vec<u8>>, Result<(), FramingError>);

/// Raw keeps bytes in order and nothing else.
fn flat(decoded: &Decoded, raw: bool) -> Read {
    let messages = if raw {
        vec![decoded.messages.concat()]
    } else {
        decoded.messages.clone()
    };
    (messages, decoded.end.clone())
}

fn read(inbound: &mut Inbound, stream: &[u8], pieces: &[u8], raw: bool) -> Read {
    let (mut messages, mut taken) = (Vec::new(), Vec::new());
    let mut pieces = pieces.iter().copied().cycle();
    let (mut arrived, mut waiting) = (0, 0);
    // A limit that no message fits is met before the first byte.
    if let Err(error) = inbound.next_message() {
        return (if raw { vec![Vec::new()] } else { messages }, Err(error));
    }
    let end = loop {
        let how = pieces.next().unwrap_or(1);
        let size = usize::from(how / 4).max(1).min(stream.len() - arrived);
        let piece = stream.get(arrived..arrived + size).unwrap();
        inbound.buffer_mut().extend_from_slice(piece);
        (arrived, waiting) = (arrived + size, waiting + size);
        assert_eq!(inbound.len(), waiting);
        let done = read_messages(inbound, how, &mut messages, &mut taken);
        if let Err(error) = done {
            break Err(error);
        }
        assert!(inbound.len() <= waiting, "a message takes something");
        waiting = inbound.len();
        if how & 2 == 2 {
            inbound.settle();
            swap(inbound, how);
            assert_eq!(inbound.len(), waiting);
        }
        if arrived == stream.len() {
            break inbound.finish();
        }
        assert!(inbound.wanted() > 0, "it wants what it has");
    };
    // What was taken is still what it was, after all that happened to the buffer.
    for (at, bytes) in taken {
        let message: &Vec<u8> = messages.get::<usize>(at).unwrap();
        assert_eq!(message, &Vec::from(bytes));
    }
    if raw {
        assert!(messages.iter().all(|message| !message.is_empty()));
        messages = vec![messages.concat()];
    }
    (messages, end)
}

fn read_messages(
    inbound: &mut Inbound,
    how: u8,
    messages: &mut Vec<Vec<u8>>,
    taken: &mut Vec<(usize, Bytes)>,
) -> Result<(), FramingError> {
    while let Some(range) = inbound.next_message()? {
        let message = inbound.message(range.clone()).to_vec();
        // Now and then, so that messages that were only looked at lie before those that are taken.
        if (usize::from(how) + messages.len()).is_multiple_of(3) {
            let before = inbound.len();
            let bytes = inbound.take(range);
            assert_eq!(bytes, message);
            assert_eq!(inbound.len(), before);
            taken.push((messages.len(), bytes));
        }
        messages.push(message);
    }
    Ok(())
}

/// Moves what waits to another buffer, as a drive does that lends and takes back.
fn swap(inbound: &mut Inbound, how: u8) {
    let buffer = inbound.buffer_mut();
    match how % 3 {
        0 => *buffer = BytesMut::from(&buffer[..]),
        1 => {
            let mut lent = BytesMut::with_capacity(buffer.len() + 64);
            lent.extend_from_slice(buffer);
            *buffer = lent;
        }
        _ => buffer.reserve(1_000),
    }
}
