//! What a transaction that was dropped has left behind, and is to be undone before anything else.

use arknet_proto::mysql::command;

use super::flight::Owner;
use super::{Connection, Error, Limit};
use crate::mysql::Request;

/// What is known of the present transaction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Left {
    /// The lowest level of it that is to be undone.
    undo: Option<u32>,
    /// The server has rolled it back, and not said so in a state.
    pub(super) is_lost: bool,
}

/// The statement that undoes a level of a transaction: 0 is all of it, others are savepoints.
pub(in crate::mysql) fn undoing(level: u32) -> String {
    match level {
        0 => "ROLLBACK".to_owned(),
        level => format!("ROLLBACK TO SAVEPOINT arknet_{level}"),
    }
}

impl Connection {
    /// Runs a request for one statement.
    pub(in crate::mysql) async fn run_one<R: Request>(
        &mut self,
        request: R,
        limit: Limit,
    ) -> R::Output {
        self.run(request.into_units(), limit).await
    }

    /// A transaction has begun.
    pub(in crate::mysql) fn begin_transaction(&mut self) {
        self.transaction = Left::default();
    }

    /// Whether it is still there, as of the last answer.
    pub(in crate::mysql) fn keeps_transaction(&self) -> bool {
        self.is_in_transaction() && !self.transaction.is_lost
    }

    /// This level of the present transaction, and those above it, are to be undone.
    pub(in crate::mysql) fn leave_behind(&mut self, level: u32) {
        let lowest = self.transaction.undo.map_or(level, |undo| undo.min(level));
        self.transaction.undo = Some(lowest);
        // Whatever was promised, this is not how the session began.
        self.dirty = true;
    }

    /// Whether something is to be undone, or has an answer to come that nobody waits for: what the transaction is then, is
    /// not known.
    pub(in crate::mysql) fn is_unsettled(&self) -> bool {
        let mut owners = self.flight.owners();
        self.transaction.undo.is_some()
            || owners.any(|owner| matches!(owner, Owner::Nobody | Owner::Undo))
    }

    /// Undoes it, in front of what is written next.
    pub(super) fn undo(&mut self) -> Result<(), Error> {
        let Some(level) = self.transaction.undo else {
            return Ok(());
        };
        let (wire, sql) = (self.wire.end_mut(), undoing(level));
        let request = command::query(wire, sql.as_bytes(), sql.len() + 1)?;
        self.flight.push(request, Owner::Undo);
        self.transaction.undo = None;
        Ok(())
    }
}
