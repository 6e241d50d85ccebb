//! Finds the next request in what has been received.

use super::inline;
use super::request::Span;
use super::{Request, RequestError, RequestLimits};

/// Digits of the largest `i64` with its sign, the type byte and the line end: a number's line that is
/// longer holds no number.
const MAX_NUMBER_LINE: usize = 1 + 20 + 2;

/// Arguments for which room is made before they have come; a count alone costs no more memory.
const RESERVED_ARGUMENTS: usize = 64;

/// Reads requests of one connection: arrays of bulk strings, and inline commands.
///
/// The caller owns the buffer and offers it from its first unconsumed byte. After every read, call
/// [`decode`](Self::decode) until it returns `None`, and drop [`Request::consumed`] bytes after each
/// request. The decoder remembers how far it got, so that a request in many pieces costs what it costs
/// whole.
///
/// It is stricter than Redis in one point: what follows an argument must be CR LF.
#[derive(Debug)]
pub struct RequestDecoder {
    limits: RequestLimits,
    /// Bytes of the unfinished request that need not be looked at again.
    at: usize,
    /// Arguments still to come of the array that has begun.
    missing: Option<usize>,
    /// The length of the argument whose head has been read, and whose bytes begin at `at`.
    bulk: Option<usize>,
    spans: Vec<Span>,
    /// The arguments of an inline request without their quotes.
    unquoted: Vec<u8>,
    failed: Option<RequestError>,
}

/// What a look at the buffer brought: something, or the wish for more bytes.
type Found<T> = Result<Option<T>, RequestError>;

impl RequestDecoder {
    /// A decoder at the beginning of a stream.
    #[must_use]
    pub fn new(limits: RequestLimits) -> Self {
        Self {
            limits,
            at: 0,
            missing: None,
            bulk: None,
            spans: Vec::new(),
            unquoted: Vec::new(),
            failed: None,
        }
    }

    /// Looks for the request that begins with the first byte of `received`. `None` means that it has not
    /// ended: call again with more, beginning with the same byte.
    ///
    /// # Errors
    ///
    /// The rule that the client broke. It is final, and every later call returns it.
    pub fn decode<'a>(
        &'a mut self,
        received: &'a [u8],
    ) -> Result<Option<Request<'a>>, RequestError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        match self.find(received) {
            Ok(None) => Ok(None),
            Ok(Some(is_inline)) => {
                let consumed = std::mem::take(&mut self.at);
                self.missing = None;
                Ok(Some(Request {
                    bytes: if is_inline { &self.unquoted } else { received },
                    spans: &self.spans,
                    consumed,
                }))
            }
            Err(error) => {
                self.failed = Some(error);
                Err(error)
            }
        }
    }

    /// Whether bytes of an unfinished request have been seen: the stream may not end here.
    #[must_use]
    pub fn is_inside(&self) -> bool {
        self.at > 0
    }

    /// Finds the end of the request, and says whether it is an inline one; `at` is its length then.
    fn find(&mut self, received: &[u8]) -> Found<bool> {
        if self.missing.is_none() {
            match received.first() {
                None => return Ok(None),
                Some(b'*') => {
                    self.spans.clear();
                    let Some(count) = self.count(received)? else {
                        return Ok(None);
                    };
                    self.missing = Some(count);
                    self.spans.reserve(count.min(RESERVED_ARGUMENTS));
                }
                Some(_) => return self.line(received),
            }
        }
        while let Some(missing @ 1..) = self.missing {
            let Some(span) = self.argument(received)? else {
                return Ok(None);
            };
            self.spans.push(span);
            self.missing = Some(missing - 1);
        }
        Ok(Some(false))
    }

    /// The head of an array: how many arguments follow. Redis takes a negative count for none.
    fn count(&mut self, received: &[u8]) -> Found<usize> {
        let Some(number) = self.number(received, RequestError::InvalidCount)? else {
            return Ok(None);
        };
        match usize::try_from(number) {
            Ok(count) if count <= self.limits.max_arguments => Ok(Some(count)),
            Err(_) if number < 0 => Ok(Some(0)),
            _ => Err(RequestError::InvalidCount),
        }
    }

    /// The argument at `at`, its head first.
    fn argument(&mut self, received: &[u8]) -> Found<Span> {
        let len = match self.bulk {
            Some(len) => len,
            None => {
                let Some(len) = self.length(received)? else {
                    return Ok(None);
                };
                self.bulk = Some(len);
                len
            }
        };
        let start = self.at;
        let end = start.saturating_add(len);
        match received.get(end..) {
            Some([b'\r', b'\n', ..]) => {
                self.bulk = None;
                self.at = end + 2;
                Ok(Some(Span { start, len }))
            }
            None | Some([] | [b'\r']) => Ok(None),
            Some(_) => Err(RequestError::MissingEnd),
        }
    }

    /// The head of an argument: how long it is.
    fn length(&mut self, received: &[u8]) -> Found<usize> {
        match received.get(self.at) {
            None => return Ok(None),
            Some(b'$') => {}
            Some(found) => return Err(RequestError::ExpectedBulk { found: *found }),
        }
        let Some(number) = self.number(received, RequestError::InvalidLength)? else {
            return Ok(None);
        };
        let len = usize::try_from(number).map_err(|_| RequestError::InvalidLength)?;
        if len > self.limits.max_argument_bytes {
            return Err(RequestError::InvalidLength);
        }
        let limit = self.limits.max_request_bytes;
        // With its line end; refused before the bytes come.
        if self.at.saturating_add(len).saturating_add(2) > limit {
            return Err(RequestError::TooLarge { limit });
        }
        Ok(Some(len))
    }

    /// The number on the line that begins at `at` with a type byte; then `at` is behind the line.
    fn number(&mut self, received: &[u8], invalid: RequestError) -> Found<i64> {
        let line = received.get(self.at..).unwrap_or_default();
        let line = line
            .get(..line.len().min(MAX_NUMBER_LINE))
            .unwrap_or_default();
        let Some(len) = memchr::memchr(b'\n', line) else {
            let too_long = line.len() == MAX_NUMBER_LINE;
            return if too_long { Err(invalid) } else { Ok(None) };
        };
        let digits = line
            .get(1..len)
            .and_then(|text| text.strip_suffix(b"\r"))
            .ok_or(invalid)?;
        self.at += len + 1;
        parse(digits).map(Some).ok_or(invalid)
    }

    /// An inline request: a line of words.
    fn line(&mut self, received: &[u8]) -> Found<bool> {
        let limit = self.limits.max_inline_bytes;
        let window = received
            .get(..received.len().min(limit))
            .unwrap_or_default();
        let unseen = window.get(self.at..).unwrap_or_default();
        let Some(offset) = memchr::memchr(b'\n', unseen) else {
            self.at = window.len();
            return match received.len() >= limit {
                true => Err(RequestError::InlineTooLong),
                false => Ok(None),
            };
        };
        let end = self.at + offset;
        let line = received.get(..end).unwrap_or_default();
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        self.spans.clear();
        self.unquoted.clear();
        inline::split(line, &mut self.unquoted, &mut self.spans)?;
        self.at = end + 1;
        Ok(Some(true))
    }
}

/// A whole number as the protocol writes it: an optional minus, digits, no leading zero.
fn parse(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    match digits {
        [] => return None,
        [b'0'] if !negative => return Some(0),
        [b'0', ..] => return None,
        _ => {}
    }
    digits.iter().try_fold(0_i64, |value, byte| {
        let digit = i64::from(char::from(*byte).to_digit(10)?);
        let value = value.checked_mul(10)?;
        if negative {
            value.checked_sub(digit)
        } else {
            value.checked_add(digit)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All requests of a stream that arrives in pieces of `step` bytes, and how it ended.
    fn decode(
        limits: RequestLimits,
        stream: &[u8],
        step: usize,
    ) -> (Vec<Vec<Vec<u8>>>, Option<RequestError>) {
        let mut decoder = RequestDecoder::new(limits);
        let (mut start, mut end, mut requests) = (0, 0, Vec::new());
        loop {
            match decoder.decode(&stream[start..end]) {
                Ok(Some(request)) => {
                    requests.push(request.arguments().map(<[u8]>::to_vec).collect());
                    start += request.consumed();
                }
                Ok(None) if end < stream.len() => end = (end + step).min(stream.len()),
                Ok(None) => return (requests, None),
                Err(error) => return (requests, Some(error)),
            }
        }
    }

    fn words(requests: &[&[&[u8]]]) -> Vec<Vec<Vec<u8>>> {
        let owned = |request: &&[&[u8]]| request.iter().map(|word| word.to_vec()).collect();
        requests.iter().map(owned).collect()
    }

    #[test]
    fn requests_are_found_whole_and_in_pieces_of_every_size() {
        let stream = b"*2\r\n$3\r\nGET\r\n$0\r\n\r\nPING\r\n*0\r\n*-1\r\n\r\n*1\r\n$6\r\na\r\n\x00\xffb\r\nSET k \"a b\\n\"\n";
        let expected = words(&[
            &[b"GET", b""],
            &[b"PING"],
            &[],
            &[],
            &[],
            &[b"a\r\n\x00\xffb"],
            &[b"SET", b"k", b"a b\n"],
        ]);
        for step in 1..=stream.len() {
            let found = decode(RequestLimits::default(), stream, step);
            assert_eq!(found, (expected.clone(), None), "in pieces of {step}");
        }
    }

    #[test]
    fn each_broken_rule_is_named_however_it_arrives() {
        let broken = [
            (&b"*x\r\n"[..], RequestError::InvalidCount),
            (b"*1\n", RequestError::InvalidCount),
            (b"*01\r\n", RequestError::InvalidCount),
            (b"*-0\r\n", RequestError::InvalidCount),
            (b"*\r\n", RequestError::InvalidCount),
            (b"*1048577\r\n", RequestError::InvalidCount),
            (b"*9223372036854775808\r\n", RequestError::InvalidCount),
            (b"*1111111111111111111111111", RequestError::InvalidCount),
            (b"*1\r\n:1\r\n", RequestError::ExpectedBulk { found: b':' }),
            (b"*1\r\n$-1\r\n", RequestError::InvalidLength),
            (b"*1\r\n$99999999999\r\n", RequestError::InvalidLength),
            (b"*1\r\n$ 1\r\n", RequestError::InvalidLength),
            (b"*1\r\n$1\r\nab\r\n", RequestError::MissingEnd),
            (b"*1\r\n$1\r\na\rb", RequestError::MissingEnd),
            (b"GET \"k\r\n", RequestError::UnbalancedQuotes),
        ];
        for (stream, error) in broken {
            for step in 1..=stream.len() {
                let found = decode(RequestLimits::default(), stream, step);
                let text = String::from_utf8_lossy(stream);
                assert_eq!(found, (vec![], Some(error)), "{text:?} in pieces of {step}");
            }
        }
    }

    #[test]
    fn limits_are_met_exactly_and_refused_beyond() {
        let limits = RequestLimits {
            max_arguments: 2,
            max_argument_bytes: 3,
            max_request_bytes: 21,
            max_inline_bytes: 6,
        };
        let fits = |stream: &[u8]| decode(limits, stream, usize::MAX >> 1).1;
        assert_eq!(
            fits(b"*2\r\n$3\r\nabc\r\n$3\r\nabc\r\n"),
            Some(RequestError::TooLarge { limit: 21 })
        );
        assert_eq!(
            fits(b"*2\r\n$3\r\nabc\r\n$3\r\nabc"),
            Some(RequestError::TooLarge { limit: 21 })
        );
        assert_eq!(fits(b"*2\r\n$3\r\nabc\r\n$1\r\na\r\n"), None);
        assert_eq!(fits(b"*3\r\n"), Some(RequestError::InvalidCount));
        assert_eq!(fits(b"*1\r\n$4\r\n"), Some(RequestError::InvalidLength));
        assert_eq!(fits(b"PING\r\n"), None);
        assert_eq!(fits(b"PINGS\r\n"), Some(RequestError::InlineTooLong));
        assert_eq!(fits(b"PINGSS"), Some(RequestError::InlineTooLong));
    }

    #[test]
    fn an_error_is_final() {
        let mut decoder = RequestDecoder::new(RequestLimits::default());
        assert_eq!(
            decoder.decode(b"*x\r\n").unwrap_err(),
            RequestError::InvalidCount
        );
        assert_eq!(
            decoder.decode(b"PING\r\n").unwrap_err(),
            RequestError::InvalidCount
        );
    }

    #[test]
    fn a_stream_may_end_between_requests_only() {
        let mut decoder = RequestDecoder::new(RequestLimits::default());
        assert!(decoder.decode(b"PING\r\n").unwrap().is_some());
        assert!(!decoder.is_inside());
        assert!(decoder.decode(b"PIN").unwrap().is_none());
        assert!(decoder.is_inside());
        assert!(decoder.decode(b"PING\r\n").unwrap().is_some());
        assert!(decoder.decode(b"*1\r\n").unwrap().is_none());
        assert!(decoder.is_inside());
    }

    #[test]
    fn errors_speak_as_redis_does() {
        let told = [
            (RequestError::InvalidCount, "invalid multibulk length"),
            (RequestError::InvalidLength, "invalid bulk length"),
            (
                RequestError::ExpectedBulk { found: b'x' },
                "expected '$', got 'x'",
            ),
            (RequestError::InlineTooLong, "too big inline request"),
            (
                RequestError::UnbalancedQuotes,
                "unbalanced quotes in request",
            ),
            (
                RequestError::TooLarge { limit: 9 },
                "request exceeds 9 bytes",
            ),
        ];
        for (error, text) in told {
            assert_eq!(error.to_string(), text);
        }
    }
}
