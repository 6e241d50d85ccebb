//! Percent-encoding, both ways.

use std::fmt::Write as _;

use super::{UriError, UriPart};

/// RFC 3986 has no spaces and no control characters; they come from a line that was broken or copied badly. Letters
/// beyond ASCII are let through: people write them, and they have one meaning.
pub(super) fn check_characters(text: &str) -> Result<(), UriError> {
    if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(UriError::Blank);
    }
    Ok(())
}

/// RFC 3986, 2.1: `%` and two hexadecimal digits are a byte. What comes out must be UTF-8.
pub(super) fn decode(text: &str, part: UriPart) -> Result<String, UriError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let (Some(high), Some(low)) = (digit(rest.next()), digit(rest.next())) else {
            return Err(UriError::Escape { part });
        };
        bytes.push((high << 4) | low);
    }
    String::from_utf8(bytes).map_err(|_| UriError::NotUtf8 { part })
}

fn digit(byte: Option<u8>) -> Option<u8> {
    match byte? {
        byte @ b'0'..=b'9' => Some(byte - b'0'),
        byte @ b'a'..=b'f' => Some(byte - b'a' + 10),
        byte @ b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

/// RFC 3986, 2.3: all but the unreserved characters is encoded.
pub(super) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(byte.into());
        } else {
            // Writing to a string does not fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}
