//! Redis for an owner.

use std::any::TypeId;
use std::future::Future;
use std::io;
use std::time::{Duration, Instant};

use super::cx::Cx;
use super::database::{Client, Database, Request, sealed};
use super::error::{Lost, RejectReason};
use crate::error::Outcome;
use crate::pool::{PoolConfig, PoolReport};
use crate::redis::{Batch, Config, Error, Parcel, Pool};

/// The name of the database in reports.
const NAME: &str = "redis";

impl<W: 'static> Cx<W> {
    /// A Redis server, for requests of every kind: commands, pipelines, atomic ones, and such that need a lease. Each gets
    /// a connection of a pool for its time.
    ///
    /// ```no_run
    /// use arknet::owner::{Cadence, Io, Next, Owner};
    /// use arknet::pool::PoolConfig;
    /// use arknet::redis::Config;
    /// use arknet::redis::commands::strings::{get, set};
    ///
    /// #[derive(Default)]
    /// struct World {
    ///     greeting: Option<String>,
    /// }
    ///
    /// let mut owner = Owner::<World>::builder().io(Io::threads(1)).build()?;
    /// let redis = owner.redis(Config::from_url("redis://localhost")?, PoolConfig::new())?;
    ///
    /// // With a callback.
    /// let player = redis.ordered(42);
    /// player.send(set("player:42", "hello"), |_, saved| saved.expect("cannot save"))?;
    /// // In a task. It comes after the one before, since both are of player 42.
    /// owner.spawn(async move |cx| {
    ///     if let Ok(greeting) = player.call(get::<Option<String>>("player:42")).await {
    ///         cx.with(|world| world.greeting = greeting);
    ///     }
    /// })?;
    ///
    /// let mut world = World::default();
    /// owner.run(&mut world, Cadence::parked(), |world, _| match world.greeting {
    ///     Some(_) => Next::Stop,
    ///     None => Next::Continue,
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Config`] says what cannot work, [`Error::Closed`] that the owner has ended, [`Error::Full`] that it has too
    /// many sources. That the server cannot be reached shows in the outputs.
    pub fn redis(&self, config: Config, pool: PoolConfig) -> Result<Database<W, Pool>, Error> {
        let lanes = self.core.lanes.borrow().clone();
        let lanes = lanes.ok_or(Error::Closed)?;
        // Each lane sends as many requests as there are connections, and the others wait in the pool.
        let waiting = pool.most().saturating_mul(lanes.count());
        let pool = Pool::new(config, pool.queue_of_at_least(waiting), &lanes)?;
        self.database(NAME, pool)
            .map_err(|rejected| match rejected.reason {
                RejectReason::Operations { most, of } | RejectReason::Bytes { most, of } => {
                    Error::Full {
                        what: of,
                        limit: most,
                    }
                }
                RejectReason::Closed { .. } => Error::Closed,
            })
    }
}

impl sealed::Sealed for Pool {}

impl Client for Pool {
    type Parcel = Parcel;
    type Error = Error;

    fn carry(&self, parcel: Parcel, asked: Instant) -> impl Future<Output = Parcel> + Send {
        self.run_asked(parcel, asked)
    }

    fn at_once(&self) -> usize {
        self.most()
    }

    fn weigh(parcel: &Parcel) -> usize {
        parcel.bytes()
    }

    fn losses(&self) -> Box<dyn Fn(Lost) -> Error> {
        let loss = self.loss();
        Box::new(move |lost| match lost {
            Lost::Refused => Error::Closed,
            Lost::Withdrawn => loss(io::Error::other(lost), Outcome::NotSent),
            Lost::Panicked | Lost::Ended => loss(io::Error::other(lost), Outcome::Unknown),
        })
    }

    fn end(&self, within: Duration) -> impl Future<Output = PoolReport> + Send {
        self.close(within)
    }
}

impl<B: Batch + 'static> Request<Pool> for B {
    type Output = B::Output;

    fn pack(self, spare: Option<Parcel>) -> Parcel {
        match spare {
            Some(spare) => spare.refill(self),
            None => Parcel::pack(self),
        }
    }

    fn kind() -> TypeId {
        Parcel::kind::<B>()
    }

    fn bytes(&self) -> usize {
        self.wire_len()
    }

    fn answers(&self) -> usize {
        self.requests()
    }

    fn unpack(parcel: &mut Parcel) -> Option<B::Output> {
        parcel.take_output::<B>()
    }

    fn lost(answers: usize, error: &Error) -> B::Output {
        B::unanswered(answers, error)
    }
}
