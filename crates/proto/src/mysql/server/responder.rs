//! Writes answers.

use std::fmt::Write as _;

use crate::mysql::capabilities::{Capabilities, Status};
use crate::mysql::columns::{ColumnFlags, ColumnSpec};
use crate::mysql::error::ServerError;
use crate::mysql::kind::Kind;
use crate::mysql::ok::OkPacket;
use crate::mysql::packet::PacketWriter;
use crate::mysql::row::bitmap_len;
use crate::mysql::value::{ValueRef, binary};
use crate::mysql::wire::{NULL, put_lenenc, put_lenenc_bytes, put_u16, put_u32};

/// Writes the packets of one answer at the end of a send buffer.
#[derive(Debug)]
pub struct Responder<'w> {
    wire: &'w mut Vec<u8>,
    agreed: Capabilities,
    sequence: u8,
    /// The state of the server that goes with each result.
    status: Status,
    scratch: String,
}

impl<'w> Responder<'w> {
    /// An answer to a request whose last packet had the number before `sequence`.
    pub fn new(wire: &'w mut Vec<u8>, agreed: Capabilities, sequence: u8) -> Self {
        Self {
            wire,
            agreed,
            sequence,
            status: Status::AUTOCOMMIT,
            scratch: String::new(),
        }
    }

    /// The state of the server from now on. Default: every statement commits by itself.
    pub fn set_status(&mut self, status: Status) {
        self.status = status;
    }

    /// The number of the next packet.
    #[must_use]
    pub fn sequence(&self) -> u8 {
        self.sequence
    }

    /// A packet of any bytes: what a broken server might say.
    pub fn raw(&mut self, payload: &[u8]) {
        self.packet(|packet| packet.extend_from_slice(payload));
    }

    /// Success, with this server's status.
    pub fn ok(&mut self, affected_rows: u64, last_insert_id: u64) {
        let mut ok = OkPacket::with_status(self.status);
        ok.affected_rows = affected_rows;
        ok.last_insert_id = last_insert_id;
        self.ok_packet(&ok, b"");
    }

    /// Success. `changes` are encoded [`Change`](crate::mysql::session_state::Change)s, told if the status says so.
    pub fn ok_packet(&mut self, ok: &OkPacket<'_>, changes: &[u8]) {
        let agreed = self.agreed;
        self.packet(|packet| ok.encode(packet, 0, agreed, changes));
    }

    /// Failure.
    pub fn error(&mut self, error: &ServerError) {
        self.packet(|packet| encode_error(packet, error, true));
    }

    /// How far a long statement has come.
    pub fn progress(&mut self, stage: u8, stages: u8, milli_percent: u32, name: &str) {
        self.packet(|packet| {
            packet.extend_from_slice(&[0xff, 0xff, 0xff, 1, stage, stages]);
            let [a, b, c, _] = milli_percent.to_le_bytes();
            packet.extend_from_slice(&[a, b, c]);
            put_lenenc_bytes(packet, name.as_bytes());
        });
    }

    /// Asks for the contents of a file.
    pub fn local_infile(&mut self, name: &str) {
        self.packet(|packet| {
            packet.push(NULL);
            packet.extend_from_slice(name.as_bytes());
        });
    }

    /// Begins a result set.
    pub fn columns(&mut self, columns: &[ColumnSpec<'_>]) {
        let cached = self.agreed.contains(Capabilities::MARIADB_CACHE_METADATA);
        self.packet(|packet| {
            put_lenenc(packet, columns.len() as u64);
            if cached {
                packet.push(1);
            }
        });
        self.definitions(columns);
    }

    /// Begins a result set whose columns the client knows from the time before (MariaDB).
    pub fn known_columns(&mut self, count: usize) {
        self.packet(|packet| {
            put_lenenc(packet, count as u64);
            packet.push(0);
        });
        self.definitions_end();
    }

    fn definitions(&mut self, columns: &[ColumnSpec<'_>]) {
        let extended = self
            .agreed
            .contains(Capabilities::MARIADB_EXTENDED_METADATA);
        for column in columns {
            self.packet(|packet| column.encode(packet, extended));
        }
        self.definitions_end();
    }

    fn definitions_end(&mut self) {
        if !self.agreed.contains(Capabilities::DEPRECATE_EOF) {
            self.eof(self.status, 0);
        }
    }

    fn eof(&mut self, status: Status, warnings: u16) {
        self.packet(|packet| {
            packet.push(0xfe);
            put_u16(packet, warnings);
            put_u16(packet, status.bits());
        });
    }

    /// A row of a text result.
    pub fn text_row(&mut self, values: &[ValueRef<'_>]) {
        let mut scratch = std::mem::take(&mut self.scratch);
        self.packet(|packet| {
            for value in values {
                put_text(packet, *value, &mut scratch);
            }
        });
        self.scratch = scratch;
    }

    /// A row of a binary result. Values are written as the columns' types have them.
    pub fn binary_row(&mut self, columns: &[ColumnSpec<'_>], values: &[ValueRef<'_>]) {
        self.packet(|packet| {
            packet.push(0);
            let bitmap = packet.len();
            packet.resize(bitmap + bitmap_len(values.len()), 0);
            for (at, (column, value)) in columns.iter().zip(values).enumerate() {
                if *value == ValueRef::Null {
                    let bit = at + 2;
                    if let Some(byte) = packet.get_mut(bitmap + bit / 8) {
                        *byte |= 1 << (bit % 8);
                    }
                    continue;
                }
                put_binary(packet, column, *value);
            }
        });
    }

    /// Ends a result set, with this server's status and `more` results to follow or not.
    pub fn end(&mut self, more: bool) {
        let mut status = self.status;
        if more {
            status |= Status::MORE_RESULTS;
        }
        self.end_with(&OkPacket::with_status(status));
    }

    /// Ends a result set.
    pub fn end_with(&mut self, ok: &OkPacket<'_>) {
        let agreed = self.agreed;
        if agreed.contains(Capabilities::DEPRECATE_EOF) {
            self.packet(|packet| ok.encode(packet, 0xfe, agreed, b""));
        } else {
            self.eof(ok.status, ok.warnings);
        }
    }

    /// A statement was prepared.
    pub fn prepared(
        &mut self,
        statement: u32,
        params: &[ColumnSpec<'_>],
        columns: &[ColumnSpec<'_>],
    ) {
        self.packet(|packet| {
            packet.push(0);
            put_u32(packet, statement);
            put_u16(packet, columns.len() as u16);
            put_u16(packet, params.len() as u16);
            packet.push(0);
            put_u16(packet, 0);
        });
        for definitions in [params, columns] {
            if !definitions.is_empty() {
                self.definitions(definitions);
            }
        }
    }

    fn packet(&mut self, fill: impl FnOnce(&mut Vec<u8>)) {
        let mut packet = PacketWriter::begin(self.wire, self.sequence);
        fill(packet.payload());
        self.sequence = packet.finish();
    }
}

/// Before the handshake there is no state in it.
pub(super) fn encode_error(packet: &mut Vec<u8>, error: &ServerError, with_state: bool) {
    packet.push(0xff);
    put_u16(packet, error.code());
    if with_state {
        packet.push(b'#');
        packet.extend_from_slice(&error.state_bytes());
    }
    packet.extend_from_slice(error.message().as_bytes());
}

fn put_text(packet: &mut Vec<u8>, value: ValueRef<'_>, scratch: &mut String) {
    scratch.clear();
    let written = match value {
        ValueRef::Null => return packet.push(NULL),
        ValueRef::Text(text) | ValueRef::Decimal(text) => {
            return put_lenenc_bytes(packet, text.as_bytes());
        }
        ValueRef::Bytes(bytes) => return put_lenenc_bytes(packet, bytes),
        ValueRef::Int(value) => write!(scratch, "{value}"),
        ValueRef::Uint(value) => write!(scratch, "{value}"),
        ValueRef::Float(value) => write!(scratch, "{value:?}"),
        ValueRef::Double(value) => write!(scratch, "{value:?}"),
        ValueRef::Date(value) => write!(scratch, "{value}"),
        ValueRef::DateTime(value) => write!(scratch, "{value}"),
        ValueRef::Time(value) => write!(scratch, "{value}"),
    };
    debug_assert!(written.is_ok(), "a String takes everything");
    put_lenenc_bytes(packet, scratch.as_bytes());
}

/// A value of another type than its column is written as text, which a column of strings takes.
fn put_binary(packet: &mut Vec<u8>, column: &ColumnSpec<'_>, value: ValueRef<'_>) {
    let unsigned = column.flags.contains(ColumnFlags::UNSIGNED);
    let kind = column.column_type.kind(unsigned, false);
    let whole = match value {
        ValueRef::Int(value) => Some(value as u64),
        ValueRef::Uint(value) => Some(value),
        _ => None,
    };
    match (kind, value) {
        (Kind::Float, ValueRef::Float(value)) => put_u32(packet, value.to_bits()),
        (Kind::Double, ValueRef::Double(value)) => {
            packet.extend_from_slice(&value.to_bits().to_le_bytes());
        }
        (Kind::Date, ValueRef::Date(value)) => binary::put_date(packet, value),
        (Kind::DateTime, ValueRef::DateTime(value)) => binary::put_date_time(packet, value),
        (Kind::Time, ValueRef::Time(value)) => binary::put_time(packet, value),
        (kind, _) if kind.width() > 0 => {
            let bytes = whole.unwrap_or(0).to_le_bytes();
            packet.extend_from_slice(bytes.get(..usize::from(kind.width())).unwrap_or(&bytes));
        }
        (Kind::Bit, _) if whole.is_some() => {
            put_lenenc_bytes(packet, &whole.unwrap_or(0).to_be_bytes());
        }
        _ => put_text(packet, value, &mut String::new()),
    }
}
