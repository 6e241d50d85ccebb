//! Requests and their answers on one connection.

use std::collections::VecDeque;

use super::event::{Event, Progress};
use super::infile::LocalInfile;
use super::state::{Answer, Meaning};
use crate::mysql::capabilities::{Capabilities, Status};
use crate::mysql::command::Request;
use crate::mysql::error::{ProtocolError, ServerError};
use crate::mysql::handshake::Established;
use crate::mysql::limits::Limits;
use crate::mysql::ok::OkPacket;
use crate::mysql::packet::PacketReader;
use crate::mysql::row::Row;

/// A connection after its handshake: which requests wait for answers, and what the answers are.
///
/// It owns no buffer. After each read, call [`next`](Self::next) with what was received and a position in it, which it
/// moves, until it returns `None`; then drop what lies before the position and read more. While rows come,
/// [`next_row`](Self::next_row) is the shorter way.
///
/// ```
/// # use arknet_proto::mysql::answer::{Conversation, Event};
/// # use arknet_proto::mysql::{command, Limits, Capabilities, Status};
/// # fn exchange(_: &[u8]) -> Vec<u8> {
/// #     b"\x01\0\0\x01\x01\x17\0\0\x02\x03def\0\0\0\x011\0\x0c\x3f\0\x01\0\0\0\x08\x81\0\0\0\0\x02\0\0\x03\x011\x07\0\0\x04\xfe\0\0\x02\0\0\0".to_vec()
/// # }
/// # let agreed = Capabilities::PROTOCOL_41 | Capabilities::DEPRECATE_EOF;
/// let mut conversation = Conversation::new(agreed, Status::default(), Limits::default());
/// let mut wire = Vec::new();
/// let request = command::query(&mut wire, b"SELECT 1", 1 << 24)?;
/// conversation.submit(request);
/// let received = exchange(&wire);
///
/// let (mut at, mut ones) = (0, Vec::new());
/// while let Some(event) = conversation.next(&received, &mut at)? {
///     if let Event::Row(row) = event {
///         ones.push(row.read::<i64>()?);
///     }
/// }
/// assert_eq!(ones, [1]);
/// assert!(conversation.is_idle());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Conversation {
    reader: PacketReader,
    answer: Answer,
    waiting: VecDeque<Waiting>,
    /// Bytes of all requests so far.
    written: u64,
    broken: bool,
}

/// A request that has not been answered.
#[derive(Debug)]
struct Waiting {
    request: Request,
    /// Where its first byte is among all that were written.
    from: u64,
}

/// What became of a request whose answer will not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Not one byte of it can have been sent.
    NotSent,
    /// The server may have done it.
    Unknown,
}

impl Conversation {
    /// Nothing was asked yet.
    #[must_use]
    pub fn new(agreed: Capabilities, status: Status, limits: Limits) -> Self {
        let mut reader = PacketReader::new(&limits);
        if agreed.contains(Capabilities::COMPRESS) {
            reader.ignore_sequence();
        }
        Self {
            reader,
            answer: Answer::new(agreed, limits, status),
            waiting: VecDeque::new(),
            written: 0,
            broken: false,
        }
    }

    /// After this handshake.
    #[must_use]
    pub fn after(established: &Established, limits: Limits) -> Self {
        Self::new(established.capabilities, established.status, limits)
    }

    /// A request was written behind all others.
    pub fn submit(&mut self, request: Request) {
        let from = self.written;
        self.written = from.saturating_add(request.wire_len as u64);
        let is_first = self.waiting.is_empty();
        if is_first && !request.is_answered() {
            self.answer.pass(request);
            return;
        }
        self.waiting.push_back(Waiting { request, from });
        if is_first {
            self.begin_front();
        }
    }

    /// The session was begun anew by other means than [`reset_connection`](crate::mysql::command::reset_connection):
    /// no statement is prepared any more. Called while nothing waits.
    pub fn forget_statements(&mut self) {
        self.answer.forget_statements();
    }

    /// How many requests wait for an answer, the one being answered included.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting
            .iter()
            .filter(|waiting| waiting.request.is_answered())
            .count()
    }

    /// Whether every request has been answered.
    #[inline]
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether the connection is of no more use: the server ended it, or said something out of turn, or broke the
    /// protocol.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.broken || self.reader.is_stray()
    }

    /// The server's state, as of the last result.
    #[must_use]
    pub fn status(&self) -> Status {
        self.answer.status()
    }

    /// What both sides use.
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        self.answer.agreed()
    }

    /// The fewest bytes that must lie behind the position before anything comes of it, as of the last `None`. A hint
    /// for reading, not for allocating.
    #[must_use]
    pub fn needed(&self) -> usize {
        self.reader.needed()
    }

    /// Bytes of all requests so far.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.written
    }

    /// The next row of the present result set. `None` if it has not all come, or if something else is next: then
    /// [`next`](Self::next) says what.
    ///
    /// # Errors
    ///
    /// [`ProtocolError`]: the connection can only be closed.
    #[inline]
    pub fn next_row<'a>(
        &'a mut self,
        buffer: &'a [u8],
        at: &mut usize,
    ) -> Result<Option<Row<'a>>, ProtocolError> {
        let mut end = *at;
        let Some(packet) = self.reader.next_whole(buffer, &mut end) else {
            return Ok(None);
        };
        match self.answer.take_row(packet) {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(error) => {
                self.broken = true;
                return Err(error);
            }
        }
        self.reader.take_whole();
        *at = end;
        Ok(Some(Row::new(
            &self.answer.columns,
            self.answer.format,
            packet,
        )))
    }

    /// Whether the next packet is a row of the present result set and has all come in one frame, so that
    /// [`next_row`](Self::next_row) gives it. Nothing is taken.
    #[inline]
    pub fn has_row(&mut self, buffer: &[u8], at: usize) -> bool {
        let mut end = at;
        let packet = self.reader.next_whole(buffer, &mut end);
        packet.is_some_and(|packet| self.answer.is_row(packet))
    }

    /// The row that the last [`Event::Row`] was, for as long as nothing else was taken and the buffer is as it was.
    #[must_use]
    pub fn last_row<'a>(&'a self, buffer: &'a [u8]) -> Row<'a> {
        let packet = self.reader.last(buffer);
        Row::new(&self.answer.columns, self.answer.format, packet)
    }

    /// The next thing that the server said. `None` if it has not all come.
    ///
    /// # Errors
    ///
    /// [`ProtocolError`]: the connection can only be closed.
    pub fn next<'a>(
        &'a mut self,
        buffer: &'a [u8],
        at: &mut usize,
    ) -> Result<Option<Event<'a>>, ProtocolError> {
        let result = self.advance(buffer, at);
        let meaning = match result {
            Ok(None) => return Ok(None),
            Ok(Some(meaning)) => meaning,
            Err(error) => {
                self.broken = true;
                return Err(error);
            }
        };
        let packet = self.reader.last(buffer);
        Ok(Some(match meaning {
            Said::Farewell(error) => Event::Farewell(error),
            Said::Answer(meaning) => match meaning {
                Meaning::Nothing | Meaning::Columns => Event::Columns(&self.answer.columns),
                Meaning::Row => {
                    Event::Row(Row::new(&self.answer.columns, self.answer.format, packet))
                }
                Meaning::Ok { is_eof: true, .. } => Event::Ok(OkPacket::parse_eof(packet)?),
                Meaning::Ok { .. } => Event::Ok(OkPacket::parse(packet, self.answer.agreed())?),
                Meaning::Prepared(prepared) => Event::Prepared(prepared),
                Meaning::Error(error) => Event::Error(error),
                Meaning::LocalInfile => Event::LocalInfile(packet.get(1..).unwrap_or_default()),
                Meaning::Progress => match Progress::parse(packet) {
                    Some(progress) => Event::Progress(progress),
                    None => return Err(ProtocolError::malformed("progress report")),
                },
            },
        }))
    }

    /// Answers [`Event::LocalInfile`]. Nothing else may be written before its end, so a request that can lead to it
    /// must not have others behind it.
    pub fn infile(&mut self) -> LocalInfile<'_> {
        LocalInfile {
            reader: &mut self.reader,
        }
    }

    /// The server ended its stream, with `remaining` bytes behind the position.
    ///
    /// # Errors
    ///
    /// [`ProtocolError::UnexpectedEnd`] if that was inside a packet or before an answer.
    pub fn finish(&mut self, remaining: usize) -> Result<(), ProtocolError> {
        self.broken = true;
        self.reader.finish(remaining)?;
        if !self.waiting.is_empty() {
            return Err(ProtocolError::UnexpectedEnd { what: "an answer" });
        }
        Ok(())
    }

    /// The connection is lost. Says of each request that waits, the oldest first, what may have become of it, if the
    /// first `handed_over` bytes of all that were written have been given to the operating system.
    pub fn lost(&mut self, handed_over: u64) -> impl Iterator<Item = Fate> + use<'_> {
        self.broken = true;
        let waiting = self.waiting.drain(..);
        let answered = waiting.filter(|waiting| waiting.request.is_answered());
        answered.map(move |waiting| {
            if waiting.from >= handed_over {
                Fate::NotSent
            } else {
                Fate::Unknown
            }
        })
    }

    fn advance(&mut self, buffer: &[u8], at: &mut usize) -> Result<Option<Said>, ProtocolError> {
        if self.waiting.is_empty() {
            return self.unsolicited(buffer, at);
        }
        loop {
            let Some(packet) = self.reader.next(buffer, at)? else {
                return Ok(None);
            };
            let meaning = self.answer.handle(packet)?;
            match &meaning {
                Meaning::Nothing => continue,
                Meaning::Ok { more: false, .. } | Meaning::Prepared(_) => self.pop_front(),
                Meaning::Error(error) => {
                    self.broken |= error.ends_connection();
                    self.pop_front();
                }
                _ => {}
            }
            return Ok(Some(Said::Answer(meaning)));
        }
    }

    /// Servers say why they end an idle connection. Nothing else comes without a request.
    #[cold]
    fn unsolicited(
        &mut self,
        buffer: &[u8],
        at: &mut usize,
    ) -> Result<Option<Said>, ProtocolError> {
        let len = buffer.len().saturating_sub(*at);
        if len == 0 {
            return Ok(None);
        }
        self.broken = true;
        self.reader.expect(0);
        let Some(packet) = self.reader.next(buffer, at)? else {
            return Ok(None);
        };
        match ServerError::parse(packet) {
            Some(error) => Ok(Some(Said::Farewell(error))),
            None => Err(ProtocolError::Unsolicited { len }),
        }
    }

    fn pop_front(&mut self) {
        self.waiting.pop_front();
        self.answer.end();
        self.begin_front();
    }

    fn begin_front(&mut self) {
        while let Some(front) = self.waiting.front() {
            let request = front.request;
            if request.is_answered() {
                self.reader.expect(request.sequence);
                self.answer.begin(request);
                return;
            }
            self.answer.pass(request);
            self.waiting.pop_front();
        }
    }
}

enum Said {
    Answer(Meaning),
    Farewell(ServerError),
}
