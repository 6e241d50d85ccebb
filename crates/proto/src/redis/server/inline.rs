//! Inline requests: words on a line, quoted as a person types them.
//!
//! Words are separated by white space. In double quotes `\n`, `\r`, `\t`, `\b`, `\a` and `\xFF` are
//! escapes and any other escaped byte is itself; in single quotes only `\'` is one. A closing quote ends
//! its word.

use super::RequestError;
use super::request::Span;

/// Appends the words of `line` to `bytes`, and where each lies there to `spans`.
pub(super) fn split(
    line: &[u8],
    bytes: &mut Vec<u8>,
    spans: &mut Vec<Span>,
) -> Result<(), RequestError> {
    let mut rest = line.trim_ascii_start();
    while !rest.is_empty() {
        let start = bytes.len();
        rest = word(rest, bytes)?.trim_ascii_start();
        let len = bytes.len() - start;
        spans.push(Span { start, len });
    }
    Ok(())
}

/// Appends the word that `text` begins with, and returns what follows it.
fn word<'a>(mut text: &'a [u8], bytes: &mut Vec<u8>) -> Result<&'a [u8], RequestError> {
    loop {
        text = match text {
            [] => return Ok(text),
            [space, ..] if space.is_ascii_whitespace() => return Ok(text),
            [b'"', rest @ ..] => return closed(double_quoted(rest, bytes)?),
            [b'\'', rest @ ..] => return closed(single_quoted(rest, bytes)?),
            [byte, rest @ ..] => {
                bytes.push(*byte);
                rest
            }
        }
    }
}

/// Behind a closing quote the word must end.
fn closed(rest: &[u8]) -> Result<&[u8], RequestError> {
    match rest.first() {
        Some(byte) if !byte.is_ascii_whitespace() => Err(RequestError::UnbalancedQuotes),
        _ => Ok(rest),
    }
}

fn double_quoted<'a>(mut text: &'a [u8], bytes: &mut Vec<u8>) -> Result<&'a [u8], RequestError> {
    loop {
        text = match text {
            [] => return Err(RequestError::UnbalancedQuotes),
            [b'"', rest @ ..] => return Ok(rest),
            [b'\\', b'x', high, low, rest @ ..]
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                bytes.push(nibble(*high) << 4 | nibble(*low));
                rest
            }
            [b'\\', byte, rest @ ..] => {
                bytes.push(unescaped(*byte));
                rest
            }
            [byte, rest @ ..] => {
                bytes.push(*byte);
                rest
            }
        }
    }
}

fn single_quoted<'a>(mut text: &'a [u8], bytes: &mut Vec<u8>) -> Result<&'a [u8], RequestError> {
    loop {
        text = match text {
            [] => return Err(RequestError::UnbalancedQuotes),
            [b'\'', rest @ ..] => return Ok(rest),
            [b'\\', b'\'', rest @ ..] => {
                bytes.push(b'\'');
                rest
            }
            [byte, rest @ ..] => {
                bytes.push(*byte);
                rest
            }
        }
    }
}

fn unescaped(byte: u8) -> u8 {
    match byte {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 0x08,
        b'a' => 0x07,
        other => other,
    }
}

/// The value of a hexadecimal digit.
fn nibble(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        // Upper and lower case differ in one bit.
        _ => (digit | 0x20).wrapping_sub(b'a').wrapping_add(10) & 0x0f,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &[u8]) -> Result<Vec<Vec<u8>>, RequestError> {
        let (mut bytes, mut spans) = (Vec::new(), Vec::new());
        split(line, &mut bytes, &mut spans)?;
        Ok(spans
            .iter()
            .map(|span| bytes[span.start..span.start + span.len].to_vec())
            .collect())
    }

    #[test]
    fn words_are_split_and_unquoted() {
        let read = |line: &[u8]| words(line).unwrap();
        assert_eq!(read(b"  set\tk  v "), [&b"set"[..], b"k", b"v"]);
        assert_eq!(read(b"\"\" ''"), [&b""[..], b""]);
        assert_eq!(read(br#"a"b c" 'd "e'"#), [&b"ab c"[..], b"d \"e"]);
        assert_eq!(
            read(br#""\x00\xfF\xZ\n\\\"" '\'\n'"#),
            [&b"\x00\xffxZ\n\\\""[..], br"'\n"]
        );
        assert_eq!(read(b""), Vec::<Vec<u8>>::new());
    }

    #[test]
    fn a_quote_ends_and_so_does_its_word() {
        for line in [r#""a"#, "'a", r#""a\"#, r#""a"b"#, "'a'b", r#"""""#] {
            assert_eq!(
                words(line.as_bytes()),
                Err(RequestError::UnbalancedQuotes),
                "{line}"
            );
        }
    }
}
