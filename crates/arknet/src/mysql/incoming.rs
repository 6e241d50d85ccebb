//! What a server says, as whoever it belongs to takes it.

use arknet_proto::mysql::answer::{Conversation, Event};
use arknet_proto::mysql::row::{DecodeError, Row};
use arknet_proto::mysql::session_state::Change;
use arknet_proto::mysql::{ProtocolError, Status};

/// What has been received of an answer.
///
/// Not for users: it is public since [`Units`](super::request::Units) names it.
#[derive(Debug)]
pub struct Incoming<'c> {
    pub(super) conversation: &'c mut Conversation,
    pub(super) buffer: &'c [u8],
    pub(super) at: &'c mut usize,
    pub(super) session: &'c mut Session,
    /// How many bytes of rows may be collected for one request.
    pub(super) max_result: usize,
}

/// What is known of the session's state.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// The schema that it has changed to, if it has.
    pub(super) schema: Option<Box<[u8]>>,
    /// It has changed since that was looked at. A prepared statement stays in the schema in which it was prepared.
    pub(super) has_moved: bool,
    /// Its character set has characters whose last byte can be taken for a quote or a backslash.
    pub(super) is_ambiguous: bool,
}

/// The character sets that a server can be spoken to in and whose characters can end in a byte below 128.
const AMBIGUOUS: [&[u8]; 5] = [b"big5", b"cp932", b"gb18030", b"gbk", b"sjis"];

/// Why a connection is of no more use.
#[derive(Debug)]
pub enum Broken {
    /// The server broke the protocol.
    Protocol(ProtocolError),
    /// The server's rows are not what its columns say.
    Row(DecodeError),
    /// There are more rows than may be collected.
    TooLarge,
    /// The server wants a file that nobody has.
    NoFile,
}

impl From<ProtocolError> for Broken {
    fn from(error: ProtocolError) -> Self {
        Self::Protocol(error)
    }
}

impl Incoming<'_> {
    /// The next row of the present result set, if it has come.
    #[inline]
    pub(super) fn next_row(&mut self) -> Result<Option<Row<'_>>, ProtocolError> {
        self.conversation.next_row(self.buffer, self.at)
    }

    /// Whether a row is next, and has come.
    #[inline]
    pub(super) fn has_row(&mut self) -> bool {
        self.conversation.has_row(self.buffer, *self.at)
    }

    /// The next thing, if it has come.
    pub(super) fn next(&mut self) -> Result<Option<Event<'_>>, ProtocolError> {
        let event = self.conversation.next(self.buffer, self.at)?;
        if let Some(Event::Ok(ok)) = &event
            && ok.status.contains(Status::SESSION_STATE_CHANGED)
        {
            for change in ok.changes() {
                self.session.note(&change);
            }
        }
        Ok(event)
    }
}

impl Session {
    fn note(&mut self, change: &Change<'_>) {
        match change {
            Change::Schema(name) => {
                self.schema = Some((*name).into());
                self.has_moved = true;
            }
            Change::Variable {
                name: b"character_set_client",
                value,
            } => self.is_ambiguous = AMBIGUOUS.contains(value),
            _ => {}
        }
    }
}
