//! Any stream of requests, any limits: the same requests and the same error however the bytes arrive,
//! within the limits, and what is encoded is decoded.
//!
//! | input | meaning |
//! |---|---|
//! | byte | which limits: even are the defaults, odd are small ones |
//! | byte, and so many bytes | sizes of the pieces in which the stream arrives, repeated |
//! | the rest | the stream, and then the words of a request to encode |

use arknet_proto::redis::server::{RequestDecoder, RequestError, RequestLimits};

use super::Input;

const SMALL: RequestLimits = RequestLimits {
    max_arguments: 3,
    max_argument_bytes: 16,
    max_request_bytes: 48,
    max_inline_bytes: 24,
};

/// Runs one input.
pub(crate) fn run(data: &[u8]) {
    let mut input = Input(data);
    let limits = match input.byte() % 2 {
        0 => RequestLimits::default(),
        _ => SMALL,
    };
    let count = usize::from(input.byte());
    let pieces = input.take(count);
    let stream = input.0;
    let at_once = decode(limits, stream, &[]);
    for pieces in [pieces, &[1]] {
        assert_eq!(at_once, decode(limits, stream, pieces));
    }
    what_is_encoded_is_decoded(stream, pieces);
}

#[derive(Debug, PartialEq)]
struct Decoded {
    requests: Vec<Vec<Vec<u8>>>,
    end: Result<(), RequestError>,
}

/// Decodes a stream that arrives in `pieces`, again and again; at once if there are none.
fn decode(limits: RequestLimits, stream: &[u8], pieces: &[u8]) -> Decoded {
    let mut decoder = RequestDecoder::new(limits);
    let mut requests = Vec::new();
    let mut sizes = pieces.iter().map(|size| usize::from(*size).max(1)).cycle();
    // What is buffered is stream[consumed..arrived].
    let (mut consumed, mut arrived) = (0, 0);
    loop {
        let buffered = stream.get(consumed..arrived).unwrap();
        let end = match decoder.decode(buffered) {
            Ok(Some(request)) => {
                assert!((1..=buffered.len()).contains(&request.consumed()));
                assert!(
                    request.consumed() <= limits.max_request_bytes.max(limits.max_inline_bytes)
                );
                // Words on a line are as many as its bytes allow.
                assert!(request.len() <= limits.max_arguments.max(limits.max_inline_bytes));
                requests.push(request.arguments().map(<[u8]>::to_vec).collect());
                consumed += request.consumed();
                continue;
            }
            Ok(None) if arrived < stream.len() => {
                arrived += sizes
                    .next()
                    .unwrap_or(usize::MAX)
                    .min(stream.len() - arrived);
                continue;
            }
            Ok(None) => Ok(()),
            Err(error) => {
                assert_eq!(
                    decoder.decode(b"PING\r\n").unwrap_err(),
                    error,
                    "an error is final"
                );
                Err(error)
            }
        };
        return Decoded { requests, end };
    }
}

fn what_is_encoded_is_decoded(words: &[u8], pieces: &[u8]) {
    let request: Vec<Vec<u8>> = words.chunks(7).take(9).map(<[u8]>::to_vec).collect();
    let mut stream = format!("*{}\r\n", request.len()).into_bytes();
    for word in &request {
        stream.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        stream.extend_from_slice(word);
        stream.extend_from_slice(b"\r\n");
    }
    let expected = Decoded {
        requests: vec![request],
        end: Ok(()),
    };
    assert_eq!(decode(RequestLimits::default(), &stream, pieces), expected);
}
