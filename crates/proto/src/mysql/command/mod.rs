//! What a client asks of a server, as packets at the end of a send buffer.
//!
//! Each function writes one command and returns a [`Request`]: what is to be expected in answer. Give it to
//! [`Conversation::submit`](super::answer::Conversation::submit), in the order of writing, and send the bytes whenever
//! it suits: commands may follow each other without waiting for answers.

mod encoded;
mod execute;
mod param;
mod params;

pub use self::encoded::EncodedParams;
pub use self::execute::{ExecuteError, LAST_STATEMENT, Prepared};
pub use self::param::{Param, ToParam};
pub use self::params::Params;

use super::packet::{HEADER, PacketWriter, TooLarge};
use super::row::Format;
use super::wire::put_u32;

const QUIT: u8 = 0x01;
const INIT_DB: u8 = 0x02;
const QUERY: u8 = 0x03;
const PROCESS_KILL: u8 = 0x0c;
const PING: u8 = 0x0e;
const STATEMENT_PREPARE: u8 = 0x16;
const STATEMENT_EXECUTE: u8 = 0x17;
const STATEMENT_LONG_DATA: u8 = 0x18;
const STATEMENT_CLOSE: u8 = 0x19;
const STATEMENT_RESET: u8 = 0x1a;
const SET_OPTION: u8 = 0x1b;
const RESET_CONNECTION: u8 = 0x1f;

/// A command that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the answer must be expected"]
pub struct Request {
    pub(in crate::mysql) expects: Expects,
    /// The number of the answer's first packet.
    pub(in crate::mysql) sequence: u8,
    pub(in crate::mysql) wire_len: usize,
    pub(in crate::mysql) concerns: Concerns,
}

/// What becomes of prepared statements by a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mysql) enum Concerns {
    /// Nothing, or as its answer says.
    Nothing,
    /// This one is executed.
    Executes(u32),
    /// This one is forgotten.
    Closes(u32),
    /// All are forgotten.
    ClosesAll,
}

/// What a server answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mysql) enum Expects {
    /// Nothing, not even an error.
    Nothing,
    /// Yes or no.
    Ok,
    /// Results, with rows in this format.
    Results(Format),
    /// A prepared statement.
    Prepared,
}

impl Request {
    fn new(expects: Expects, sequence: u8, wire_len: usize) -> Self {
        Self {
            expects,
            sequence,
            wire_len,
            concerns: Concerns::Nothing,
        }
    }

    fn concerning(self, concerns: Concerns) -> Self {
        Self { concerns, ..self }
    }

    /// Bytes that were written, headers included.
    #[must_use]
    pub fn wire_len(&self) -> usize {
        self.wire_len
    }

    /// Whether the server answers at all.
    #[must_use]
    pub fn is_answered(&self) -> bool {
        self.expects != Expects::Nothing
    }
}

/// Runs statements, and answers with rows as text. `sql` is UTF-8 as far as it is text.
///
/// # Errors
///
/// [`TooLarge`] if the packet would exceed `max_packet` bytes, the server's `max_allowed_packet`: nothing was written.
pub fn query(wire: &mut Vec<u8>, sql: &[u8], max_packet: usize) -> Result<Request, TooLarge> {
    bounded(wire, QUERY, sql, Expects::Results(Format::Text), max_packet)
}

/// Like [`query`], with a text that `fill` appends where it will leave from.
///
/// # Errors
///
/// [`TooLarge`], or what `fill` returns: nothing was written.
pub fn query_with<E: From<TooLarge>>(
    wire: &mut Vec<u8>,
    max_packet: usize,
    fill: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
) -> Result<Request, E> {
    let start = wire.len();
    let mut packet = PacketWriter::begin(wire, 0);
    packet.payload().push(QUERY);
    if let Err(error) = fill(packet.payload()) {
        packet.abandon();
        return Err(error);
    }
    let sequence = packet.finish_within(max_packet)?;
    let wire_len = wire.len() - start;
    Ok(Request::new(
        Expects::Results(Format::Text),
        sequence,
        wire_len,
    ))
}

/// Prepares a statement.
///
/// # Errors
///
/// [`TooLarge`]: nothing was written.
pub fn prepare(wire: &mut Vec<u8>, sql: &[u8], max_packet: usize) -> Result<Request, TooLarge> {
    bounded(wire, STATEMENT_PREPARE, sql, Expects::Prepared, max_packet)
}

/// Executes a prepared statement, whose parameters are as many as it has question marks. The server checks that.
///
/// # Errors
///
/// [`TooLarge`]: nothing was written.
pub fn execute(
    wire: &mut Vec<u8>,
    statement: u32,
    params: &impl Params,
    max_packet: usize,
) -> Result<Request, TooLarge> {
    execute_with(wire, statement, max_packet, |payload| {
        execute::encode(payload, statement, params);
    })
}

/// The same with parameters that were encoded before.
///
/// # Errors
///
/// [`TooLarge`]: nothing was written.
pub fn execute_encoded(
    wire: &mut Vec<u8>,
    statement: u32,
    params: &EncodedParams,
    max_packet: usize,
) -> Result<Request, TooLarge> {
    execute_with(wire, statement, max_packet, |payload| {
        execute::encode_head(payload, statement);
        payload.extend_from_slice(params.bytes());
    })
}

fn execute_with(
    wire: &mut Vec<u8>,
    statement: u32,
    max_packet: usize,
    fill: impl FnOnce(&mut Vec<u8>),
) -> Result<Request, TooLarge> {
    let start = wire.len();
    let mut packet = PacketWriter::begin(wire, 0);
    fill(packet.payload());
    let sequence = packet.finish_within(max_packet)?;
    let wire_len = wire.len() - start;
    let request = Request::new(Expects::Results(Format::Binary), sequence, wire_len);
    Ok(request.concerning(Concerns::Executes(statement)))
}

/// Sends a piece of a parameter ahead of [`execute`], which then names it [`Param::LongBytes`] or [`Param::LongText`].
/// Pieces are put together by the server, up to its `max_allowed_packet`. It is not answered; what is wrong with it is
/// the answer to the execute.
///
/// # Errors
///
/// [`TooLarge`]: nothing was written.
pub fn long_data(
    wire: &mut Vec<u8>,
    statement: u32,
    parameter: u16,
    piece: &[u8],
    max_packet: usize,
) -> Result<Request, TooLarge> {
    let payload = |packet: &mut Vec<u8>| {
        packet.push(STATEMENT_LONG_DATA);
        put_u32(packet, statement);
        packet.extend_from_slice(&parameter.to_le_bytes());
        packet.extend_from_slice(piece);
    };
    let start = wire.len();
    let mut packet = PacketWriter::begin(wire, 0);
    payload(packet.payload());
    let sequence = packet.finish_within(max_packet)?;
    let wire_len = wire.len() - start;
    Ok(Request::new(Expects::Nothing, sequence, wire_len))
}

/// Forgets a prepared statement. It is not answered, so it may ride on any other command.
pub fn close_statement(wire: &mut Vec<u8>, statement: u32) -> Request {
    let request = short(
        wire,
        STATEMENT_CLOSE,
        &statement.to_le_bytes(),
        Expects::Nothing,
    );
    request.concerning(Concerns::Closes(statement))
}

/// Forgets the long data, and closes the cursor, of a prepared statement.
pub fn reset_statement(wire: &mut Vec<u8>, statement: u32) -> Request {
    short(wire, STATEMENT_RESET, &statement.to_le_bytes(), Expects::Ok)
}

/// Makes the session as it was after the handshake: no transaction, no variables, no temporary tables, no locks, no
/// prepared statements. MySQL sets the character set to the server's default and not to the handshake's: follow it by
/// `SET NAMES`.
pub fn reset_connection(wire: &mut Vec<u8>) -> Request {
    short(wire, RESET_CONNECTION, &[], Expects::Ok).concerning(Concerns::ClosesAll)
}

/// Asks whether the server is there.
pub fn ping(wire: &mut Vec<u8>) -> Request {
    short(wire, PING, &[], Expects::Ok)
}

/// Says goodbye. It is not answered: the server ends the connection.
pub fn quit(wire: &mut Vec<u8>) -> Request {
    short(wire, QUIT, &[], Expects::Nothing)
}

/// Makes a schema the default one.
pub fn init_db(wire: &mut Vec<u8>, schema: &str) -> Request {
    short(wire, INIT_DB, schema.as_bytes(), Expects::Ok)
}

/// Ends another connection. `KILL QUERY` as a query ends its statement only.
pub fn process_kill(wire: &mut Vec<u8>, connection: u32) -> Request {
    short(wire, PROCESS_KILL, &connection.to_le_bytes(), Expects::Ok)
}

/// Allows several statements in one query, or forbids them.
pub fn set_multi_statements(wire: &mut Vec<u8>, allowed: bool) -> Request {
    short(wire, SET_OPTION, &[u8::from(!allowed), 0], Expects::Ok)
}

fn bounded(
    wire: &mut Vec<u8>,
    command: u8,
    rest: &[u8],
    expects: Expects,
    max_packet: usize,
) -> Result<Request, TooLarge> {
    let len = rest.len().saturating_add(1);
    if len > max_packet {
        return Err(TooLarge {
            len,
            limit: max_packet,
        });
    }
    Ok(short(wire, command, rest, expects))
}

fn short(wire: &mut Vec<u8>, command: u8, rest: &[u8], expects: Expects) -> Request {
    wire.reserve(HEADER + 1 + rest.len());
    let start = wire.len();
    let mut packet = PacketWriter::begin(wire, 0);
    packet.payload().push(command);
    packet.payload().extend_from_slice(rest);
    let sequence = packet.finish();
    Request::new(expects, sequence, wire.len() - start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_those_of_the_protocol() {
        let mut wire = Vec::new();
        let query = query(&mut wire, b"SELECT 1", 1024).unwrap();
        assert_eq!(wire, b"\x09\0\0\0\x03SELECT 1");
        assert_eq!((query.sequence, query.wire_len()), (1, 13));
        for (request, bytes) in [
            (ping(&mut wire), &b"\x01\0\0\0\x0e"[..]),
            (quit(&mut wire), b"\x01\0\0\0\x01"),
            (init_db(&mut wire, "test"), b"\x05\0\0\0\x02test"),
            (process_kill(&mut wire, 7), b"\x05\0\0\0\x0c\x07\0\0\0"),
            (close_statement(&mut wire, 1), b"\x05\0\0\0\x19\x01\0\0\0"),
            (reset_statement(&mut wire, 1), b"\x05\0\0\0\x1a\x01\0\0\0"),
            (reset_connection(&mut wire), b"\x01\0\0\0\x1f"),
            (set_multi_statements(&mut wire, true), b"\x03\0\0\0\x1b\0\0"),
        ] {
            assert_eq!(request.wire_len(), bytes.len());
            let at = wire.windows(bytes.len()).position(|window| window == bytes);
            assert!(at.is_some(), "{bytes:?}");
        }
        wire.clear();
        let _ = long_data(&mut wire, 1, 2, b"abc", 100).unwrap();
        assert_eq!(wire, b"\x0a\0\0\0\x18\x01\0\0\0\x02\0abc");
    }

    #[test]
    fn what_the_server_would_not_take_is_not_written() {
        let mut wire = Vec::new();
        let too_large = TooLarge { len: 9, limit: 8 };
        assert_eq!(query(&mut wire, b"SELECT 1", 8), Err(too_large));
        assert_eq!(prepare(&mut wire, b"SELECT 1", 8), Err(too_large));
        assert!(execute(&mut wire, 1, &(1, 2), 20).is_err());
        assert!(long_data(&mut wire, 1, 0, b"abc", 9).is_err());
        let filled = query_with(&mut wire, 8, |sql| {
            sql.extend_from_slice(b"SELECT 1");
            Ok::<_, TooLarge>(())
        });
        assert_eq!(filled, Err(too_large));
        assert!(wire.is_empty());
    }
}
