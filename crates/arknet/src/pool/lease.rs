//! A connection that is lent.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::Manager;
use super::shared::{Held, Shared};

/// The only access to a connection until it is dropped, which gives it back.
///
/// It may be dropped on any thread, in any state of the connection and after the pool: [`Manager::reset`] says whether the
/// connection can be used again. The drop neither blocks nor panics.
pub struct Lease<M: Manager> {
    /// There until the end.
    held: Option<Box<Held<M>>>,
    pool: Arc<Shared<M>>,
}

impl<M: Manager> Lease<M> {
    #[inline]
    pub(super) fn new(pool: Arc<Shared<M>>, held: Box<Held<M>>) -> Self {
        Self {
            held: Some(held),
            pool,
        }
    }

    /// Drops the connection instead of giving it back: for who knows that it cannot be used again.
    pub fn discard(mut self) {
        if let Some(held) = self.held.take() {
            self.pool.discard(held);
        }
    }

    /// The pool's manager.
    pub fn manager(&self) -> &M {
        self.pool.manager()
    }
}

impl<M: Manager> Deref for Lease<M> {
    type Target = M::Connection;

    #[inline]
    fn deref(&self) -> &M::Connection {
        match &self.held {
            Some(held) => &held.connection,
            None => unreachable!("only the end of a lease takes its connection"),
        }
    }
}

impl<M: Manager> DerefMut for Lease<M> {
    #[inline]
    fn deref_mut(&mut self) -> &mut M::Connection {
        match &mut self.held {
            Some(held) => &mut held.connection,
            None => unreachable!("only the end of a lease takes its connection"),
        }
    }
}

impl<M: Manager> Drop for Lease<M> {
    #[inline]
    fn drop(&mut self) {
        if let Some(held) = self.held.take() {
            self.pool.give_back(held);
        }
    }
}

impl<M: Manager> fmt::Debug for Lease<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease").finish_non_exhaustive()
    }
}
