//! What a client asks.

use crate::mysql::error::ProtocolError;
use crate::mysql::wire::Reader;

/// A command, borrowed from its packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Command<'a> {
    /// The client goes.
    Quit,
    /// Another schema, by name.
    InitDb(&'a [u8]),
    /// Statements.
    Query(&'a [u8]),
    /// Ends another connection.
    ProcessKill(u32),
    /// Whether the server is there.
    Ping,
    /// Another account: for [`Handshake::change_user`](super::Handshake::change_user).
    ChangeUser(&'a [u8]),
    /// The session anew.
    ResetConnection,
    /// A statement to be prepared.
    Prepare(&'a [u8]),
    /// A prepared statement to be executed.
    Execute {
        /// Its number.
        statement: u32,
        /// Cursor flags.
        flags: u8,
        /// For [`ParamTypes::read`](super::ParamTypes::read).
        params: &'a [u8],
    },
    /// A piece of a parameter.
    LongData {
        /// The statement's number.
        statement: u32,
        /// The parameter's place.
        parameter: u16,
        /// The piece.
        piece: &'a [u8],
    },
    /// A prepared statement to be forgotten. Not answered.
    CloseStatement(u32),
    /// The long data of a statement to be forgotten.
    ResetStatement(u32),
    /// Several statements in one query allowed.
    SetMultiStatements(bool),
    /// One that is not known here: its first byte.
    Other(u8),
}

impl<'a> Command<'a> {
    /// Reads the packet.
    ///
    /// # Errors
    ///
    /// [`ProtocolError::Malformed`].
    pub fn parse(packet: &'a [u8]) -> Result<Self, ProtocolError> {
        Self::read(packet).ok_or(ProtocolError::malformed("command"))
    }

    fn read(packet: &'a [u8]) -> Option<Self> {
        let mut reader = Reader::new(packet);
        Some(match reader.u8()? {
            0x01 => Self::Quit,
            0x02 => Self::InitDb(reader.rest()),
            0x03 => Self::Query(reader.rest()),
            0x0c => Self::ProcessKill(reader.u32()?),
            0x0e => Self::Ping,
            0x11 => Self::ChangeUser(reader.rest()),
            0x16 => Self::Prepare(reader.rest()),
            0x17 => {
                let (statement, flags, _iterations) = (reader.u32()?, reader.u8()?, reader.u32()?);
                Self::Execute {
                    statement,
                    flags,
                    params: reader.rest(),
                }
            }
            0x18 => Self::LongData {
                statement: reader.u32()?,
                parameter: reader.u16()?,
                piece: reader.rest(),
            },
            0x19 => Self::CloseStatement(reader.u32()?),
            0x1a => Self::ResetStatement(reader.u32()?),
            0x1b => Self::SetMultiStatements(reader.u16()? == 0),
            0x1f => Self::ResetConnection,
            other => Self::Other(other),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mysql::command;
    use crate::mysql::packet::HEADER;

    #[test]
    fn what_a_client_writes_is_read() {
        let written = |encode: &dyn Fn(&mut Vec<u8>)| {
            let mut wire = Vec::new();
            encode(&mut wire);
            wire.split_off(HEADER)
        };
        let packet = written(&|wire| {
            let _ = command::query(wire, b"SELECT 1", 100);
        });
        assert_eq!(Command::parse(&packet), Ok(Command::Query(b"SELECT 1")));
        let packet = written(&|wire| {
            let _ = command::execute(wire, 7, &("a",), 100);
        });
        let Ok(Command::Execute {
            statement: 7,
            flags: 0,
            params,
        }) = Command::parse(&packet)
        else {
            panic!("{packet:?}")
        };
        assert_eq!(params, b"\0\x01\xfd\0\x01a");
        let packet = written(&|wire| {
            let _ = command::long_data(wire, 7, 2, b"piece", 100);
        });
        let piece = Command::LongData {
            statement: 7,
            parameter: 2,
            piece: b"piece",
        };
        assert_eq!(Command::parse(&packet), Ok(piece));
        for (packet, command) in [
            (
                written(&|wire| {
                    let _ = command::quit(wire);
                }),
                Command::Quit,
            ),
            (
                written(&|wire| {
                    let _ = command::ping(wire);
                }),
                Command::Ping,
            ),
            (
                written(&|wire| {
                    let _ = command::init_db(wire, "s");
                }),
                Command::InitDb(b"s"),
            ),
            (
                written(&|wire| {
                    let _ = command::process_kill(wire, 3);
                }),
                Command::ProcessKill(3),
            ),
            (
                written(&|wire| {
                    let _ = command::close_statement(wire, 4);
                }),
                Command::CloseStatement(4),
            ),
            (
                written(&|wire| {
                    let _ = command::reset_statement(wire, 5);
                }),
                Command::ResetStatement(5),
            ),
            (
                written(&|wire| {
                    let _ = command::reset_connection(wire);
                }),
                Command::ResetConnection,
            ),
            (
                written(&|wire| {
                    let _ = command::set_multi_statements(wire, true);
                }),
                Command::SetMultiStatements(true),
            ),
        ] {
            assert_eq!(Command::parse(&packet), Ok(command));
        }
        assert_eq!(Command::parse(&[0x1d]), Ok(Command::Other(0x1d)));
        assert!(Command::parse(&[]).is_err());
        assert!(Command::parse(&[0x17, 1, 0, 0, 0, 0]).is_err());
    }
}
