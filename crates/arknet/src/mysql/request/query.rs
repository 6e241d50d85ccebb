//! Statements as text.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use super::unit::{Asks, Single};
use super::{Ask, Request, Streamable, Unit, sealed};
use crate::mysql::Error;
use crate::mysql::result::FromResult;

/// A statement that is sent as text, and answered with rows as text: from [`query`].
#[must_use = "a request does nothing until it is run"]
pub struct Query<'q, T> {
    sql: Cow<'q, str>,
    stateless: bool,
    value: PhantomData<fn() -> T>,
}

/// A statement that is sent as it is, and whose answer is read as `T`.
///
/// Values of users do not belong into its text: [`exec`](super::exec) and [`formatted`](super::formatted) take them.
///
/// ```
/// use arknet::mysql::{Done, query};
///
/// let names = query::<Vec<(u64, String)>>("SELECT id, name FROM users");
/// let one = query::<Option<i64>>("SELECT MAX(id) FROM users").stateless();
/// let update = query::<Done>(String::from("UPDATE users SET visits = 0"));
/// # let _ = (names, one, update);
/// ```
pub fn query<'q, T: FromResult>(sql: impl Into<Cow<'q, str>>) -> Query<'q, T> {
    Query {
        sql: sql.into(),
        stateless: false,
        value: PhantomData,
    }
}

impl<T> Query<'_, T> {
    /// Promises that the statement leaves nothing behind in the session: no variable, no lock, no temporary table, no
    /// transaction, no changed setting. Then the session need not be reset for the next user of the connection.
    pub fn stateless(mut self) -> Self {
        self.stateless = true;
        self
    }
}

impl<T: FromResult> Single for Query<'_, T> {
    type Value = T;
}

impl<T: FromResult> Asks for Query<'_, T> {
    #[inline]
    fn ask(&self) -> Ask<'_> {
        Ask::Query(&self.sql)
    }

    #[inline]
    fn is_stateless(&self) -> bool {
        self.stateless
    }
}

impl<T> sealed::Sealed for Query<'_, T> {}

impl<T: FromResult> Request for Query<'_, T> {
    type Output = Result<T, Error>;
    type Units = Unit<Self>;

    #[inline]
    fn into_units(self) -> Unit<Self> {
        Unit::new(self)
    }
}

impl<T> Clone for Query<'_, T> {
    fn clone(&self) -> Self {
        Self {
            sql: self.sql.clone(),
            ..*self
        }
    }
}

impl<T: FromResult> Streamable for Query<'_, T> {}

/// Shows the statement's digest.
impl<T> fmt::Debug for Query<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Query({})", crate::mysql::digest::Digest(&self.sql))
    }
}
