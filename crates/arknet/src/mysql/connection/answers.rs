//! Answers, as they come, to the requests that they belong to.

use std::io;

use arknet_proto::mysql::answer::Event;
use arknet_proto::mysql::command::Prepared;
use arknet_proto::mysql::{ProtocolError, ServerError};

use super::encode::Progress;
use super::flight::Owner;
use super::upload::Upload;
use super::{Broken, Connection, Error};
use crate::mysql::request::{Ask, Taken, Units};

/// `ER_LOCK_DEADLOCK`: the transaction was rolled back, all of it.
const DEADLOCK: u16 = 1213;

/// The limit of a server that does not tell: the default of MariaDB, which is the lower one.
const USUAL_PACKET: u64 = 16 << 20;

impl Connection {
    /// Takes the answers that have come to the caller's requests, and to those before; says whether he has what he waits for.
    #[inline]
    pub(super) fn take_answers<U: Units>(
        &mut self,
        units: &mut U,
        progress: &mut Progress,
    ) -> Result<bool, Error> {
        let done = self.take_answers_to(units, progress)?;
        self.forget_taken_unless(done);
        Ok(done)
    }

    /// A row that somebody waits for lies where it is.
    #[inline]
    fn forget_taken_unless(&mut self, yields: bool) {
        if !yields || self.at == self.incoming.len() {
            self.forget_taken();
        }
    }

    #[inline]
    fn take_answers_to<U: Units>(
        &mut self,
        units: &mut U,
        progress: &mut Progress,
    ) -> Result<bool, Error> {
        loop {
            while progress.answered < units.count() && units.is_settled(progress.answered) {
                progress.answered += 1;
            }
            if progress.answered >= units.count() {
                return Ok(true);
            }
            let index = progress.answered;
            match self.flight.front() {
                Some(Owner::Answer) => {
                    let taken = units.take(index, &mut self.split());
                    match taken.map_err(|broken| self.broke(broken))? {
                        Taken::More => return Ok(false),
                        Taken::Yield => return Ok(true),
                        Taken::WantsFile(pieces) => {
                            self.upload = Some(Upload::new(pieces));
                            self.fill()?;
                        }
                        Taken::Answered(result) => {
                            self.flight.pop();
                            self.end_answer(units, progress, result)?;
                        }
                    }
                }
                Some(owner) => {
                    let ended = match owner {
                        Owner::Prepare => self.take_prepared(units, progress)?,
                        Owner::Limit => self.take_limit(units, progress)?,
                        other => self.take_other(other)?,
                    };
                    if !ended {
                        return Ok(false);
                    }
                }
                None => {
                    if self.at < self.incoming.len() {
                        self.take_unasked()?;
                    }
                    return Ok(false);
                }
            }
        }
    }

    #[inline]
    fn end_answer<U: Units>(
        &mut self,
        units: &mut U,
        progress: &mut Progress,
        result: Result<(), ServerError>,
    ) -> Result<(), Error> {
        let index = progress.answered;
        let at_once = progress
            .at_once
            .take_if(|at_once| *at_once == index)
            .is_some();
        if let Some(error) = progress.unprepared.take() {
            units.settle(index, Err(error));
            return match result {
                Err(_) => Ok(()),
                Ok(()) => Err(self.node.lost(io::Error::other(
                    "the server executed another statement than it was given",
                ))),
            };
        }
        match result {
            Ok(()) => units.settle(index, Ok(())),
            Err(error) => {
                self.note_error(&error);
                if !self.goes_again(units, progress, &error, at_once) {
                    units.settle(index, Err(Error::Server(error.into())));
                }
            }
        }
        Ok(())
    }

    /// Learns from what a server says.
    #[cold]
    pub(super) fn note_error(&mut self, error: &ServerError) {
        // The server is not the primary any more: the name may lead to another one by now.
        self.ends_with_lease |= error.is_read_only();
        self.transaction.is_lost |= error.code() == DEADLOCK;
    }

    /// Prepares a statement anew that the server could not execute because it has to be, once.
    #[cold]
    fn goes_again<U: Units>(
        &mut self,
        units: &mut U,
        progress: &mut Progress,
        error: &ServerError,
        at_once: bool,
    ) -> bool {
        /// `ER_UNKNOWN_STMT_HANDLER`: somebody between us and the server has changed the session.
        const UNKNOWN_STATEMENT: u16 = 1243;

        let index = progress.answered;
        let is_unknown = error.code() == UNKNOWN_STATEMENT;
        // What was sent behind it has been carried out: it would come too late.
        let is_last = progress.encoded == index + 1 && !progress.waits;
        if !(error.needs_reprepare() || is_unknown)
            || at_once
            || !is_last
            || progress.again == Some(index)
        {
            return false;
        }
        let Ask::Exec { sql, .. } = units.ask(index) else {
            return false;
        };
        let statement = self.statements.remove(sql);
        self.closes.extend(statement.filter(|_| !is_unknown));
        progress.again = Some(index);
        progress.encoded = index;
        self.encode(units, progress);
        true
    }

    /// Takes the answer to a preparation; says whether it has ended.
    fn take_prepared<U: Units>(
        &mut self,
        units: &mut U,
        progress: &mut Progress,
    ) -> Result<bool, Error> {
        let prepared = self.next_prepared();
        let prepared = match prepared.map_err(|error| self.node.broke_protocol(error))? {
            Some(prepared) => prepared,
            None => return Ok(false),
        };
        self.flight.pop();
        if let Err(error) = &prepared {
            self.note_error(error);
        }
        if progress.at_once == Some(progress.answered) {
            match prepared {
                Ok(prepared) => self.note_prepared(units, progress.answered, &prepared),
                Err(error) => progress.unprepared = Some(Error::Server(error.into())),
            }
            return Ok(true);
        }
        match prepared {
            Ok(prepared) => {
                self.note_prepared(units, progress.encoded, &prepared);
                progress.fresh = Some(prepared);
            }
            Err(error) => {
                units.settle(progress.encoded, Err(Error::Server(error.into())));
                progress.encoded += 1;
            }
        }
        self.go_on(units, progress);
        Ok(true)
    }

    fn next_prepared(&mut self) -> Result<Option<Result<Prepared, ServerError>>, ProtocolError> {
        let mut incoming = self.split();
        loop {
            match incoming.next()? {
                None => return Ok(None),
                Some(Event::Prepared(prepared)) => return Ok(Some(Ok(prepared))),
                Some(Event::Error(error)) => return Ok(Some(Err(error))),
                Some(_) => {}
            }
        }
    }

    fn note_prepared<U: Units>(&mut self, units: &U, index: usize, prepared: &Prepared) {
        self.node.count_prepared();
        if let Ask::Exec { sql, .. } | Ask::Prepare(sql) = units.ask(index) {
            self.closes
                .extend(self.statements.insert(sql, prepared.clone()));
        }
    }

    /// Takes how large a packet may be; says whether the answer has ended.
    #[cold]
    fn take_limit<U: Units>(
        &mut self,
        units: &mut U,
        progress: &mut Progress,
    ) -> Result<bool, Error> {
        let limited = self.note_limit();
        if !limited.map_err(|broken| self.broke(broken))? {
            return Ok(false);
        }
        if !self.node.knows_max_packet() {
            self.node.note_max_packet(USUAL_PACKET);
        }
        self.flight.pop();
        self.go_on(units, progress);
        Ok(true)
    }

    fn note_limit(&mut self) -> Result<bool, Broken> {
        let node = self.node.clone();
        let mut incoming = self.split();
        loop {
            match incoming.next()? {
                None => return Ok(false),
                Some(Event::Row(row)) => {
                    if let Ok(limit) = row.get(0) {
                        node.note_max_packet(limit);
                    }
                }
                Some(Event::Ok(ok)) if !ok.has_more() => return Ok(true),
                Some(Event::Error(_)) => return Ok(true),
                Some(Event::LocalInfile(_)) => return Err(Broken::NoFile),
                Some(_) => {}
            }
        }
    }

    /// What had to be known is known.
    fn go_on<U: Units>(&mut self, units: &mut U, progress: &mut Progress) {
        progress.waits = false;
        self.encode(units, progress);
    }
}
