//! What a connection runs: a statement, or several.

mod exec;
mod formatted;
mod ping;
mod pipeline;
mod prepare;
mod query;
mod unit;

use std::fmt;

use arknet_proto::mysql::command::{EncodedParams, Prepared};
use arknet_proto::mysql::format::{Dialect, FormatError};

pub use self::exec::{Exec, exec};
pub use self::formatted::{Formatted, formatted};
pub use self::ping::{Ping, ping};
pub use self::prepare::{Prepare, Statement, prepare};
pub use self::query::{Query, query};
pub(crate) use self::unit::Asks;
pub(crate) use self::unit::Unit;
use super::Error;
use super::incoming::{Broken, Incoming};

/// What can be run on a connection: a [`query`], an [`exec`] of a prepared statement, one that is [`formatted`], a
/// [`prepare`], a [`ping`]; or several of them, as a tuple of up to 12 or a `Vec`.
///
/// Several leave together, without waiting for each other's answers, and are carried out one after the other. Each has a
/// result of its own; one that fails keeps none of the others from being carried out.
///
/// One definition serves every way to run it: on a lease and on a connection, with `async` and with a callback. It cannot be
/// implemented outside this crate.
///
/// ```no_run
/// # async fn story(lease: &mut arknet::mysql::Lease) -> Result<(), arknet::mysql::Error> {
/// use arknet::mysql::{Done, exec, query};
///
/// let (names, inserted) = lease
///     .run((
///         query::<Vec<(u64, String)>>("SELECT id, name FROM users"),
///         exec::<Done>("INSERT INTO visits (user) VALUES (?)", (7,)),
///     ))
///     .await;
/// println!("{} users, visit {}", names?.len(), inserted?.last_insert_id);
/// # Ok(())
/// # }
/// ```
pub trait Request: Send + sealed::Sealed {
    /// What comes of it: of one statement a `Result`, of several one for each.
    type Output: Send;

    /// What is kept of it while it runs.
    #[doc(hidden)]
    type Units: Units<Output = Self::Output>;

    #[doc(hidden)]
    fn into_units(self) -> Self::Units;
}

/// A request whose rows can be streamed: a [`query`], an [`exec`], a [`formatted`] statement. What it would be read as is of no
/// matter then: `()`.
pub trait Streamable: Request + Asks {}

pub(crate) mod sealed {
    /// Keeps [`Request`](super::Request) within this crate.
    pub trait Sealed {}
}

/// Requests that run together, each with its own answer.
///
/// Not for users: it is public since [`Request`] names it.
pub trait Units: Send {
    /// What comes of them.
    type Output;

    /// How many they are.
    fn count(&self) -> usize;

    /// What the one at `index` asks of the server.
    fn ask(&self, index: usize) -> Ask<'_>;

    /// Whether the one at `index` leaves nothing behind in the session.
    fn is_stateless(&self, index: usize) -> bool;

    /// Whether the one at `index` has its result.
    fn is_settled(&self, index: usize) -> bool;

    /// Takes what has come of the answer to the one at `index`.
    ///
    /// # Errors
    ///
    /// [`Broken`]: the connection is of no more use.
    fn take(&mut self, index: usize, incoming: &mut Incoming<'_>) -> Result<Taken, Broken>;

    /// What the one at `index` asked to be prepared is.
    fn take_prepared(&mut self, index: usize, prepared: &Prepared);

    /// The one at `index` has ended.
    fn settle(&mut self, index: usize, result: Result<(), Error>);

    /// All have ended.
    fn finish(self) -> Self::Output;

    /// None will begin.
    fn refuse(mut self, error: &Error) -> Self::Output
    where
        Self: Sized,
    {
        for index in 0..self.count() {
            self.settle(index, Err(error.clone()));
        }
        self.finish()
    }
}

/// What is asked of a server.
pub enum Ask<'a> {
    /// Statements as text.
    Query(&'a str),
    /// Statements as text, into which values are written.
    Formatted(&'a dyn WriteSql),
    /// A statement that is prepared, and executed.
    Exec {
        /// Its text.
        sql: &'a str,
        /// Its parameters.
        params: &'a EncodedParams,
    },
    /// A statement to be prepared.
    Prepare(&'a str),
    /// Whether the server is there.
    Ping,
}

/// A statement that depends on how the server reads literals.
pub trait WriteSql {
    /// It, with its question marks.
    fn sql(&self) -> &str;

    /// Appends it.
    ///
    /// # Errors
    ///
    /// [`FormatError`]: nothing was appended.
    fn write_sql(&self, out: &mut Vec<u8>, dialect: Dialect) -> Result<(), FormatError>;
}

/// What has come of an answer.
#[derive(Debug)]
pub enum Taken {
    /// Not all of it.
    More,
    /// Something that somebody waits for, with more to follow.
    Yield,
    /// All.
    Answered(Result<(), arknet_proto::mysql::ServerError>),
}

/// Shows no statement and no value.
impl fmt::Debug for Ask<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Query(_) => "Query",
            Self::Formatted(_) => "Formatted",
            Self::Exec { .. } => "Exec",
            Self::Prepare(_) => "Prepare",
            Self::Ping => "Ping",
        })
    }
}
