//! The answer to one request, packet by packet.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::definitions::Definitions;
use super::event::Progress;
use crate::mysql::capabilities::{Capabilities, Status};
use crate::mysql::columns::Columns;
use crate::mysql::command::{Concerns, Expects, LAST_STATEMENT, Prepared, Request};
use crate::mysql::error::{ProtocolError, ServerError};
use crate::mysql::limits::Limits;
use crate::mysql::ok::OkPacket;
use crate::mysql::packet::FULL_FRAME;
use crate::mysql::row::Format;
use crate::mysql::wire::Reader;

/// The state of the answer that is being read, and what all answers share.
#[derive(Debug)]
pub(super) struct Answer {
    agreed: Capabilities,
    limits: Limits,
    stage: Stage,
    pub(super) format: Format,
    /// The columns of the present result set, and of the last one while there is none.
    pub(super) columns: Arc<Columns>,
    definitions: Definitions,
    /// Whether the server may leave the definitions out, because `columns` are the statement's.
    may_leave_out: bool,
    prepared: Option<Prepared>,
    /// The columns of each prepared statement, as the server sent them last. As many as the client keeps statements.
    statements: BTreeMap<u32, Arc<Columns>>,
    last_prepared: u32,
    concerns: Concerns,
    rows: u64,
    results: u32,
    status: Status,
}

/// Which packet is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Yes or no.
    Ok,
    /// A result, or no.
    Head,
    /// A definition of a column.
    Definition,
    /// The end of the definitions.
    DefinitionsEnd,
    /// A row, or the end of them.
    Row,
    /// A prepared statement, or no.
    Prepared,
    /// A definition of a parameter, and how many columns will follow.
    Param { columns: u16 },
    /// The end of the parameters.
    ParamsEnd { columns: u16 },
    /// A definition of a column that the statement will yield.
    PreparedColumn,
    /// The end of those.
    PreparedEnd,
}

/// What a packet meant. Nothing is borrowed, so that the next packet can be read if it meant nothing by itself.
#[derive(Clone, Debug)]
pub(super) enum Meaning {
    /// More must come.
    Nothing,
    Columns,
    Row,
    /// An OK packet, or an EOF packet that stands for one.
    Ok {
        is_eof: bool,
        more: bool,
    },
    Prepared(Prepared),
    Error(ServerError),
    LocalInfile,
    Progress,
}

impl Answer {
    pub(super) fn new(agreed: Capabilities, limits: Limits, status: Status) -> Self {
        Self {
            agreed,
            limits,
            stage: Stage::Ok,
            format: Format::Text,
            columns: Arc::new(Columns::new()),
            definitions: Definitions::new(),
            may_leave_out: false,
            prepared: None,
            statements: BTreeMap::new(),
            last_prepared: LAST_STATEMENT,
            concerns: Concerns::Nothing,
            rows: 0,
            results: 0,
            status,
        }
    }

    /// The answer to this request is due.
    pub(super) fn begin(&mut self, request: Request) {
        self.rows = 0;
        self.results = 0;
        self.concerns = request.concerns;
        self.may_leave_out = false;
        self.stage = match request.expects {
            Expects::Nothing | Expects::Ok => Stage::Ok,
            Expects::Prepared => {
                self.last_prepared = LAST_STATEMENT;
                Stage::Prepared
            }
            Expects::Results(format) => {
                self.format = format;
                Stage::Head
            }
        };
        if let Concerns::Executes(LAST_STATEMENT) = request.concerns {
            self.concerns = Concerns::Executes(self.last_prepared);
        }
        if let Concerns::Executes(statement) = self.concerns
            && let Some(columns) = self.statements.get(&statement)
        {
            self.may_leave_out = true;
            self.columns = Arc::clone(columns);
        }
    }

    /// The answer is complete: what follows is not a row of it.
    pub(super) fn end(&mut self) {
        self.stage = Stage::Ok;
    }

    /// A request without an answer has had its turn.
    pub(super) fn pass(&mut self, request: Request) {
        if let Concerns::Closes(statement) = request.concerns {
            self.statements.remove(&statement);
        }
    }

    /// No statement is prepared any more.
    pub(super) fn forget_statements(&mut self) {
        self.statements.clear();
        self.last_prepared = LAST_STATEMENT;
    }

    pub(super) fn agreed(&self) -> Capabilities {
        self.agreed
    }

    pub(super) fn status(&self) -> Status {
        self.status
    }

    /// Whether this packet is a row, for which a look at its first byte is enough.
    #[inline]
    pub(super) fn is_row(&self, packet: &[u8]) -> bool {
        self.stage == Stage::Row && packet.first().is_some_and(|first| *first < 0xfe)
    }

    /// Counts this packet if it is a row, and says so.
    #[inline]
    pub(super) fn take_row(&mut self, packet: &[u8]) -> Result<bool, ProtocolError> {
        if !self.is_row(packet) {
            return Ok(false);
        }
        self.count_row()?;
        Ok(true)
    }

    #[inline]
    fn count_row(&mut self) -> Result<(), ProtocolError> {
        self.rows += 1;
        if self.rows > self.limits.max_rows {
            return Err(ProtocolError::TooManyRows {
                limit: self.limits.max_rows,
            });
        }
        Ok(())
    }

    pub(super) fn handle(&mut self, packet: &[u8]) -> Result<Meaning, ProtocolError> {
        let Some(first) = packet.first().copied() else {
            return self.handle_empty();
        };
        if first == 0xff {
            return self.handle_error(packet);
        }
        match self.stage {
            Stage::Ok => self.handle_ok(packet, first),
            Stage::Head => self.handle_head(packet, first),
            Stage::Definition => self.handle_definition(packet, first),
            Stage::DefinitionsEnd => {
                self.handle_eof(packet, "the end of column definitions")?;
                self.stage = Stage::Row;
                Ok(Meaning::Columns)
            }
            Stage::Row => self.handle_row(packet, first),
            Stage::Prepared => self.handle_prepared(packet, first),
            Stage::Param { columns } => self.handle_param(packet, columns),
            Stage::ParamsEnd { columns } => {
                self.handle_eof(packet, "the end of parameters")?;
                self.begin_prepared_columns(columns)
            }
            Stage::PreparedColumn => self.handle_prepared_column(packet),
            Stage::PreparedEnd => {
                self.handle_eof(packet, "the end of column definitions")?;
                self.finish_prepared()
            }
        }
    }

    /// A row of a text result without a single byte cannot be: there is a column at least.
    #[cold]
    fn handle_empty(&mut self) -> Result<Meaning, ProtocolError> {
        Err(ProtocolError::malformed("packet without a byte"))
    }

    #[cold]
    fn handle_error(&mut self, packet: &[u8]) -> Result<Meaning, ProtocolError> {
        if Progress::is_in(packet) {
            Progress::parse(packet).ok_or(ProtocolError::malformed("progress report"))?;
            return Ok(Meaning::Progress);
        }
        self.prepared = None;
        let error = ServerError::parse(packet).ok_or(ProtocolError::malformed("error packet"))?;
        Ok(Meaning::Error(error))
    }

    fn handle_ok(&mut self, packet: &[u8], first: u8) -> Result<Meaning, ProtocolError> {
        // COM_SET_OPTION is answered by an EOF packet, whatever was agreed on.
        let is_eof = first == 0xfe && packet.len() == 5;
        if first != 0 && !is_eof {
            let what = "something else";
            return Err(ProtocolError::Unexpected {
                what,
                due: "an OK or an error",
            });
        }
        self.end_result(packet, is_eof)
    }

    fn end_result(&mut self, packet: &[u8], is_eof: bool) -> Result<Meaning, ProtocolError> {
        let ok = if is_eof {
            OkPacket::parse_eof(packet)?
        } else {
            OkPacket::parse(packet, self.agreed)?
        };
        self.status = ok.status;
        self.results += 1;
        if self.concerns == Concerns::ClosesAll {
            self.forget_statements();
        }
        let more = ok.has_more();
        if more {
            let limit = self.limits.max_results;
            if self.results >= limit {
                return Err(ProtocolError::TooManyResults { limit });
            }
            self.rows = 0;
            self.stage = Stage::Head;
            // What is known are the columns of the first result set.
            self.may_leave_out = false;
        }
        Ok(Meaning::Ok { is_eof, more })
    }

    fn handle_head(&mut self, packet: &[u8], first: u8) -> Result<Meaning, ProtocolError> {
        match first {
            0x00 => self.end_result(packet, false),
            0xfb => {
                if !self.agreed.contains(Capabilities::LOCAL_FILES) {
                    return Err(ProtocolError::LocalInfile);
                }
                self.stage = Stage::Ok;
                Ok(Meaning::LocalInfile)
            }
            _ => self.begin_result_set(packet),
        }
    }

    fn begin_result_set(&mut self, packet: &[u8]) -> Result<Meaning, ProtocolError> {
        let malformed = ProtocolError::malformed("number of columns");
        let mut reader = Reader::new(packet);
        let count = reader.lenenc().ok_or(malformed.clone())?;
        let expected = self.columns_within_limit(count)?;
        if expected == 0 {
            return Err(malformed);
        }
        let cached = self.agreed.contains(Capabilities::MARIADB_CACHE_METADATA);
        let follow = if cached {
            reader.u8().ok_or(malformed.clone())? != 0
        } else {
            true
        };
        if !reader.is_empty() {
            return Err(malformed);
        }
        if follow {
            self.definitions.begin(expected, &self.columns);
            self.stage = Stage::Definition;
            return Ok(Meaning::Nothing);
        }
        if !self.may_leave_out || self.columns.len() != expected {
            let what = "rows without definitions of their columns";
            return Err(ProtocolError::Unexpected {
                what,
                due: "column definitions",
            });
        }
        self.after_definitions()
    }

    fn columns_within_limit(&self, count: u64) -> Result<usize, ProtocolError> {
        let limit = self.limits.max_columns;
        match usize::try_from(count) {
            Ok(columns) if columns <= limit => Ok(columns),
            _ => Err(ProtocolError::TooManyColumns { count, limit }),
        }
    }

    fn add_definition(&mut self, packet: &[u8]) -> Result<bool, ProtocolError> {
        let extended = self
            .agreed
            .contains(Capabilities::MARIADB_EXTENDED_METADATA);
        self.definitions.add(packet, extended, &self.limits)?;
        Ok(self.definitions.is_complete())
    }

    fn handle_definition(&mut self, packet: &[u8], first: u8) -> Result<Meaning, ProtocolError> {
        if first == 0xfe {
            let what = "the end of column definitions";
            return Err(ProtocolError::Unexpected {
                what,
                due: "another one",
            });
        }
        if !self.add_definition(packet)? {
            return Ok(Meaning::Nothing);
        }
        self.columns = self.definitions.finish();
        self.remember_columns();
        self.after_definitions()
    }

    /// The columns of the first result set are those of the statement.
    fn remember_columns(&mut self) {
        if self.results > 0 {
            return;
        }
        if let Concerns::Executes(statement) = self.concerns
            && let Some(known) = self.statements.get_mut(&statement)
        {
            known.clone_from(&self.columns);
        }
    }

    fn after_definitions(&mut self) -> Result<Meaning, ProtocolError> {
        if self.agreed.contains(Capabilities::DEPRECATE_EOF) {
            self.stage = Stage::Row;
            return Ok(Meaning::Columns);
        }
        self.stage = Stage::DefinitionsEnd;
        Ok(Meaning::Nothing)
    }

    fn handle_eof(&mut self, packet: &[u8], due: &'static str) -> Result<(), ProtocolError> {
        if packet.first() != Some(&0xfe) || packet.len() > 8 {
            return Err(ProtocolError::Unexpected {
                what: "something else",
                due,
            });
        }
        self.status = OkPacket::parse_eof(packet)?.status;
        Ok(())
    }

    fn handle_row(&mut self, packet: &[u8], first: u8) -> Result<Meaning, ProtocolError> {
        let deprecated = self.agreed.contains(Capabilities::DEPRECATE_EOF);
        // A row that begins with 0xfe begins with a string of 16 MiB or more.
        let longest_end = if deprecated { FULL_FRAME - 1 } else { 8 };
        if first == 0xfe && packet.len() <= longest_end {
            return self.end_result(packet, !deprecated);
        }
        self.count_row()?;
        Ok(Meaning::Row)
    }

    fn handle_prepared(&mut self, packet: &[u8], first: u8) -> Result<Meaning, ProtocolError> {
        if first != 0 {
            let what = "something else";
            return Err(ProtocolError::Unexpected {
                what,
                due: "a prepared statement",
            });
        }
        let mut reader = Reader::new(packet);
        let mut head = || {
            reader.u8()?;
            let (id, columns, params) = (reader.u32()?, reader.u16()?, reader.u16()?);
            reader.u8()?;
            // Servers before 5.0 had no warnings here.
            Some((id, columns, params, reader.u16().unwrap_or(0)))
        };
        let malformed = ProtocolError::malformed("prepared statement");
        let (id, columns, params, warnings) = head().ok_or(malformed)?;
        self.columns_within_limit(u64::from(columns))?;
        let none = Arc::new(Columns::new());
        self.prepared = Some(Prepared {
            id,
            params: Arc::clone(&none),
            columns: none,
            warnings,
        });
        if params == 0 {
            return self.begin_prepared_columns(columns);
        }
        self.definitions
            .begin(usize::from(params), &Arc::new(Columns::new()));
        self.stage = Stage::Param { columns };
        Ok(Meaning::Nothing)
    }

    fn handle_param(&mut self, packet: &[u8], columns: u16) -> Result<Meaning, ProtocolError> {
        if !self.add_definition(packet)? {
            return Ok(Meaning::Nothing);
        }
        let params = self.definitions.finish();
        if let Some(prepared) = &mut self.prepared {
            prepared.params = params;
        }
        if self.agreed.contains(Capabilities::DEPRECATE_EOF) {
            return self.begin_prepared_columns(columns);
        }
        self.stage = Stage::ParamsEnd { columns };
        Ok(Meaning::Nothing)
    }

    fn begin_prepared_columns(&mut self, columns: u16) -> Result<Meaning, ProtocolError> {
        if columns == 0 {
            return self.finish_prepared();
        }
        self.definitions.begin(usize::from(columns), &self.columns);
        self.stage = Stage::PreparedColumn;
        Ok(Meaning::Nothing)
    }

    fn handle_prepared_column(&mut self, packet: &[u8]) -> Result<Meaning, ProtocolError> {
        if !self.add_definition(packet)? {
            return Ok(Meaning::Nothing);
        }
        let columns = self.definitions.finish();
        if let Some(prepared) = &mut self.prepared {
            prepared.columns = columns;
        }
        if self.agreed.contains(Capabilities::DEPRECATE_EOF) {
            return self.finish_prepared();
        }
        self.stage = Stage::PreparedEnd;
        Ok(Meaning::Nothing)
    }

    fn finish_prepared(&mut self) -> Result<Meaning, ProtocolError> {
        match self.prepared.take() {
            Some(prepared) => {
                self.statements
                    .insert(prepared.id, Arc::clone(&prepared.columns));
                self.last_prepared = prepared.id;
                Ok(Meaning::Prepared(prepared))
            }
            None => Err(ProtocolError::malformed("prepared statement")),
        }
    }
}
