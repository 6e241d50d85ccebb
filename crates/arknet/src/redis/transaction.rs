//! Changing several keys together, if nobody else has changed them.

pub(super) mod atomic;
pub(super) mod probe;

use arknet_proto::redis::{Effects, ToArg};

use self::atomic::Atomic;
use super::command::Command;
use super::{Batch, Error, Lease};

/// What everything atomic begins with.
pub(super) const MULTI: &str = "MULTI";

/// A transaction on a lease, from [`Lease::transaction`]: keys are watched, read, and then changed all together by
/// [`commit`](Self::commit), unless somebody else has changed one of them since it was watched.
///
/// Dropped without a commit, nothing is changed, and the keys are not watched any more.
///
/// ```no_run
/// use arknet::redis::{Commit, Error, Lease, cmd};
///
/// /// Adds to a counter what a plain INCR cannot.
/// async fn double(lease: &mut Lease) -> Result<i64, Error> {
///     loop {
///         let mut transaction = lease.transaction();
///         transaction.watch("counter").await?;
///         let now: Option<i64> = transaction.run(cmd("GET").arg("counter")).await?;
///         let doubled = now.unwrap_or(1).saturating_mul(2);
///         let set = cmd::<()>("SET").arg("counter").arg(doubled);
///         match transaction.commit(set).await? {
///             Commit::Applied(set) => return set.map(|()| doubled),
///             Commit::Conflict => {}
///         }
///     }
/// }
/// # let _ = double;
/// ```
#[derive(Debug)]
#[must_use = "a transaction changes nothing until it is committed"]
pub struct Transaction<'a> {
    lease: &'a mut Lease,
}

/// What became of a transaction that the server has answered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[must_use = "a transaction that met a conflict has changed nothing"]
pub enum Commit<T> {
    /// All its commands were carried out; this is what they gave.
    Applied(T),
    /// Somebody else has changed a watched key: none was carried out.
    Conflict,
}

impl<T> Commit<T> {
    /// What the commands gave, unless there was a conflict.
    pub fn applied(self) -> Option<T> {
        match self {
            Self::Applied(output) => Some(output),
            Self::Conflict => None,
        }
    }

    /// Whether somebody else has changed a watched key.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict)
    }
}

impl<'a> Transaction<'a> {
    pub(super) fn new(lease: &'a mut Lease) -> Self {
        // Keys that are still watched belong to somebody who has not committed.
        lease.connection().leave_transaction_behind();
        Self { lease }
    }

    /// Watches keys: from now on, a change of one of them by anybody else is a conflict.
    ///
    /// # Errors
    ///
    /// As [`Lease::run`].
    pub async fn watch(&mut self, keys: impl ToArg) -> Result<(), Error> {
        let effects = Effects::WATCHES.union(Effects::EXCLUSIVE);
        let watch = Command::with_effects("WATCH", effects).arg(keys);
        self.lease.run(watch).await
    }

    /// Runs a command or a pipeline at once, outside of what is committed: reads, above all.
    ///
    /// # Errors
    ///
    /// As [`Lease::run`].
    pub async fn run<B: Batch>(&mut self, batch: B) -> B::Output {
        self.lease.run(batch).await
    }

    /// Carries out a command or a pipeline, between `MULTI` and `EXEC` and in one flight with them.
    ///
    /// An error of one command does not undo the others: it is in the output, as in a pipeline.
    ///
    /// Dropping this future leaves open whether the transaction is carried out.
    ///
    /// # Errors
    ///
    /// [`Error::Server`] if a command could not even be queued; then none was carried out. Otherwise as [`Lease::run`],
    /// with the outcome of the transaction as a whole: it is unknown only if `EXEC` may have arrived.
    pub async fn commit<B: Batch>(self, batch: B) -> Result<Commit<B::Output>, Error> {
        self.lease.run(Atomic(batch)).await
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        self.lease.connection().leave_transaction_behind();
    }
}
