//! What players and the arena say to each other: messages of a few bytes, numbers little-endian.

/// The largest message of a player: a name, and what stands before it.
pub(crate) const LARGEST_REQUEST: usize = 40;

/// A name is at most so long.
const LONGEST_NAME: usize = 32;

const JOIN: u8 = 1;
const MOVE: u8 = 2;
const WELCOME: u8 = 3;
const SNAPSHOT: u8 = 4;
const GOODBYE: u8 = 5;

/// What a player says.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Request<'a> {
    Join(&'a str),
    Move(i8, i8),
}

impl<'a> Request<'a> {
    pub(crate) fn read(message: &'a [u8]) -> Option<Self> {
        match message {
            [JOIN, name @ ..] if (1..=LONGEST_NAME).contains(&name.len()) => {
                std::str::from_utf8(name).ok().map(Self::Join)
            }
            [MOVE, x, y] => Some(Self::Move(x.cast_signed(), y.cast_signed())),
            _ => None,
        }
    }

    pub(crate) fn write(&self) -> Vec<u8> {
        match self {
            Self::Join(name) => [&[JOIN], name.as_bytes()].concat(),
            Self::Move(x, y) => vec![MOVE, x.cast_unsigned(), y.cast_unsigned()],
        }
    }
}

/// What the arena says.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Response {
    Welcome {
        score: u32,
    },
    /// Who is near: how many.
    Snapshot {
        near: usize,
    },
    Goodbye,
}

impl Response {
    pub(crate) fn read(message: &[u8]) -> Option<Self> {
        match message {
            [WELCOME, score @ ..] => Some(Self::Welcome {
                score: u32::from_le_bytes(score.try_into().ok()?),
            }),
            [SNAPSHOT, near @ ..] => Some(Self::Snapshot {
                near: near.len() / Seen::SIZE,
            }),
            [GOODBYE] => Some(Self::Goodbye),
            _ => None,
        }
    }
}

pub(crate) fn welcome(score: u32) -> Vec<u8> {
    [&[WELCOME][..], &score.to_le_bytes()].concat()
}

pub(crate) fn goodbye() -> Vec<u8> {
    vec![GOODBYE]
}

/// A player in a snapshot.
pub(crate) struct Seen {
    pub(crate) id: u32,
    pub(crate) x: u16,
    pub(crate) y: u16,
    pub(crate) score: u32,
}

impl Seen {
    const SIZE: usize = 12;
}

/// Writes a snapshot into `message`, whose storage is used again.
pub(crate) fn snapshot(message: &mut Vec<u8>, seen: impl Iterator<Item = Seen>) {
    message.clear();
    message.push(SNAPSHOT);
    for Seen { id, x, y, score } in seen {
        message.extend(id.to_le_bytes());
        message.extend(x.to_le_bytes());
        message.extend(y.to_le_bytes());
        message.extend(score.to_le_bytes());
    }
}
