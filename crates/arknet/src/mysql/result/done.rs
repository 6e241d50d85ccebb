//! What a statement has done.

use std::sync::Arc;

use arknet_proto::mysql::row::{DecodeError, Row};
use arknet_proto::mysql::session_state::Change;
use arknet_proto::mysql::{Columns, OkPacket, Status};

use super::{Collect, FromResult};
use crate::mysql::Error;

/// What a statement has done, as the server says at its end.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Done {
    /// Rows that it has inserted, changed or deleted; with [`Config::found_rows`](crate::mysql::Config::found_rows), rows that
    /// an update has found.
    pub affected_rows: u64,
    /// The first value that an AUTO_INCREMENT column was given by it; 0 if none was.
    pub last_insert_id: u64,
    /// Warnings that `SHOW WARNINGS` would list.
    pub warnings: u16,
    /// The state of the server.
    pub status: Status,
    /// Text for a person, such as `Records: 3  Duplicates: 0  Warnings: 0`. Mostly empty.
    pub info: String,
    /// The transaction's identifier, where the server tracks it: `session_track_gtids` of MySQL, `last_gtid` among
    /// `session_track_system_variables` of MariaDB.
    pub gtid: Option<Box<str>>,
}

impl Done {
    /// Whether the result is made of the OUT and INOUT parameters of a procedure.
    pub fn is_out_parameters(&self) -> bool {
        self.status.contains(Status::OUT_PARAMETERS)
    }

    pub(crate) fn of(ok: &OkPacket<'_>) -> Self {
        let gtid = if ok.status.contains(Status::SESSION_STATE_CHANGED) {
            gtid(ok)
        } else {
            None
        };
        Self {
            affected_rows: ok.affected_rows,
            last_insert_id: ok.last_insert_id,
            warnings: ok.warnings,
            status: ok.status,
            info: String::from_utf8_lossy(ok.info).into_owned(),
            gtid,
        }
    }
}

fn gtid(ok: &OkPacket<'_>) -> Option<Box<str>> {
    ok.changes().find_map(|change| match change {
        Change::Gtids(gtid)
        | Change::Variable {
            name: b"last_gtid",
            value: gtid,
        } => Some(String::from_utf8_lossy(gtid).into()),
        _ => None,
    })
}

impl FromResult for Done {
    type Collector = LastOk;
}

impl FromResult for () {
    type Collector = Nothing;
}

/// Keeps what the last result says.
#[derive(Debug, Default)]
pub struct LastOk(Done);

impl Collect for LastOk {
    type Output = Done;
    const KEEPS: bool = false;

    fn columns(&mut self, _columns: &Arc<Columns>) -> Result<(), DecodeError> {
        Ok(())
    }

    fn row(&mut self, _row: Row<'_>) -> Result<(), DecodeError> {
        Ok(())
    }

    fn end(&mut self, ok: &OkPacket<'_>) {
        self.0 = Done::of(ok);
    }

    fn finish(self) -> Result<Done, Error> {
        Ok(self.0)
    }
}

/// Keeps nothing.
#[derive(Debug, Default)]
pub struct Nothing(());

impl Collect for Nothing {
    type Output = ();
    const KEEPS: bool = false;

    fn columns(&mut self, _columns: &Arc<Columns>) -> Result<(), DecodeError> {
        Ok(())
    }

    fn row(&mut self, _row: Row<'_>) -> Result<(), DecodeError> {
        Ok(())
    }

    fn end(&mut self, _ok: &OkPacket<'_>) {}

    fn finish(self) -> Result<(), Error> {
        Ok(())
    }
}
