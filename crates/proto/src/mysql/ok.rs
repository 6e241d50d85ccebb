//! The packet that says that a statement succeeded, and what it changed.

use super::capabilities::{Capabilities, Status};
use super::error::ProtocolError;
use super::session_state::SessionChanges;
use super::wire::{Reader, put_lenenc, put_lenenc_bytes, put_u16};

/// A statement succeeded, or a result set ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OkPacket<'a> {
    /// Rows that the statement inserted, changed or deleted; with
    /// [`FOUND_ROWS`](Capabilities::FOUND_ROWS), rows that an update found.
    pub affected_rows: u64,
    /// The first value that an AUTO_INCREMENT column was given, or what `LAST_INSERT_ID(expression)` was told; else 0.
    pub last_insert_id: u64,
    /// The state of the server.
    pub status: Status,
    /// Warnings that `SHOW WARNINGS` would list.
    pub warnings: u16,
    /// Text for a person, such as `Records: 3  Duplicates: 0  Warnings: 0`. Usually empty.
    pub info: &'a [u8],
    changes: &'a [u8],
}

impl<'a> OkPacket<'a> {
    /// Nothing but a state of the server.
    #[must_use]
    pub fn with_status(status: Status) -> Self {
        Self {
            status,
            ..Self::default()
        }
    }

    /// Whether another result of the same request follows.
    #[must_use]
    pub fn has_more(&self) -> bool {
        self.status.contains(Status::MORE_RESULTS)
    }

    /// Whether the result set that ended holds the OUT and INOUT parameters of a procedure.
    #[must_use]
    pub fn is_out_parameters(&self) -> bool {
        self.status.contains(Status::OUT_PARAMETERS)
    }

    /// What changed in the state of the session, as far as the server tracks it.
    #[must_use]
    pub fn changes(&self) -> SessionChanges<'a> {
        SessionChanges::new(self.changes)
    }

    /// Reads a packet that begins with 0x00, or with 0xfe where it ends a result set.
    pub(crate) fn parse(packet: &'a [u8], agreed: Capabilities) -> Result<Self, ProtocolError> {
        Self::read(packet, agreed).ok_or(ProtocolError::malformed("OK packet"))
    }

    fn read(packet: &'a [u8], agreed: Capabilities) -> Option<Self> {
        let mut reader = Reader::new(packet);
        reader.u8()?;
        let mut ok = Self {
            affected_rows: reader.lenenc()?,
            last_insert_id: reader.lenenc()?,
            status: Status::from_bits(reader.u16()?),
            warnings: reader.u16()?,
            ..Self::default()
        };
        if !agreed.contains(Capabilities::SESSION_TRACK) {
            ok.info = reader.rest();
            return Some(ok);
        }
        if !reader.is_empty() {
            ok.info = reader.lenenc_bytes()?;
        }
        if ok.status.contains(Status::SESSION_STATE_CHANGED) && !reader.is_empty() {
            ok.changes = reader.lenenc_bytes()?;
            SessionChanges::new(ok.changes).check()?;
        }
        Some(ok)
    }

    /// Reads the packet that ends definitions or rows for a client without
    /// [`DEPRECATE_EOF`](Capabilities::DEPRECATE_EOF).
    pub(crate) fn parse_eof(packet: &'a [u8]) -> Result<Self, ProtocolError> {
        let read = || {
            let mut reader = Reader::new(packet);
            reader.u8()?;
            let warnings = reader.u16()?;
            let status = Status::from_bits(reader.u16()?);
            Some(Self {
                status,
                warnings,
                ..Self::default()
            })
        };
        read().ok_or(ProtocolError::malformed("EOF packet"))
    }

    /// Writes it behind `marker`, which is 0x00 or 0xfe. `changes` are entries of
    /// [`session_state`](super::session_state), written if the status says that there are some.
    pub(crate) fn encode(
        &self,
        wire: &mut Vec<u8>,
        marker: u8,
        agreed: Capabilities,
        changes: &[u8],
    ) {
        wire.push(marker);
        put_lenenc(wire, self.affected_rows);
        put_lenenc(wire, self.last_insert_id);
        put_u16(wire, self.status.bits());
        put_u16(wire, self.warnings);
        if !agreed.contains(Capabilities::SESSION_TRACK) {
            wire.extend_from_slice(self.info);
            return;
        }
        let tells = self.status.contains(Status::SESSION_STATE_CHANGED);
        if tells || !self.info.is_empty() {
            put_lenenc_bytes(wire, self.info);
        }
        if tells {
            put_lenenc_bytes(wire, changes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::session_state::Change;
    use super::*;

    const TRACKED: Capabilities = Capabilities::SESSION_TRACK;

    #[test]
    fn an_ok_is_read_with_what_it_says() {
        let ok = OkPacket::parse(
            b"\x00\x04\xfc\xe8\x03\x22\x00\x01\x00Rows matched: 5",
            Capabilities::default(),
        );
        let ok = ok.unwrap();
        assert_eq!(
            (ok.affected_rows, ok.last_insert_id, ok.warnings),
            (4, 1000, 1)
        );
        assert_eq!(ok.status, Status::from_bits(0x22));
        assert_eq!(ok.info, b"Rows matched: 5");
        assert!(!ok.has_more());
    }

    #[test]
    fn the_changes_of_the_session_follow_the_text() {
        // From the protocol's documentation: SET autocommit = OFF.
        let packet = b"\x00\x00\x00\x00\x40\x00\x00\x00\x11\x00\x0f\x0aautocommit\x03OFF";
        let ok = OkPacket::parse(packet, TRACKED).unwrap();
        let changes: Vec<_> = ok.changes().collect();
        assert_eq!(
            changes,
            [Change::Variable {
                name: b"autocommit",
                value: b"OFF"
            }]
        );
        let mut again = Vec::new();
        ok.encode(&mut again, 0, TRACKED, &packet[9..]);
        assert_eq!(again, packet);
    }

    #[test]
    fn every_cut_is_an_error_or_has_less() {
        let packet = b"\x00\x00\x00\x00\x40\x00\x00\x00\x11\x00\x0f\x0aautocommit\x03OFF";
        for cut in 0..packet.len() {
            if let Ok(ok) = OkPacket::parse(&packet[..cut], TRACKED) {
                assert_eq!(ok.changes().count(), 0, "{cut}");
                assert!((7..=8).contains(&cut), "{cut}");
            }
        }
    }

    #[test]
    fn an_eof_has_warnings_before_its_status() {
        let ok = OkPacket::parse_eof(b"\xfe\x02\x00\x0a\x00").unwrap();
        assert_eq!((ok.warnings, ok.status), (2, Status::from_bits(10)));
        assert!(ok.has_more());
        assert!(OkPacket::parse_eof(b"\xfe\x02\x00\x0a").is_err());
    }
}
