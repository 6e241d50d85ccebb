//! How an owner is made.

use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Owner;
use super::agent::{Agent, Working};
use super::blocking::Pool;
use super::core::{Core, Settings};
use super::cx::Cx;
use super::desk::{Desk, Desks};
use super::dispatch::Completion;
use super::error::{FromLost, OwnerError, PanicPolicy, RejectReason, Rejected};
use super::journal::{Codec, Journal, Recorder};
use super::limits::Limits;
use super::mailbox::Mailbox;
use super::service::{Service, ServiceCore, ServiceParts};
use super::signal::SourceId;
use super::source::Class;
use crate::lanes::Lanes;

/// Where the IO of an owner happens.
#[derive(Clone, Debug)]
pub struct Io(Place);

#[derive(Clone, Debug)]
enum Place {
    Threads(usize),
    Lanes(Lanes),
    Inline,
}

impl Io {
    /// So many lanes of its own, each with a thread. They end with the owner.
    pub fn threads(threads: usize) -> Self {
        Self(Place::Threads(threads))
    }

    /// Lanes that are shared with others. They are not ended with the owner. Manual ones are polled by the application.
    pub fn lanes(lanes: &Lanes) -> Self {
        Self(Place::Lanes(lanes.clone()))
    }

    /// The owner does it itself, inside of its updates and its sleeps: no other thread, no wake-ups.
    pub fn inline() -> Self {
        Self(Place::Inline)
    }
}

impl Default for Io {
    /// One thread.
    fn default() -> Self {
        Self::threads(1)
    }
}

/// The settings of an owner: see [`Owner::builder`].
pub struct Builder<W> {
    io: Io,
    limits: Limits,
    panics: PanicPolicy,
    slow: Option<Duration>,
    start: Option<Instant>,
    recorder: Recorder,
    _world: PhantomData<fn(&mut W)>,
}

impl<W> std::fmt::Debug for Builder<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builder")
            .field("io", &self.io)
            .field("limits", &self.limits)
            .field("panics", &self.panics)
            .finish_non_exhaustive()
    }
}

impl<W: 'static> Builder<W> {
    pub(crate) fn new() -> Self {
        Self {
            io: Io::default(),
            limits: Limits::default(),
            panics: PanicPolicy::default(),
            slow: None,
            start: None,
            recorder: Recorder::default(),
            _world: PhantomData,
        }
    }

    /// Where IO happens. Default: one thread of its own.
    #[must_use]
    pub fn io(mut self, io: Io) -> Self {
        self.io = io;
        self
    }

    /// The bounds of everything that it holds.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// What it does about panics of the application. Default: it reports them.
    #[must_use]
    pub fn panics(mut self, policy: PanicPolicy) -> Self {
        self.panics = policy;
        self
    }

    /// Logs callbacks that take as long as this, with their label. It costs two looks at the clock for each callback, 50 to
    /// 70 ns, so that it is off unless asked for.
    #[must_use]
    pub fn log_slow(mut self, slow: Duration) -> Self {
        self.slow = Some(slow);
        self
    }

    /// What its clock shows before the first update. Default: now. For a clock that is only moved by
    /// [`Owner::update_at`].
    #[must_use]
    pub fn clock(mut self, start: Instant) -> Self {
        self.start = Some(start);
        self
    }

    /// Writes a journal of all that is delivered, in memory, of at most about `most_bytes`: see [`Owner::journal`].
    #[must_use]
    pub fn record(mut self, most_bytes: usize) -> Self {
        self.recorder.write(most_bytes);
        self
    }

    /// Delivers what this journal says, in its order and at its times, as long as it lasts. The program must do again what
    /// it did: spawn the same tasks, submit the same operations, post by the same posters.
    #[must_use]
    pub fn replay(mut self, journal: Journal) -> Self {
        self.recorder.replay(journal);
        self
    }

    /// Makes the owner, on the thread that it will belong to.
    ///
    /// # Errors
    ///
    /// [`OwnerError::Lanes`] where the lanes cannot be started.
    pub fn build(self) -> Result<Owner<W>, OwnerError> {
        let (lanes, inline, own) = match self.io.0 {
            Place::Threads(threads) => (Lanes::sharded(threads)?, false, true),
            Place::Lanes(lanes) => (lanes, false, false),
            Place::Inline => (Lanes::manual()?, true, true),
        };
        let core = Core::new(Settings {
            limits: self.limits,
            policy: self.panics,
            slow: self.slow,
            lanes,
            inline,
            began: self.start.unwrap_or_else(crate::io::now),
            recorder: self.recorder,
        });
        add_blocking(&core);
        Ok(Owner::of(core, own))
    }
}

fn add_blocking<W: 'static>(core: &Rc<Core<W>>) {
    let Ok(place) = core.reserve() else { return };
    let mailbox = Arc::new(Mailbox::new(
        core.signal.clone(),
        place,
        usize::MAX,
        usize::MAX,
    ));
    let pool = Pool::new(core.limits.blocking_threads, mailbox.clone());
    let service = Rc::new(ServiceCore::new(ServiceParts {
        name: "blocking work",
        class: Class::Posts,
        place,
        most: core.limits.blocking,
        most_bytes: usize::MAX,
        weigh: |_| 0,
        dispatch: Box::new(pool),
        mailbox,
        codec: None,
        replayed: false,
    }));
    core.install(place, Class::Posts, service.clone());
    *core.blocking.borrow_mut() = Some(service);
}

/// The settings of a service.
#[derive(Clone, Copy, Debug)]
pub struct ServiceOptions<Out> {
    in_flight: Option<usize>,
    concurrency: Option<usize>,
    weigh: fn(&Out) -> usize,
    codec: Option<Codec<Out>>,
}

impl<Out> Default for ServiceOptions<Out> {
    fn default() -> Self {
        Self {
            in_flight: None,
            concurrency: None,
            weigh: |_| size_of::<Out>(),
            codec: None,
        }
    }
}

impl<Out> ServiceOptions<Out> {
    /// How many operations may be under way. Default: [`Limits::in_flight`].
    #[must_use]
    pub fn in_flight(mut self, operations: usize) -> Self {
        self.in_flight = Some(operations.max(1));
        self
    }

    /// How many run at once on each lane. Default: [`Limits::concurrency`].
    #[must_use]
    pub fn concurrency(mut self, operations: usize) -> Self {
        self.concurrency = Some(operations.max(1));
        self
    }

    /// How many bytes a result holds. While as many as [`Limits::bytes`] wait for the owner, no operation is begun.
    /// Default: the size of the type.
    #[must_use]
    pub fn weigh(mut self, weigh: fn(&Out) -> usize) -> Self {
        self.weigh = weigh;
        self
    }

    /// Has a journal keep the results, and a replay take them from it: then nothing is executed.
    #[must_use]
    pub fn journalled(mut self, codec: Codec<Out>) -> Self {
        self.codec = Some(codec);
        self
    }
}

/// A place for a source, and the lanes for its work.
pub(crate) struct Room {
    place: SourceId,
    lanes: Lanes,
}

impl<W: 'static> Cx<W> {
    /// Makes a service of an async function: it runs on the lanes, its operations are submitted here, and their results are
    /// delivered here.
    ///
    /// ```
    /// # use arknet::owner::{Cadence, Io, Lost, Next, Owner};
    /// let mut owner = Owner::<u64>::builder().io(Io::threads(1)).build()?;
    /// let square = owner.service("square", async |n: u64| Ok::<_, Lost>(n * n))?;
    /// square.send(12, |world, result| *world = result.unwrap_or_default())?;
    /// let mut world = 0;
    /// owner.run(&mut world, Cadence::parked(), |world, _| {
    ///     if *world == 144 { Next::Stop } else { Next::Continue }
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The function comes back where there are too many sources, or the owner has ended.
    pub fn service<Op, Out, F, Fut>(
        &self,
        name: &'static str,
        run: F,
    ) -> Result<Service<W, Op, Out>, Rejected<F>>
    where
        Op: Send + 'static,
        Out: FromLost + Send + 'static,
        F: Fn(Op) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Out> + Send + 'static,
    {
        self.service_with(name, ServiceOptions::default(), run)
    }

    /// As [`service`](Self::service), with settings.
    ///
    /// # Errors
    ///
    /// As [`service`](Self::service).
    pub fn service_with<Op, Out, F, Fut>(
        &self,
        name: &'static str,
        options: ServiceOptions<Out>,
        run: F,
    ) -> Result<Service<W, Op, Out>, Rejected<F>>
    where
        Op: Send + 'static,
        Out: FromLost + Send + 'static,
        F: Fn(Op) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Out> + Send + 'static,
    {
        match self.room_for_service() {
            Ok(room) => Ok(self.add_service(room, name, options, |_| 0, run)),
            Err(reason) => Err(Rejected::new(run, reason)),
        }
    }

    /// What a service needs of the owner.
    pub(crate) fn room_for_service(&self) -> Result<Room, RejectReason> {
        let core = &self.core;
        let lanes = core.lanes.borrow().clone();
        let closed = RejectReason::Closed { of: "the owner" };
        let room = lanes.ok_or(closed).and_then(|lanes| {
            self.check_open()?;
            let place = core.reserve()?;
            Ok(Room { place, lanes })
        });
        if room.is_err() {
            core.count_rejection();
        }
        room
    }

    /// As [`service_with`](Self::service_with), of operations that may hold bytes themselves, as `weigh` says: at most
    /// [`Limits::bytes`] of them are under way.
    pub(crate) fn add_service<Op, Out, F, Fut>(
        &self,
        room: Room,
        name: &'static str,
        options: ServiceOptions<Out>,
        weigh: fn(&Op) -> usize,
        run: F,
    ) -> Service<W, Op, Out>
    where
        Op: Send + 'static,
        Out: FromLost + Send + 'static,
        F: Fn(Op) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Out> + Send + 'static,
    {
        let core = &self.core;
        let Room { place, lanes } = room;
        let mailbox = Arc::new(Mailbox::<Completion<Out>>::new(
            core.signal.clone(),
            place,
            usize::MAX,
            core.limits.bytes,
        ));
        let run = Arc::new(run);
        let concurrency = options.concurrency.unwrap_or(core.limits.concurrency);
        let desks: Vec<Arc<Desk<Op>>> = (0..lanes.count()).map(|_| Arc::new(Desk::new())).collect();
        for (index, desk) in desks.iter().enumerate() {
            let agent = Agent::new(
                desk.clone(),
                mailbox.clone(),
                run.clone(),
                options.weigh,
                concurrency,
            );
            lanes.at(index).spawn(Working(agent));
        }
        let service = Rc::new(ServiceCore::new(ServiceParts {
            name,
            class: Class::Databases,
            place,
            most: options.in_flight.unwrap_or(core.limits.in_flight),
            most_bytes: core.limits.bytes,
            weigh,
            dispatch: Box::new(Desks::new(desks)),
            mailbox,
            codec: options.codec,
            replayed: core.recorder.borrow().is_replaying(),
        }));
        core.install(place, Class::Databases, service.clone());
        Service::new(self.clone(), service)
    }
}
