//! What there is to tell of an answer.

use std::sync::Arc;

use crate::mysql::columns::Columns;
use crate::mysql::command::Prepared;
use crate::mysql::error::ServerError;
use crate::mysql::ok::OkPacket;
use crate::mysql::row::Row;
use crate::mysql::wire::Reader;

/// The next thing that a server said.
///
/// An answer is: any number of results, each either an [`Ok`](Self::Ok), or [`Columns`](Self::Columns), rows and an
/// `Ok`; or an error at any place, which ends it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A result set begins. Rows follow.
    Columns(&'a Arc<Columns>),
    /// A row.
    Row(Row<'a>),
    /// A statement succeeded, or a result set ended. If it [has more](OkPacket::has_more), another result follows;
    /// otherwise the answer is complete.
    Ok(OkPacket<'a>),
    /// The statement is prepared, and the answer complete.
    Prepared(Prepared),
    /// The server said no, and the answer is complete.
    Error(ServerError),
    /// The server wants the contents of the file that it calls so. Whatever the caller chooses to send, if anything,
    /// is written by [`Conversation::infile`](super::Conversation::infile).
    LocalInfile(&'a [u8]),
    /// How far a long statement has come (MariaDB).
    Progress(Progress<'a>),
    /// The server said, without having been asked, why it ends the connection.
    Farewell(ServerError),
}

/// How far a long statement has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress<'a> {
    /// The present stage, from 1.
    pub stage: u8,
    /// How many stages there are.
    pub stages: u8,
    /// How far the stage has come, in thousandths of a percent.
    pub milli_percent: u32,
    /// The stage's name.
    pub name: &'a [u8],
}

impl Event<'_> {
    /// Whether the answer is complete with it, and the next event belongs to the next request.
    #[must_use]
    pub fn ends_answer(&self) -> bool {
        match self {
            Self::Ok(ok) => !ok.has_more(),
            Self::Prepared(_) | Self::Error(_) => true,
            _ => false,
        }
    }
}

impl<'a> Progress<'a> {
    /// Whether an error packet is none, but a report of progress.
    pub(super) fn is_in(packet: &[u8]) -> bool {
        packet.starts_with(&[0xff, 0xff, 0xff])
    }

    pub(super) fn parse(packet: &'a [u8]) -> Option<Self> {
        let mut reader = Reader::new(packet.strip_prefix(&[0xff, 0xff, 0xff])?);
        let _strings = reader.u8()?;
        Some(Self {
            stage: reader.u8()?,
            stages: reader.u8()?,
            milli_percent: reader.u24()?,
            name: reader.lenenc_bytes()?,
        })
    }
}
