//! A blocking client of a few lines: independent of the code under test.
//!
//! It logs in as a root without a password, by whatever plugin: an empty password is an empty answer to
//! all of them. It knows text results of one statement.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::{SqlError, Table};

/// How long a server on this machine may take to answer; a test that freezes it for longer waits in vain.
const ANSWERS_WITHIN: Duration = Duration::from_secs(30);

/// `LONG_PASSWORD | PROTOCOL_41 | TRANSACTIONS | SECURE_CONNECTION | PLUGIN_AUTH`
const CAPABILITIES: u32 = 0x0008_a201;

/// `utf8mb4_general_ci`
const UTF8MB4: u8 = 45;

/// No packet of an answer that a test reads is as long as to be continued.
const MAX_PACKET: usize = 0xff_fffe;

/// The packets of one answer; more is not what a test asked for.
const MAX_PACKETS: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Cli {
    stream: io::BufReader<TcpStream>,
    sequence: u8,
    id: u64,
}

impl Cli {
    pub(super) fn connect(addr: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&addr, ANSWERS_WITHIN)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(ANSWERS_WITHIN))?;
        stream.set_write_timeout(Some(ANSWERS_WITHIN))?;
        let mut cli = Self {
            stream: io::BufReader::new(stream),
            sequence: 0,
            id: 0,
        };
        cli.log_in()?;
        let id = cli.run("SELECT CONNECTION_ID()")?.map_err(refused)?;
        cli.id = id.cell(0, 0).and_then(|id| id.parse().ok()).unwrap_or(0);
        Ok(cli)
    }

    /// Its own id in the list of processes.
    pub(super) fn id(&self) -> u64 {
        self.id
    }

    pub(super) fn run(&mut self, sql: &str) -> io::Result<Result<Table, SqlError>> {
        const QUERY: u8 = 3;
        self.sequence = 0;
        self.write(&[&[QUERY], sql.as_bytes()].concat())?;
        let first = self.read()?;
        match first.first() {
            Some(0xff) => Ok(Err(error(&first)?)),
            Some(0) => Ok(Ok(Table {
                affected_rows: Fields(&first[1..]).number()?,
                ..Table::default()
            })),
            _ => self.rows(Fields(&first).number()?),
        }
    }

    fn log_in(&mut self) -> io::Result<()> {
        let greeting = self.read()?;
        if greeting.first() == Some(&0xff) {
            return Err(refused(error(&greeting)?));
        }
        let mut response = CAPABILITIES.to_le_bytes().to_vec();
        response.extend((MAX_PACKET as u32).to_le_bytes());
        response.push(UTF8MB4);
        response.extend([0; 23]);
        // No password, and a plugin that the server may replace.
        response.extend(b"root\0\0mysql_native_password\0");
        self.write(&response)?;
        loop {
            let reply = self.read()?;
            match reply.first() {
                Some(0) => return Ok(()),
                // Another plugin, to which nothing is the same answer.
                Some(0xfe) => self.write(&[])?,
                Some(0xff) => return Err(refused(error(&reply)?)),
                _ => return Err(broken("log in")),
            }
        }
    }

    fn rows(&mut self, columns: u64) -> io::Result<Result<Table, SqlError>> {
        let mut table = Table::default();
        for _ in 0..columns {
            let packet = self.read()?;
            let mut fields = Fields(&packet);
            // Catalogue, schema, table, and the table's own name.
            for _ in 0..4 {
                fields.text()?;
            }
            table.columns.push(fields.text()?.unwrap_or_default());
        }
        self.read()?;
        for _ in 0..MAX_PACKETS {
            let packet = self.read()?;
            match packet.first() {
                Some(0xfe) if packet.len() < 9 => return Ok(Ok(table)),
                Some(0xff) => return Ok(Err(error(&packet)?)),
                _ => {}
            }
            let mut fields = Fields(&packet);
            let row = (0..columns)
                .map(|_| fields.text())
                .collect::<io::Result<_>>();
            table.rows.push(row?);
        }
        Err(broken("too many rows"))
    }

    fn write(&mut self, payload: &[u8]) -> io::Result<()> {
        if payload.len() > MAX_PACKET {
            return Err(broken("too long a statement"));
        }
        let mut packet = (payload.len() as u32).to_le_bytes();
        packet[3] = self.sequence;
        self.sequence = self.sequence.wrapping_add(1);
        self.stream
            .get_mut()
            .write_all(&[&packet, payload].concat())
    }

    fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut header = [0; 4];
        self.stream.read_exact(&mut header)?;
        self.sequence = header[3].wrapping_add(1);
        header[3] = 0;
        let len = u32::from_le_bytes(header) as usize;
        if len > MAX_PACKET {
            return Err(broken("a packet that is continued"));
        }
        let mut payload = vec![0; len];
        self.stream.read_exact(&mut payload)?;
        Ok(payload)
    }
}

/// What is left of a packet.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, len: usize) -> io::Result<&'a [u8]> {
        let (taken, rest) = self
            .0
            .split_at_checked(len)
            .ok_or_else(|| broken("a packet that is too short"))?;
        self.0 = rest;
        Ok(taken)
    }

    /// A number of variable length.
    fn number(&mut self) -> io::Result<u64> {
        let len = match self.take(1)?[0] {
            small @ 0..=0xfa => return Ok(u64::from(small)),
            0xfc => 2,
            0xfd => 3,
            0xfe => 8,
            _ => return Err(broken("a number that is none")),
        };
        let mut bytes = [0; 8];
        bytes[..len].copy_from_slice(self.take(len)?);
        Ok(u64::from_le_bytes(bytes))
    }

    /// A text of variable length, or NULL.
    fn text(&mut self) -> io::Result<Option<String>> {
        if self.0.first() == Some(&0xfb) {
            self.take(1)?;
            return Ok(None);
        }
        let len = self.number()?;
        let len = usize::try_from(len).map_err(|_| broken("a text without end"))?;
        Ok(Some(String::from_utf8_lossy(self.take(len)?).into_owned()))
    }
}

fn error(packet: &[u8]) -> io::Result<SqlError> {
    let mut fields = Fields(packet);
    fields.take(1)?;
    let code = fields.take(2)?;
    let code = u16::from_le_bytes([code[0], code[1]]);
    // `#` and five letters of state, but not before the login.
    if fields.0.first() == Some(&b'#') {
        fields.take(6)?;
    }
    let message = String::from_utf8_lossy(fields.0).into_owned();
    Ok(SqlError { code, message })
}

fn refused(error: SqlError) -> io::Error {
    io::Error::other(error.to_string())
}

fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("read answer: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_in_every_length() {
        let packet = b"\xfb\x02ab\xfc\x03\x00abc\x00rest";
        let mut fields = Fields(packet);
        assert_eq!(fields.text().unwrap(), None);
        assert_eq!(fields.text().unwrap().as_deref(), Some("ab"));
        assert_eq!(fields.text().unwrap().as_deref(), Some("abc"));
        assert_eq!(fields.text().unwrap().as_deref(), Some(""));
        assert!(fields.text().is_err(), "it is shorter than it says");
    }

    #[test]
    fn an_error_is_read_with_its_state_and_without() {
        let with = error(b"\xff\x15\x04#28000Access denied").unwrap();
        assert_eq!((with.code, with.message.as_str()), (1045, "Access denied"));
        let without = error(b"\xff\x10\x04Too many connections").unwrap();
        assert_eq!(without.to_string(), "error 1040: Too many connections");
    }
}
