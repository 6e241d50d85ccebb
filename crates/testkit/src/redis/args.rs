//! The arguments of a command: borrowed from what was received, or kept from a queued transaction.

use arknet_proto::redis::server::Request;

use super::refusal::{NOT_INTEGER, Refusal};

#[derive(Clone, Copy, Debug)]
pub(super) enum Args<'a> {
    Received(Request<'a>),
    Queued(&'a [Vec<u8>]),
}

impl<'a> Args<'a> {
    /// How many, the name among them.
    pub(super) fn len(self) -> usize {
        match self {
            Self::Received(request) => request.len(),
            Self::Queued(words) => words.len(),
        }
    }

    /// The argument with this index, the name being number 0; empty beyond the last.
    pub(super) fn get(self, index: usize) -> &'a [u8] {
        self.find(index).unwrap_or_default()
    }

    pub(super) fn find(self, index: usize) -> Option<&'a [u8]> {
        match self {
            Self::Received(request) => request.argument(index),
            Self::Queued(words) => words.get(index).map(Vec::as_slice),
        }
    }

    /// The arguments from this index on.
    pub(super) fn from(self, index: usize) -> impl Iterator<Item = &'a [u8]> {
        (index..self.len()).map(move |index| self.get(index))
    }

    /// Whether the argument is this word, in any case.
    pub(super) fn is(self, index: usize, word: &str) -> bool {
        self.get(index).eq_ignore_ascii_case(word.as_bytes())
    }

    /// The argument as text, for names and messages; what is no UTF-8 is replaced.
    pub(super) fn text(self, index: usize) -> String {
        String::from_utf8_lossy(self.get(index)).into_owned()
    }

    pub(super) fn integer(self, index: usize) -> Result<i64, Refusal> {
        integer(self.get(index)).ok_or(NOT_INTEGER)
    }

    pub(super) fn owned(self) -> Vec<Vec<u8>> {
        self.from(0).map(<[u8]>::to_vec).collect()
    }
}

/// A whole number as Redis reads it: no plus, no leading zeros, no space.
pub(super) fn integer(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let canonical = match digits {
        [b'0'] => digits.len() == text.len(),
        [b'1'..=b'9', ..] => true,
        _ => false,
    };
    if !canonical {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_one_in_its_shortest_form_only() {
        for (text, number) in [
            ("0", 0),
            ("-1", -1),
            ("10", 10),
            ("-9223372036854775808", i64::MIN),
        ] {
            assert_eq!(integer(text.as_bytes()), Some(number));
        }
        for text in [
            "",
            "-",
            "-0",
            "01",
            "+1",
            " 1",
            "1 ",
            "1.0",
            "9223372036854775808",
        ] {
            assert_eq!(integer(text.as_bytes()), None, "{text:?}");
        }
    }
}
