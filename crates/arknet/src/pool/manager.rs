//! What a pool has to know about its connections.

use std::future::Future;
use std::time::{Duration, Instant};

/// Makes connections, makes them fit for the next user, and ends them.
///
/// A panic in any of these costs the connection, and is logged; the pool goes on.
pub trait Manager: Send + Sync + 'static {
    /// What is lent.
    type Connection: Send + 'static;
    /// Why a connection could not be made. It is kept, and given to who waited in vain.
    type Error: std::error::Error + Clone + Send + Sync + 'static;

    /// Makes a connection by `deadline`, on a lane. One that takes longer is dropped soon after it, and so is one that is
    /// not wanted any more because the pool is closed.
    fn connect(
        &self,
        deadline: Instant,
    ) -> impl Future<Output = Result<Self::Connection, Self::Error>> + Send;

    /// Makes a returned connection ready for the next user. It is called where the lease is dropped: on any thread, in any
    /// state of the connection, also during a panic and outside of any runtime. It must not block; a write that does not
    /// wait is all it may do.
    fn reset(&self, connection: &mut Self::Connection) -> Reset;

    /// Whether an idle connection can still be used. It is called at every lease, so it should cost nothing unless there is
    /// a sign of trouble, or the connection was idle for long: a second is long.
    fn is_reusable(&self, connection: &mut Self::Connection, idle: Duration) -> bool;

    /// What the metrics of the feature `metrics` call the pool: the value of their label `pool`. The default is the
    /// manager's type.
    fn name(&self) -> String {
        std::any::type_name::<Self>().to_owned()
    }

    /// Ends a connection in good order, on a lane. It is dropped if that takes longer than a second.
    fn farewell(&self, connection: Self::Connection) -> impl Future<Output = ()> + Send;
}

/// What became of a connection that was returned.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reset {
    /// Nothing had to be done.
    Clean,
    /// A reset is on its way; the next request may follow it without waiting.
    Sent,
    /// It cannot be used again. It is dropped without a farewell.
    Discard,
}
