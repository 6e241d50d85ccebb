//! What requests are on the wire: one flight where that can be, and where not, what has to be known first.

use arknet_proto::mysql::command::{self, EncodedParams, LAST_STATEMENT, Prepared};
use arknet_proto::mysql::format::{Dialect, FormatError, Placeholders};
use arknet_proto::mysql::packet::TooLarge;

use super::flight::Owner;
use super::{Connection, Error};
use crate::mysql::request::{Ask, Units, WriteSql};

/// How far the requests of a caller are.
#[derive(Debug)]
pub(in crate::mysql) struct Progress {
    /// Of how many everything is written that can be.
    pub(super) encoded: usize,
    /// How many have their results.
    pub(super) answered: usize,
    /// The next one waits for something that has to be known first.
    pub(super) waits: bool,
    /// What was prepared for it.
    pub(super) fresh: Option<Prepared>,
    /// The one that was executed in one flight with its preparation.
    pub(super) at_once: Option<usize>,
    /// Its preparation failed so: what it answers is of no interest.
    pub(super) unprepared: Option<Error>,
    /// The one that was prepared anew already.
    pub(super) again: Option<usize>,
    /// The connection takes nothing more.
    pub(super) is_refused: bool,
    dirty: bool,
}

impl Progress {
    /// Before the first; `dirty` is what is known of the session.
    pub(in crate::mysql) fn new(dirty: bool) -> Self {
        Self {
            encoded: 0,
            answered: 0,
            waits: false,
            fresh: None,
            at_once: None,
            unprepared: None,
            again: None,
            is_refused: false,
            dirty,
        }
    }

    /// Whether no request has been answered.
    pub(super) fn is_unanswered(&self) -> bool {
        self.answered == 0
    }

    pub(super) fn was_dirty(&self) -> bool {
        self.dirty
    }
}

/// What was written of a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Written {
    /// All.
    All,
    /// Nothing: it has its result.
    Nothing,
    /// What has to be answered first.
    Question,
}

impl Connection {
    /// Has the server forget statements, with what is written next.
    #[inline]
    pub(super) fn forget_closed(&mut self) {
        while let Some(statement) = self.closes.pop() {
            let request = command::close_statement(self.wire.end_mut(), statement);
            self.flight.push(request, Owner::Close(statement));
            // Which one it is that the server remembers is not known here.
        }
    }

    /// Writes requests, up to the first that has to wait.
    #[inline]
    pub(super) fn encode<U: Units>(&mut self, units: &mut U, progress: &mut Progress) {
        while progress.encoded < units.count() && !progress.waits {
            let index = progress.encoded;
            match self.write(units.ask(index), progress) {
                Ok(Written::All) => {
                    self.dirty |= !units.is_stateless(index);
                    progress.encoded += 1;
                }
                Ok(Written::Question) => progress.waits = true,
                Ok(Written::Nothing) => self.settle_prepared(units, progress),
                Err(error) => {
                    units.settle(index, Err(error));
                    progress.encoded += 1;
                }
            }
        }
    }

    #[inline]
    fn write(&mut self, ask: Ask<'_>, progress: &mut Progress) -> Result<Written, Error> {
        let limit = self.node.max_packet();
        let written = match ask {
            Ask::Query(sql) => command::query(self.wire.end_mut(), sql.as_bytes(), limit)
                .map(|request| self.flight.push(request, Owner::Answer))
                .map_err(Error::from),
            Ask::Exec { sql, params } => return self.write_exec(sql, params, progress),
            Ask::Formatted(sql) => self.write_formatted(sql, limit),
            Ask::Prepare(sql) => return self.write_prepare(sql, progress),
            Ask::Ping => {
                let request = command::ping(self.wire.end_mut());
                self.flight.push(request, Owner::Answer);
                Ok(())
            }
        };
        self.or_ask_for_limit(written)
    }

    fn write_formatted(&mut self, sql: &dyn WriteSql, limit: usize) -> Result<(), Error> {
        if self.session.is_ambiguous {
            return Err(Error::Charset);
        }
        let dialect = Dialect::of(self.conversation.status());
        let request = command::query_with(self.wire.end_mut(), limit, |out| {
            sql.write_sql(out, dialect)
        });
        let request = request.map_err(|error: FormatError| Error::from(error))?;
        self.flight.push(request, Owner::Answer);
        Ok(())
    }

    fn write_exec(
        &mut self,
        sql: &str,
        params: &EncodedParams,
        progress: &mut Progress,
    ) -> Result<Written, Error> {
        let (limit, wire) = (self.node.max_packet(), self.wire.end_mut());
        let fresh = progress.fresh.take();
        if let Some(prepared) = fresh.as_ref().or_else(|| self.statements.find(sql)) {
            let request = prepared.execute_encoded(wire, params, limit);
            let written = request.map(|request| self.flight.push(request, Owner::Answer));
            let written = self.or_ask_for_limit(written.map_err(Error::from));
            if matches!(written, Ok(Written::Question)) {
                progress.fresh = fresh;
            }
            return written;
        }
        let at_once = self.can_execute_at_once(sql, params);
        self.ask_to_prepare(sql)?;
        // Not where the limit was asked for instead.
        if at_once && self.has_last_statement {
            let wire = self.wire.end_mut();
            if let Ok(request) = command::execute_encoded(wire, LAST_STATEMENT, params, limit) {
                self.flight.push(request, Owner::Answer);
                progress.at_once = Some(progress.encoded);
                return Ok(Written::All);
            }
        }
        Ok(Written::Question)
    }

    fn write_prepare(&mut self, sql: &str, progress: &mut Progress) -> Result<Written, Error> {
        if progress.fresh.is_none() {
            progress.fresh = self.statements.find(sql).cloned();
        }
        if progress.fresh.is_some() {
            return Ok(Written::Nothing);
        }
        self.ask_to_prepare(sql)
    }

    /// Gives a request what it asked to be prepared.
    fn settle_prepared<U: Units>(&mut self, units: &mut U, progress: &mut Progress) {
        if let Some(prepared) = progress.fresh.take() {
            units.take_prepared(progress.encoded, &prepared);
        }
        units.settle(progress.encoded, Ok(()));
        progress.encoded += 1;
    }

    fn ask_to_prepare(&mut self, sql: &str) -> Result<Written, Error> {
        let limit = self.node.max_packet();
        let request = command::prepare(self.wire.end_mut(), sql.as_bytes(), limit);
        let written = request.map(|request| self.flight.push(request, Owner::Prepare));
        match self.or_ask_for_limit(written.map_err(Error::from))? {
            Written::All => {
                self.has_last_statement = true;
                Ok(Written::Question)
            }
            question => Ok(question),
        }
    }

    /// Whether a statement can be executed in one flight with its preparation: by MariaDB, which then executes what it has
    /// prepared last.
    ///
    /// Its parameters must be as many as its question marks, since the server would read others wrongly. And there must be no
    /// statement that was prepared before: where the server refuses to prepare for having too many, it remembers that one
    /// still, and would execute it.
    fn can_execute_at_once(&self, sql: &str, params: &EncodedParams) -> bool {
        if !self.prepares_at_once || self.has_last_statement {
            return false;
        }
        let dialect = Dialect::of(self.conversation.status());
        let mut places = Placeholders::new(sql, dialect);
        let counted = places.try_fold(0, |count, place| place.map(|_| count + 1_usize));
        counted.is_ok_and(|counted| counted == params.count())
    }

    /// What is too large for every server may not be for this one: it is asked, once.
    #[inline]
    fn or_ask_for_limit(&mut self, written: Result<(), Error>) -> Result<Written, Error> {
        match written {
            Ok(()) => Ok(Written::All),
            Err(Error::TooLarge(error)) if !self.node.knows_max_packet() => {
                self.ask_for_limit(error)
            }
            Err(error) => Err(error),
        }
    }

    #[cold]
    fn ask_for_limit(&mut self, error: TooLarge) -> Result<Written, Error> {
        let sql = b"SELECT @@max_allowed_packet";
        let request = command::query(self.wire.end_mut(), sql, error.limit)?;
        self.flight.push(request, Owner::Limit);
        Ok(Written::Question)
    }
}
