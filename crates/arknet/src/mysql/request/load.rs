//! `LOAD DATA LOCAL INFILE`, with contents of the caller's.

use std::borrow::Cow;
use std::fmt;
use std::io;

use arknet_proto::mysql::command::Prepared;
use bytes::Bytes;

use super::unit::{Asks, Unit};
use super::{Ask, Query, Request, Taken, Units, query, sealed};
use crate::mysql::incoming::{Broken, Incoming};
use crate::mysql::{Done, Error};

/// Contents, piece by piece.
pub(crate) type Pieces = Box<dyn Iterator<Item = io::Result<Bytes>> + Send>;

/// A `LOAD DATA LOCAL INFILE` with its contents: from [`load`].
#[must_use = "a request does nothing until it is run"]
pub struct Load<'q> {
    query: Query<'q, Done>,
    pieces: Pieces,
}

/// Loads rows from `pieces`, which are sent as the contents of the file that the statement names; no file of that name is ever
/// opened, and the name may be anything. The next piece is asked for when the one before has left. It runs alone, and only
/// where [`Config::local_infile`](crate::mysql::Config::local_infile) allows it.
///
/// The protocol has no way to give up in the middle. Where the source fails, or the future is dropped or too late before all has
/// been sent, the connection is closed, and what a transactional table has taken so far is rolled back by the server.
///
/// ```
/// use arknet::mysql::load;
///
/// let rows = (0..3).map(|number| Ok(format!("{number}\tname {number}\n").into()));
/// let load = load("LOAD DATA LOCAL INFILE 'rows' INTO TABLE users", rows);
/// # let _ = load;
/// ```
pub fn load<'q, P>(sql: impl Into<Cow<'q, str>>, pieces: P) -> Load<'q>
where
    P: IntoIterator<Item = io::Result<Bytes>>,
    P::IntoIter: Send + 'static,
{
    Load {
        query: query(sql),
        pieces: Box::new(pieces.into_iter()),
    }
}

impl sealed::Sealed for Load<'_> {}

impl<'q> Request for Load<'q> {
    type Output = Result<Done, Error>;
    type Units = Loading<'q>;

    fn into_units(self) -> Loading<'q> {
        Loading {
            unit: Unit::new(self.query),
            pieces: Some(self.pieces),
        }
    }
}

/// A load that runs.
pub struct Loading<'q> {
    unit: Unit<Query<'q, Done>>,
    pieces: Option<Pieces>,
}

impl Units for Loading<'_> {
    type Output = Result<Done, Error>;

    fn count(&self) -> usize {
        1
    }

    fn ask(&self, index: usize) -> Ask<'_> {
        self.unit.ask(index)
    }

    fn is_stateless(&self, index: usize) -> bool {
        self.unit.is_stateless(index)
    }

    fn is_settled(&self, index: usize) -> bool {
        self.unit.is_settled(index)
    }

    fn take(&mut self, index: usize, incoming: &mut Incoming<'_>) -> Result<Taken, Broken> {
        match self.unit.take(index, incoming) {
            Err(Broken::NoFile) => match self.pieces.take() {
                Some(pieces) => Ok(Taken::WantsFile(pieces)),
                None => Err(Broken::NoFile),
            },
            taken => taken,
        }
    }

    fn take_prepared(&mut self, _index: usize, _prepared: &Prepared) {}

    fn settle(&mut self, index: usize, result: Result<(), Error>) {
        self.unit.settle(index, result);
    }

    fn finish(self) -> Self::Output {
        self.unit.finish()
    }
}

/// Shows the statement's digest.
impl fmt::Debug for Load<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.query.ask() {
            Ask::Query(sql) => write!(f, "Load({})", crate::mysql::digest::Digest(sql)),
            _ => f.write_str("Load"),
        }
    }
}

impl fmt::Debug for Loading<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loading")
            .field("unit", &self.unit)
            .finish_non_exhaustive()
    }
}
