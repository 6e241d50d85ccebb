//! Several statements that are carried out together, or not at all.

use std::fmt;

use super::connection::{Connection, Limit, undoing};
use super::request::{Streamable, Units};
use super::{Done, Error, Request, Rows, ping, query};
use crate::error::Outcome;

/// How much a transaction sees of others.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Isolation {
    /// Also what others have not committed.
    ReadUncommitted,
    /// What others have committed when a statement begins.
    ReadCommitted,
    /// What others had committed when the transaction first read. The servers' default.
    RepeatableRead,
    /// As if there were no others.
    Serializable,
}

impl Isolation {
    fn statement(self) -> &'static str {
        match self {
            Self::ReadUncommitted => "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
            Self::ReadCommitted => "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
            Self::RepeatableRead => "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
            Self::Serializable => "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
        }
    }
}

/// How a transaction begins.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[must_use]
pub struct TransactionOptions {
    isolation: Option<Isolation>,
    read_only: bool,
    snapshot: bool,
}

impl TransactionOptions {
    /// As the session has it.
    pub fn new() -> Self {
        Self::default()
    }

    /// With this isolation. Default: the session's.
    pub fn isolation(mut self, isolation: Isolation) -> Self {
        self.isolation = Some(isolation);
        self
    }

    /// Without changes: the server refuses them. Default off.
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// With a view of all tables as they are at the beginning, and not when first read. Default off.
    pub fn consistent_snapshot(mut self) -> Self {
        self.snapshot = true;
        self
    }

    fn statement(self) -> &'static str {
        match (self.snapshot, self.read_only) {
            (false, false) => "START TRANSACTION",
            (false, true) => "START TRANSACTION READ ONLY",
            (true, false) => "START TRANSACTION WITH CONSISTENT SNAPSHOT",
            (true, true) => "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
        }
    }
}

/// A transaction on a lease or on a connection, from `begin`; or a part of one that can be undone by itself, from
/// [`savepoint`](Self::savepoint).
///
/// Dropped without [`commit`](Self::commit), it is rolled back: in front of whatever is run next on the connection, and before
/// anybody else gets it.
///
/// A statement that commits by itself, such as `CREATE TABLE`, ends the transaction, and so does a deadlock (1213), which the
/// server resolves by rolling back: from then on everything is refused with [`Error::NoTransaction`], since it would be carried
/// out outside. Of several requests that leave together, though, those behind a deadlock are carried out so.
///
/// ```no_run
/// # async fn story(lease: &mut arknet::mysql::Lease) -> Result<(), arknet::mysql::Error> {
/// use arknet::mysql::exec;
///
/// let mut transaction = lease.begin().await?;
/// transaction.run(exec::<()>("UPDATE accounts SET money = money - ? WHERE id = ?", (5, 1))).await?;
/// transaction.run(exec::<()>("UPDATE accounts SET money = money + ? WHERE id = ?", (5, 2))).await?;
/// transaction.commit().await?;
/// # Ok(())
/// # }
/// ```
#[must_use = "a transaction that is dropped is rolled back"]
pub struct Transaction<'c> {
    connection: &'c mut Connection,
    limit: Limit,
    /// 0 is the transaction itself; others are savepoints.
    level: u32,
    /// Nothing is to be undone.
    is_over: bool,
}

impl<'c> Transaction<'c> {
    pub(super) async fn begin(
        connection: &'c mut Connection,
        options: TransactionOptions,
        limit: Limit,
    ) -> Result<Self, Error> {
        // There from the beginning: whatever becomes of the statement, it is undone.
        let transaction = Self {
            connection,
            limit,
            level: 0,
            is_over: false,
        };
        let start = query::<()>(options.statement());
        match options.isolation {
            None => transaction.connection.run_one(start, limit).await?,
            Some(isolation) => {
                let both = (query::<()>(isolation.statement()), start);
                let (isolated, started) =
                    transaction.connection.run(both.into_units(), limit).await;
                isolated.and(started)?;
            }
        }
        transaction.connection.begin_transaction();
        Ok(transaction)
    }

    /// Runs a request, or several, within the transaction.
    ///
    /// Dropping this future cancels the delivery, as it does elsewhere: the statement may be carried out. Whoever is not sure
    /// drops the transaction.
    ///
    /// # Errors
    ///
    /// [`Error::NoTransaction`] if it is over; otherwise as [`Lease::run`](super::Lease::run).
    pub async fn run<R: Request>(&mut self, request: R) -> R::Output {
        let units = request.into_units();
        if let Err(error) = self.settle().await {
            return units.refuse(&error);
        }
        self.connection.run(units, self.limit).await
    }

    /// Runs a statement whose rows are taken one after the other, within the transaction. Where that is over, they are not
    /// there: the first call fails.
    pub fn stream<'t>(&'t mut self, request: impl Streamable + 't) -> Rows<'t> {
        let refusal = self.check().err();
        Rows::begin(self.connection, request, self.limit, refusal)
    }

    /// Begins a part of the transaction that can be undone by itself: its [`commit`](Self::commit) keeps it, as a part of the
    /// whole; its [`rollback`](Self::rollback), or its drop, undoes what was run on it.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub async fn savepoint(&mut self) -> Result<Transaction<'_>, Error> {
        self.settle().await?;
        let level = self.level.saturating_add(1);
        let part = Transaction {
            connection: &mut *self.connection,
            limit: self.limit,
            level,
            is_over: false,
        };
        let set = query::<()>(format!("SAVEPOINT arknet_{level}"));
        part.connection.run_one(set, part.limit).await?;
        Ok(part)
    }

    /// Commits: what was run is kept, all of it. Of a savepoint: it becomes a part of the whole.
    ///
    /// Dropping this future leaves open whether it was committed.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run). If the [outcome](Error::outcome) is unknown, as that of a connection that was lost on the way, it
    /// may or may not be committed, and nobody but the caller can find out.
    pub async fn commit(mut self) -> Result<Done, Error> {
        // What a savepoint has left to be undone must not be committed instead.
        self.settle().await?;
        let commit = match self.level {
            0 => query::<Done>("COMMIT"),
            level => query::<Done>(format!("RELEASE SAVEPOINT arknet_{level}")),
        };
        let done = self.connection.run_one(commit, self.limit).await?;
        self.is_over = true;
        Ok(done)
    }

    /// Undoes what was run. Of a savepoint: what was run since.
    ///
    /// # Errors
    ///
    /// As [`Lease::run`](super::Lease::run). Whatever becomes of it, nothing is committed: a connection that cannot roll back
    /// is closed.
    pub async fn rollback(mut self) -> Result<(), Error> {
        if self.check().is_err() {
            // There is nothing left.
            return Ok(());
        }
        self.connection
            .run_one(query::<()>(undoing(self.level)), self.limit)
            .await?;
        self.is_over = true;
        Ok(())
    }

    /// Whether the transaction is still there, as of the last answer.
    pub fn is_open(&self) -> bool {
        self.check().is_ok()
    }

    fn check(&self) -> Result<(), Error> {
        if self.connection.keeps_transaction() {
            return Ok(());
        }
        Err(Error::NoTransaction)
    }

    /// Whether the transaction is still there, once it is known what became of what nobody waited for: that may have ended
    /// all of it, as a deadlock does.
    async fn settle(&mut self) -> Result<(), Error> {
        self.check()?;
        if self.connection.is_unsettled() {
            let settled = self.connection.run_one(ping(), self.limit).await;
            settled.map_err(|error| error.with_outcome(Outcome::NotSent))?;
        }
        self.check()
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.connection.leave_behind(self.level);
        }
    }
}

impl fmt::Debug for Transaction<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transaction")
            .field("level", &self.level)
            .field("is_open", &self.is_open())
            .finish_non_exhaustive()
    }
}
