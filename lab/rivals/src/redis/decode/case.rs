//! What is decoded: the bytes, the pieces in which they arrive, and what must come out.

use std::collections::HashMap;

use super::pass::Sizes;

/// Bytes of a read of many small replies.
const SMALL_READ: usize = 8 * 1024;

/// Bytes of a read of a large reply.
const READ: usize = 16 * 1024;

/// Replies of the cases of many.
const REPLIES: usize = 1000;

/// One thing to decode.
///
/// *Unread* ends at the library's own frame, which nobody looks into: a library that puts its work
/// off until then is at its best. *Read* ends at the values that a program asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    /// 1000 bulk strings of 20 bytes, unread.
    Gets,
    /// The same, each as a `String`.
    GetsRead,
    /// 1000 integers, unread.
    Integers,
    /// The same, each as an `i64`.
    IntegersRead,
    /// An array of 100 bulk strings of 1 KiB in pieces, unread.
    Mget,
    /// The same as the library's own vector of bytes.
    MgetRead,
    /// An array of 5000 bulk strings of 50 bytes in one piece, unread.
    LrangeWhole,
    /// The same in pieces of 16 KiB.
    LrangePieces,
    /// A map of 1000 pairs of 50 bytes in pieces, unread.
    Hgetall,
    /// The same as a `HashMap<String, String>`.
    HgetallRead,
    /// A bulk string of 1 MiB in pieces, unread.
    Bulk,
    /// An array of 5000 bulk strings of 50 bytes in one piece, as a `Vec<String>`.
    Strings,
}

impl Case {
    /// All of them, in the order of the output.
    pub(crate) const ALL: &[Self] = &[
        Self::Gets,
        Self::GetsRead,
        Self::Integers,
        Self::IntegersRead,
        Self::Mget,
        Self::MgetRead,
        Self::LrangeWhole,
        Self::LrangePieces,
        Self::Hgetall,
        Self::HgetallRead,
        Self::Bulk,
        Self::Strings,
    ];

    /// The work's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Gets => "decode 1000 get 20 B",
            Self::GetsRead => "decode 1000 get 20 B read",
            Self::Integers => "decode 1000 int",
            Self::IntegersRead => "decode 1000 int read",
            Self::Mget => "decode mget 100x1 KiB",
            Self::MgetRead => "decode mget 100x1 KiB read",
            Self::LrangeWhole => "decode lrange 5000x50 B whole",
            Self::LrangePieces => "decode lrange 5000x50 B pieces",
            Self::Hgetall => "decode hgetall 1000x50 B",
            Self::HgetallRead => "decode hgetall 1000x50 B read",
            Self::Bulk => "decode bulk 1 MiB",
            Self::Strings => "decode Vec<String>",
        }
    }

    /// Whether the values are looked at.
    pub(crate) fn is_read(self) -> bool {
        matches!(
            self,
            Self::GetsRead
                | Self::IntegersRead
                | Self::MgetRead
                | Self::HgetallRead
                | Self::Strings
        )
    }

    /// What the server sends, in RESP3, reply by reply.
    pub(crate) fn replies(self) -> Vec<Vec<u8>> {
        match self {
            Self::Gets | Self::GetsRead => (0..REPLIES).map(|n| bulk(&text(n, 20))).collect(),
            Self::Integers | Self::IntegersRead => {
                let reply = |n| format!(":{}\r\n", integer(n)).into_bytes();
                (0..REPLIES).map(reply).collect()
            }
            Self::Mget | Self::MgetRead => vec![array(100, 1024)],
            Self::LrangeWhole | Self::LrangePieces | Self::Strings => vec![array(5000, 50)],
            Self::Hgetall | Self::HgetallRead => {
                let pairs = pairs().flat_map(|(key, value)| [bulk(&key), bulk(&value)]);
                let head = format!("%{REPLIES}\r\n").into_bytes();
                vec![[head].into_iter().chain(pairs).flatten().collect()]
            }
            Self::Bulk => vec![bulk(&text(0, 1 << 20))],
        }
    }

    /// The same in one.
    pub(crate) fn wire(self) -> Vec<u8> {
        self.replies().concat()
    }

    /// Bytes that arrive at once.
    pub(crate) fn piece(self) -> usize {
        match self {
            Self::Gets | Self::GetsRead | Self::Integers | Self::IntegersRead => SMALL_READ,
            Self::LrangeWhole | Self::Strings => usize::MAX,
            _ => READ,
        }
    }

    /// What a pass must find.
    pub(crate) fn expected(self) -> Sizes {
        let one = |values| Sizes { replies: 1, values };
        let many = |values| Sizes {
            replies: REPLIES,
            values,
        };
        match self {
            Self::Gets | Self::Integers => many(0),
            Self::GetsRead => many(20 * REPLIES as u64),
            Self::IntegersRead => many((0..REPLIES).map(|n| integer(n).unsigned_abs()).sum()),
            Self::MgetRead => one(100 * 1024),
            Self::HgetallRead => {
                let map = pairs().collect::<HashMap<_, _>>();
                one(map.iter().map(|(k, v)| (k.len() + v.len()) as u64).sum())
            }
            Self::Strings => one(5000 * 50),
            Self::Mget | Self::LrangeWhole | Self::LrangePieces | Self::Hgetall | Self::Bulk => {
                one(0)
            }
        }
    }
}

fn array(elements: usize, length: usize) -> Vec<u8> {
    let head = format!("*{elements}\r\n").into_bytes();
    let elements = (0..elements).map(|n| bulk(&text(n, length)));
    [head].into_iter().chain(elements).flatten().collect()
}

fn bulk(text: &str) -> Vec<u8> {
    format!("${}\r\n{text}\r\n", text.len()).into_bytes()
}

fn pairs() -> impl Iterator<Item = (String, String)> {
    (0..REPLIES).map(|n| (text(n, 50), text(REPLIES + n, 50)))
}

/// A text of exactly this length that is different for every `n`.
fn text(n: usize, length: usize) -> String {
    let number = n.to_string();
    let zeros = "0".repeat(length.saturating_sub(number.len()));
    zeros + &number
}

/// Numbers of one to seven digits.
fn integer(n: usize) -> i64 {
    (n * n * n % 9_999_991) as i64
}
