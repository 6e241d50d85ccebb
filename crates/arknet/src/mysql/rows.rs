//! The rows of a statement, one after the other as they come.

use std::any::TypeId;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use arknet_proto::mysql::Columns;
use arknet_proto::mysql::answer::Event;
use arknet_proto::mysql::command::Prepared;
use arknet_proto::mysql::row::{FromRow, Plan, Row};

use super::connection::{Connection, Limit, Running};
use super::incoming::{Broken, Incoming};
use super::node::Node;
use super::request::{Ask, Asks, Taken, Units};
use super::{Done, Error};

/// Receive buffers that one turn takes the rows of. Then others have their turn, however fast the server is.
const BUFFERS_PER_TURN: usize = 16;

/// The answer to a statement, from `stream` on a lease or a connection: its rows, each borrowed from the receive buffer.
///
/// What is not read here is not read from the network: a server that is faster waits. Dropped before the end, what follows is
/// read and thrown away by what is run next, or, if the lease is returned, within 100 ms and 1 MiB; a connection that has more
/// than that to say is closed.
///
/// The limit of a request's time ([`Config::request_timeout`](super::Config::request_timeout)) is that of each wait for the
/// server, not that of the whole. After an error every further call fails with it.
///
/// ```no_run
/// # async fn story(lease: &mut arknet::mysql::Lease) -> Result<(), arknet::mysql::Error> {
/// use arknet::mysql::{FromRow, query};
///
/// let mut rows = lease.stream(query::<()>("SELECT id, name FROM users"));
/// let plan = <(u64, &str)>::plan(rows.columns().await?)?;
/// while let Some(row) = rows.next().await? {
///     let (id, name): (u64, &str) = row.decode(&plan)?;
///     println!("{id}: {name}");
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "a statement is not sent before something of its answer is asked for"]
pub struct Rows<'c> {
    node: Arc<Node>,
    running: Running<&'c mut Connection, Streamed<'c>>,
    /// How rows are read as the type that they were asked for last.
    plan: Option<(TypeId, Plan)>,
}

impl<'c> Rows<'c> {
    pub(super) fn new(connection: &'c mut Connection, asks: impl Asks + 'c, limit: Limit) -> Self {
        Self::begin(connection, asks, limit, None)
    }

    /// Begins, unless there is a reason not to.
    pub(super) fn begin(
        connection: &'c mut Connection,
        asks: impl Asks + 'c,
        limit: Limit,
        refusal: Option<Error>,
    ) -> Self {
        let streamed = Streamed {
            asks: Box::new(asks),
            place: Place::Between,
            wanted: Wanted::Columns,
            columns: Arc::default(),
            done: None,
            result: refusal.map(Err),
        };
        Self {
            node: connection.node().clone(),
            running: Running::begin(connection, streamed, limit),
            plan: None,
        }
    }

    /// The columns of the present result; none if it has no rows by its nature, as that of an `INSERT`.
    ///
    /// Dropping this future changes nothing.
    ///
    /// # Errors
    ///
    /// Those of a request.
    pub async fn columns(&mut self) -> Result<&Arc<Columns>, Error> {
        poll_fn(|cx| self.poll(cx, Wanted::Columns)).await?;
        match self.running.parts() {
            Some((_, streamed)) => Ok(&streamed.columns),
            None => Err(Error::Closed),
        }
    }

    /// The next row of the present result; `None` if there is none, and again from then on: what the result says of itself is
    /// [`done`](Self::done), and [`next_result`](Self::next_result) goes on to the next, if there is one.
    ///
    /// Dropping this future loses nothing: the next call gives the row.
    ///
    /// # Errors
    ///
    /// Those of a request.
    #[inline]
    pub async fn next(&mut self) -> Result<Option<Row<'_>>, Error> {
        let place = poll_fn(|cx| self.poll(cx, Wanted::Row)).await?;
        match (place, self.running.parts()) {
            (Place::Row, Some((connection, _))) => connection
                .next_row()
                .map_err(|error| self.node.broke_protocol(error)),
            (Place::Joined, Some((connection, streamed))) => {
                streamed.place = Place::Within;
                Ok(Some(connection.last_row()))
            }
            _ => Ok(None),
        }
    }

    /// The next row of the present result, read as `R`. How that is done is found out once for a result.
    ///
    /// Dropping this future loses nothing.
    ///
    /// # Errors
    ///
    /// Those of a request; [`Error::Decode`], after which the next call gives the next row.
    pub async fn next_as<R: for<'a> FromRow<'a> + 'static>(&mut self) -> Result<Option<R>, Error> {
        let asked = TypeId::of::<R>();
        let known = self.plan.take_if(|(planned, _)| *planned == asked);
        let plan = match known {
            Some((_, plan)) => plan,
            None => {
                let columns = self.columns().await?;
                R::plan(columns)?
            }
        };
        let row = self.next().await;
        let read = match row {
            Ok(Some(row)) => row.decode(&plan).map(Some).map_err(Error::Decode),
            Ok(None) => return Ok(None),
            Err(error) => return Err(error),
        };
        self.plan = Some((asked, plan));
        read
    }

    /// Calls a function with every row of the present result, and waits only where none has come.
    ///
    /// Dropping this future between two rows loses none of them.
    ///
    /// # Errors
    ///
    /// Those of a request, and whatever `each` returns, after which the next call goes on with the next row.
    pub async fn for_each(
        &mut self,
        mut each: impl FnMut(Row<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        poll_fn(|cx| {
            for _ in 0..BUFFERS_PER_TURN {
                let place = ready!(self.poll(cx, Wanted::Row))?;
                match (place, self.running.parts()) {
                    (Place::Row, Some((connection, _))) => {
                        while let Some(row) = connection
                            .next_row()
                            .map_err(|error| self.node.broke_protocol(error))?
                        {
                            each(row)?;
                        }
                    }
                    (Place::Joined, Some((connection, streamed))) => {
                        streamed.place = Place::Within;
                        each(connection.last_row())?;
                    }
                    _ => return Poll::Ready(Ok(())),
                }
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await
    }

    /// Passes over what is left of the present result, and says whether another one follows.
    ///
    /// # Errors
    ///
    /// Those of a request.
    pub async fn next_result(&mut self) -> Result<bool, Error> {
        self.plan = None;
        let place = poll_fn(|cx| self.poll(cx, Wanted::End)).await?;
        match (place, self.running.parts()) {
            (Place::Ended, Some((_, streamed))) => {
                streamed.place = Place::Between;
                streamed.columns = Arc::default();
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Passes over all that is left, and gives what the last result says at its end.
    ///
    /// # Errors
    ///
    /// Those of a request.
    pub async fn finish(mut self) -> Result<Done, Error> {
        while self.next_result().await? {}
        Ok(self.done().cloned().unwrap_or_default())
    }

    /// What the last result that has ended says of itself.
    pub fn done(&mut self) -> Option<&Done> {
        let (_, streamed) = self.running.parts()?;
        streamed.done.as_ref()
    }

    /// Ready when what is wanted is there: says what lies before us.
    #[inline]
    fn poll(&mut self, cx: &mut Context<'_>, wanted: Wanted) -> Poll<Result<Place, Error>> {
        let Some((_, streamed)) = self.running.parts() else {
            return Poll::Ready(Err(Error::Closed));
        };
        if let Some(known) = streamed.known(wanted) {
            return Poll::Ready(known);
        }
        streamed.wanted = wanted;
        let polled = ready!(self.running.poll(cx));
        self.running.renew();
        if let Err(error) = polled {
            self.running.fail(&error);
        }
        Poll::Ready(match self.running.parts() {
            Some((_, streamed)) => match &streamed.result {
                Some(Err(error)) => Err(error.clone()),
                _ => Ok(streamed.place),
            },
            None => Err(Error::Closed),
        })
    }
}

impl std::fmt::Debug for Rows<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rows")
            .field("address", &self.node.address.to_string())
            .finish_non_exhaustive()
    }
}

/// One request, whose rows stay where they are until somebody takes them.
struct Streamed<'q> {
    asks: Box<dyn Asks + 'q>,
    place: Place,
    wanted: Wanted,
    /// Those of the present result.
    columns: Arc<Columns>,
    /// What the last result said at its end.
    done: Option<Done>,
    /// How all of it ended.
    result: Option<Result<(), Error>>,
}

/// What somebody waits for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Wanted {
    Columns,
    Row,
    End,
}

/// What lies before us.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Place {
    /// A result.
    Between,
    /// Rows, or their end.
    Within,
    /// A row that has come.
    Row,
    /// A row that has come in several frames, and was taken out of the buffer.
    Joined,
    /// Another result, behind the one that has ended.
    Ended,
    /// Nothing.
    Finished,
}

impl Streamed<'_> {
    /// What can be said without looking at what has come.
    #[inline]
    fn known(&self, wanted: Wanted) -> Option<Result<Place, Error>> {
        if let Some(Err(error)) = &self.result {
            return Some(Err(error.clone()));
        }
        match (self.place, wanted) {
            (Place::Ended | Place::Finished, _)
            | (Place::Joined, Wanted::Row)
            | (Place::Within | Place::Row | Place::Joined, Wanted::Columns) => Some(Ok(self.place)),
            _ => None,
        }
    }
}

impl Units for Streamed<'_> {
    type Output = ();

    fn count(&self) -> usize {
        1
    }

    fn ask(&self, _index: usize) -> Ask<'_> {
        self.asks.ask()
    }

    fn is_stateless(&self, _index: usize) -> bool {
        self.asks.is_stateless()
    }

    #[inline]
    fn is_settled(&self, _index: usize) -> bool {
        self.result.is_some()
    }

    #[inline]
    fn take(&mut self, _index: usize, incoming: &mut Incoming<'_>) -> Result<Taken, Broken> {
        loop {
            match self.wanted {
                Wanted::End => while incoming.next_row()?.is_some() {},
                _ if incoming.has_row() => {
                    self.place = Place::Row;
                    return Ok(Taken::Yield);
                }
                _ => {}
            }
            match incoming.next()? {
                None => return Ok(Taken::More),
                Some(Event::Columns(columns)) => {
                    self.columns = Arc::clone(columns);
                    self.place = Place::Within;
                    if self.wanted == Wanted::Columns {
                        return Ok(Taken::Yield);
                    }
                }
                Some(Event::Row(_)) if self.wanted == Wanted::End => {}
                Some(Event::Row(_)) => {
                    self.place = Place::Joined;
                    return Ok(Taken::Yield);
                }
                Some(Event::Ok(ok)) => {
                    self.done = Some(Done::of(&ok));
                    if !ok.has_more() {
                        self.place = Place::Finished;
                        return Ok(Taken::Answered(Ok(())));
                    }
                    self.place = Place::Ended;
                    return Ok(Taken::Yield);
                }
                Some(Event::Error(error)) => return Ok(Taken::Answered(Err(error))),
                Some(Event::LocalInfile(_)) => return Err(Broken::NoFile),
                Some(_) => {}
            }
        }
    }

    fn take_prepared(&mut self, _index: usize, _prepared: &Prepared) {}

    fn settle(&mut self, _index: usize, result: Result<(), Error>) {
        self.place = Place::Finished;
        self.result.get_or_insert(result);
    }

    fn finish(self) {}
}
