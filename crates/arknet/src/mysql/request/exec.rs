//! Prepared statements with their parameters.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use arknet_proto::mysql::command::{EncodedParams, Params};

use super::unit::{Asks, Single};
use super::{Ask, Request, Streamable, Unit, sealed};
use crate::link::storage;
use crate::mysql::Error;
use crate::mysql::result::FromResult;

/// A prepared statement with parameters, answered with rows in binary: from [`exec`].
#[must_use = "a request does nothing until it is run"]
pub struct Exec<'q, T> {
    sql: Cow<'q, str>,
    params: EncodedParams,
    stateless: bool,
    value: PhantomData<fn() -> T>,
}

/// A statement with a question mark for each of `params`, and whose answer is read as `T`. A value is never read as a part of
/// the statement, whatever is in it.
///
/// The server prepares it, and the connection keeps it prepared for the next time
/// ([`Config::statements`](crate::mysql::Config::statements)). What the parameters are made of is not needed any more when
/// this has returned.
///
/// ```
/// use arknet::mysql::{Done, exec};
///
/// let name = String::from("Ada");
/// let insert = exec::<Done>("INSERT INTO users (name, visits) VALUES (?, ?)", (&name, 1));
/// let found = exec::<Option<(u64, u32)>>("SELECT id, visits FROM users WHERE name = ?", (name,));
/// # let _ = (insert, found);
/// ```
pub fn exec<'q, T: FromResult>(sql: impl Into<Cow<'q, str>>, params: impl Params) -> Exec<'q, T> {
    Exec {
        sql: sql.into(),
        params: EncodedParams::new(&params, storage::lend()),
        stateless: false,
        value: PhantomData,
    }
}

impl<T> Exec<'_, T> {
    /// Promises that the statement leaves nothing behind in the session, as [`Query::stateless`](super::Query::stateless)
    /// does.
    pub fn stateless(mut self) -> Self {
        self.stateless = true;
        self
    }
}

impl<T: FromResult> Single for Exec<'_, T> {
    type Value = T;
}

impl<T: FromResult> Asks for Exec<'_, T> {
    #[inline]
    fn ask(&self) -> Ask<'_> {
        Ask::Exec {
            sql: &self.sql,
            params: &self.params,
        }
    }

    #[inline]
    fn is_stateless(&self) -> bool {
        self.stateless
    }
}

impl<T> sealed::Sealed for Exec<'_, T> {}

impl<T: FromResult> Request for Exec<'_, T> {
    type Output = Result<T, Error>;
    type Units = Unit<Self>;

    #[inline]
    fn into_units(self) -> Unit<Self> {
        Unit::new(self)
    }
}

impl<T> Clone for Exec<'_, T> {
    fn clone(&self) -> Self {
        Self {
            sql: self.sql.clone(),
            params: self.params.clone(),
            ..*self
        }
    }
}

impl<T> Drop for Exec<'_, T> {
    fn drop(&mut self) {
        storage::give_back(std::mem::take(&mut self.params).into_storage());
    }
}

impl<T: FromResult> Streamable for Exec<'_, T> {}

/// Shows the statement's digest, and how many parameters there are.
impl<T> fmt::Debug for Exec<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digest = crate::mysql::digest::Digest(&self.sql);
        write!(f, "Exec({digest}, {:?})", self.params)
    }
}
