//! A reply as [`cli`](super::RedisServer::cli) sees it: RESP2, read plainly.

use std::io::{self, BufRead};

/// Replies that a test asks for nest a few levels; more is not what it asked for.
const MAX_DEPTH: usize = 32;

/// The largest bulk string that Redis sends by default.
const MAX_BULK: i64 = 512 * 1024 * 1024;

/// Elements of one array.
const MAX_ELEMENTS: i64 = 1 << 20;

/// A reply of RESP2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// `+OK`
    Simple(String),
    /// `-ERR ...`
    Error(String),
    /// `:1`
    Integer(i64),
    /// `$5`
    Bulk(Vec<u8>),
    /// `$-1` or `*-1`
    Nil,
    /// `*2`
    Array(Vec<Answer>),
}

impl Answer {
    /// The text of a simple or bulk string.
    ///
    /// # Panics
    ///
    /// When it is something else, or no UTF-8.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Simple(text) => text.clone(),
            Self::Bulk(bytes) => match String::from_utf8(bytes.clone()) {
                Ok(text) => text,
                Err(error) => panic!("a text was expected: {error}"),
            },
            other => panic!("a text was expected, not {other:?}"),
        }
    }

    /// The number of an integer reply.
    ///
    /// # Panics
    ///
    /// When it is something else.
    #[must_use]
    pub fn integer(&self) -> i64 {
        match self {
            Self::Integer(number) => *number,
            other => panic!("an integer was expected, not {other:?}"),
        }
    }

    /// The elements of an array.
    ///
    /// # Panics
    ///
    /// When it is something else.
    #[must_use]
    pub fn array(&self) -> &[Self] {
        match self {
            Self::Array(elements) => elements,
            other => panic!("an array was expected, not {other:?}"),
        }
    }

    /// The text of an error reply, or none.
    #[must_use]
    pub fn error(&self) -> Option<&str> {
        match self {
            Self::Error(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn read(from: &mut impl BufRead) -> io::Result<Self> {
        Self::read_nested(from, MAX_DEPTH)
    }

    fn read_nested(from: &mut impl BufRead, depth: usize) -> io::Result<Self> {
        let line = line(from)?;
        let (kind, rest) = line
            .split_at_checked(1)
            .ok_or_else(|| broken("an empty line"))?;
        match kind {
            "+" => Ok(Self::Simple(rest.to_owned())),
            "-" => Ok(Self::Error(rest.to_owned())),
            ":" => Ok(Self::Integer(number(rest)?)),
            "$" => match number(rest)? {
                -1 => Ok(Self::Nil),
                len @ 0..=MAX_BULK => bulk(from, usize::try_from(len).unwrap_or_default()),
                _ => Err(broken(&line)),
            },
            "*" => match number(rest)? {
                -1 => Ok(Self::Nil),
                count @ 0..=MAX_ELEMENTS if depth > 0 => (0..count)
                    .map(|_| Self::read_nested(from, depth - 1))
                    .collect::<io::Result<_>>()
                    .map(Self::Array),
                _ => Err(broken(&line)),
            },
            _ => Err(broken(&line)),
        }
    }
}

fn line(from: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    from.read_until(b'\n', &mut line)?;
    match line.strip_suffix(b"\r\n") {
        Some(text) => Ok(String::from_utf8_lossy(text).into_owned()),
        None => Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "read reply: the stream ended",
        )),
    }
}

fn bulk(from: &mut impl BufRead, len: usize) -> io::Result<Answer> {
    let mut bytes = vec![0; len + 2];
    from.read_exact(&mut bytes)?;
    if bytes.split_off(len) != b"\r\n" {
        return Err(broken("a bulk string without its end"));
    }
    Ok(Answer::Bulk(bytes))
}

fn number(text: &str) -> io::Result<i64> {
    text.parse().map_err(|_| broken(text))
}

fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("read reply: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_reply_is_read() {
        let mut stream = &b"*7\r\n+OK\r\n-ERR no\r\n:-3\r\n$2\r\n\r\n\r\n$-1\r\n*-1\r\n*0\r\n"[..];
        let read = Answer::read(&mut stream).unwrap();
        assert_eq!(
            read.array(),
            [
                Answer::Simple("OK".to_owned()),
                Answer::Error("ERR no".to_owned()),
                Answer::Integer(-3),
                Answer::Bulk(b"\r\n".to_vec()),
                Answer::Nil,
                Answer::Nil,
                Answer::Array(Vec::new()),
            ]
        );
    }

    #[test]
    fn a_reply_that_is_none_is_an_error() {
        for stream in [
            "",
            "+OK",
            "?\r\n",
            "\r\n",
            "$3\r\nabcde",
            "*1\r\n",
            ":x\r\n",
            "$-2\r\n",
        ] {
            assert!(Answer::read(&mut stream.as_bytes()).is_err(), "{stream:?}");
        }
    }
}
