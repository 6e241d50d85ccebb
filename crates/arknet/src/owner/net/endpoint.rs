//! A server or client of an owner: it tells of connections, and keeps those that are open.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use super::buffers::Buffers;
use super::connection::Connection;
use super::handler::Handler;
use super::line::{Common, Line};
use super::record;
use super::session::{Parts, Session, SessionId};
use super::stream::{Seat, Stream, Style};
use super::wire::{Arrival, Gate};
use crate::endpoint::{Error, Shutdown};
use crate::io::tokio::PeerAddress;
use crate::owner::core::Core;
use crate::owner::cx::Cx;
use crate::owner::error::RejectReason;
use crate::owner::groups::{GroupRef, NONE};
use crate::owner::label::Label;
use crate::owner::mailbox::Mailbox;
use crate::owner::posts::drop_contained;
use crate::owner::source::{Class, Source, Ticket};
use crate::tcp::Admission;

/// The name of all of them in journals and reports.
const NAME: &str = "arrivals";

/// How long the sessions of a group that is cancelled may take to hand over what they have accepted.
const CANCELLED_WITHIN: Duration = Duration::from_secs(30);

/// Makes the handler of a session.
pub(super) type Make<W> = Box<dyn FnMut(&mut W, &Session) -> Box<dyn Handler<W>>>;

/// Spawns the task of a connection; false where it was refused.
pub(super) type Spawn<W> = Rc<dyn Fn(&Cx<W>, Connection<W>) -> bool>;

/// Begins the end of an endpoint's sockets.
type Stop = Box<dyn Fn(Duration) -> Shutdown>;

/// What becomes of a new connection.
pub(super) enum Welcome<W: 'static> {
    /// A handler for each.
    Each(RefCell<Option<Make<W>>>),
    /// One handler for all that follow one another.
    InTurn(Seat<W>),
    Task(Spawn<W>),
}

pub(super) struct Endpoint<W: 'static> {
    number: u64,
    pub(super) group: Option<GroupRef>,
    pub(super) label: Label,
    place: u32,
    member: Cell<u32>,
    pub(super) gate: Arc<Gate>,
    admission: Admission,
    welcome: Welcome<W>,
    /// Ends the sockets.
    stop: RefCell<Option<Stop>>,
    sessions: RefCell<BTreeMap<SessionId, Session>>,
    /// Woken when the last session has ended.
    emptied: RefCell<Vec<Waker>>,
    ready: RefCell<VecDeque<Arrival>>,
    delivered: Cell<usize>,
    failures: Cell<u64>,
    cancelled: Cell<bool>,
    stopped: Cell<bool>,
}

/// An endpoint of an owner, as a source.
pub(super) struct Arrivals<W: 'static>(pub(super) Rc<Endpoint<W>>);

impl<W: 'static> Endpoint<W> {
    pub(super) fn new(
        cx: &Cx<W>,
        label: Label,
        admission: Admission,
        welcome: Welcome<W>,
        in_turn: bool,
    ) -> Result<Rc<Self>, RejectReason> {
        cx.check_open()?;
        let core = &cx.core;
        let place = core.reserve()?;
        let limits = core.limits;
        let common = Common {
            signal: core.signal.clone(),
            buffers: Buffers::default(),
            most_events: limits.inbox_events.max(1),
            most_bytes: limits.inbox_bytes.max(1),
            most_in_all: limits.bytes,
            in_all: AtomicUsize::new(0),
        };
        // A client that fails to connect tells so a few times; its connections come one by one.
        let most = admission.connections.saturating_add(64);
        let number = core.network.endpoints.get();
        core.network.endpoints.set(number + 1);
        let endpoint = Rc::new(Self {
            number,
            group: cx.group,
            label,
            place,
            member: Cell::new(NONE),
            gate: Arc::new(Gate {
                arrivals: Mailbox::new(core.signal.clone(), place, most, usize::MAX),
                common: Arc::new(common),
                in_turn,
                place,
                over: AtomicBool::new(false),
            }),
            admission,
            welcome,
            stop: RefCell::default(),
            sessions: RefCell::default(),
            emptied: RefCell::default(),
            ready: RefCell::default(),
            delivered: Cell::new(0),
            failures: Cell::new(0),
            cancelled: Cell::new(false),
            stopped: Cell::new(false),
        });
        core.install(place, Class::Network, Rc::new(Arrivals(endpoint.clone())));
        if let Ok(member) = core.join(cx.group, place, NOBODY) {
            endpoint.member.set(member);
        }
        Ok(endpoint)
    }

    /// The sockets could not be started.
    pub(super) fn give_up(&self, core: &Core<W>) {
        core.leave(self.member.replace(NONE));
        core.remove(self.place);
    }

    /// The sockets run, and are ended by `stop`. A drain ends them when everything that was accepted has been delivered.
    pub(super) fn started(
        self: &Rc<Self>,
        cx: &Cx<W>,
        stop: impl Fn(Duration) -> Shutdown + 'static,
    ) {
        *self.stop.borrow_mut() = Some(Box::new(stop));
        let endpoint = self.clone();
        super::drained::register(cx, self.label, self.number, endpoint);
    }

    pub(super) fn in_turn(&self) -> bool {
        self.gate.in_turn
    }

    pub(super) fn sessions(&self) -> Vec<Session> {
        self.sessions.borrow().values().cloned().collect()
    }

    pub(super) fn session(&self, id: SessionId) -> Option<Session> {
        self.sessions.borrow().get(&id).cloned()
    }

    pub(super) fn len(&self) -> usize {
        self.sessions.borrow().len()
    }

    pub(super) fn shutdown(&self, within: Duration) -> Option<Shutdown> {
        self.stopped.set(true);
        self.gate.arrivals.close();
        // What was sent before is on its way before the sockets hear of their end.
        for session in self.sessions.borrow().values() {
            session.stop();
        }
        self.gate.common.signal.notify(self.place);
        let stop = self.stop.borrow();
        stop.as_ref().map(|stop| stop(within))
    }

    /// Ready when there is no session.
    pub(super) fn poll_empty(&self, cx: &Context<'_>) -> Poll<()> {
        if self.sessions.borrow().is_empty() {
            return Poll::Ready(());
        }
        let mut emptied = self.emptied.borrow_mut();
        if !emptied.iter().any(|waker| waker.will_wake(cx.waker())) {
            emptied.push(cx.waker().clone());
        }
        Poll::Pending
    }

    fn open(
        self: &Rc<Self>,
        core: &Rc<Core<W>>,
        line: Arc<Line>,
        local: Option<PeerAddress>,
        peer: Option<PeerAddress>,
    ) {
        let Ok(place) = core.reserve() else {
            // As many sources as there can be.
            core.count_rejection();
            line.discard();
            if let Some(handle) = &line.handle {
                handle.abort();
            }
            return;
        };
        let id = core.network.sessions.get() + 1;
        core.network.sessions.set(id);
        if core.recording.get() {
            let payload = record::opened(local.as_ref(), peer.as_ref());
            let key = record::key(self.number, id);
            core.record(Class::Network, NAME, key, Some(self.label), Some(payload));
        }
        let session = Session::new(Parts {
            id,
            line: line.clone(),
            framing: self.admission.framing.clone(),
            limits: self.admission.send,
            corks: core.network.corks.clone(),
            local,
            peer,
        });
        let style = match &self.welcome {
            Welcome::Each(_) => Style::Callbacks(Rc::default()),
            Welcome::InTurn(seat) => Style::Callbacks(seat.clone()),
            Welcome::Task(_) => Style::Task(RefCell::new(None)),
        };
        let stream = Stream::new(core, self.clone(), session.clone(), line, place, style);
        core.install(place, Class::Network, stream.clone());
        stream.join(core);
        self.sessions.borrow_mut().insert(session.id(), session);
        self.begin(core, &stream);
        // What had arrived by now is for the next update.
        stream.line.bind(place);
        if core.state.get() != crate::owner::core::State::Open {
            Source::<W>::refuse(&*stream);
        }
    }

    /// Tells of a new connection.
    fn begin(&self, core: &Rc<Core<W>>, stream: &Rc<Stream<W>>) {
        match &self.welcome {
            Welcome::Each(make) => self.seat(core, make, stream),
            Welcome::InTurn(_) => {
                stream.tell(core, |handler, world, session| {
                    handler.on_open(world, session);
                });
            }
            Welcome::Task(spawn) => {
                let spawn = spawn.clone();
                let cx = Cx {
                    core: core.clone(),
                    group: self.group,
                };
                let connection = Connection::new(stream.clone());
                // Refused, the connection has been dropped, and closes.
                let spawned = core.contain(self.label, self.group, || spawn(&cx, connection));
                if spawned == Some(false) {
                    tracing::warn!(label = %self.label, "a connection was refused, since its task was");
                }
            }
        }
    }

    fn seat(&self, core: &Rc<Core<W>>, make: &RefCell<Option<Make<W>>>, stream: &Stream<W>) {
        let Some(mut maker) = make.borrow_mut().take() else {
            return;
        };
        let session = &stream.session;
        let mut made = None;
        core.call(self.label, self.group, |world| {
            made = Some(maker(world, session));
        });
        if self.cancelled.get() {
            drop_contained([maker]);
        } else {
            *make.borrow_mut() = Some(maker);
        }
        match made {
            None => session.abort(),
            Some(handler) => {
                stream.sit(handler);
                stream.tell(core, |handler, world, session| {
                    handler.on_open(world, session);
                });
            }
        }
    }

    fn connect_failed(&self, core: &Rc<Core<W>>, error: &Arc<Error>) {
        let number = self.failures.get();
        self.failures.set(number + 1);
        if core.recording.get() {
            let payload = record::connect_failed(error);
            let key = record::key(self.number, FAILURE_KEYS | number);
            core.record(Class::Network, NAME, key, Some(self.label), Some(payload));
        }
        let Welcome::InTurn(seat) = &self.welcome else {
            tracing::debug!(%error, "a client of an owner did not connect");
            return;
        };
        // One that has panicked while it was made is not there.
        let Some(mut handler) = seat.borrow_mut().take() else {
            return;
        };
        core.call(self.label, self.group, |world| {
            handler.on_connect_failed(world, error);
        });
        if self.cancelled.get() {
            drop_contained([handler]);
        } else {
            *seat.borrow_mut() = Some(handler);
        }
    }
}

impl<W: 'static> Endpoint<W> {
    pub(super) fn forget(&self, id: SessionId) {
        let mut sessions = self.sessions.borrow_mut();
        let session = sessions.remove(&id);
        let empty = sessions.is_empty();
        drop(sessions);
        drop(session);
        if empty {
            self.gate.common.signal.notify(self.place);
            let emptied = std::mem::take(&mut *self.emptied.borrow_mut());
            for waker in emptied {
                waker.wake();
            }
        }
    }
}

/// Where the keys of failed attempts begin, apart from those of sessions.
const FAILURE_KEYS: u64 = 1 << 35;

const NOBODY: Ticket = Ticket {
    slot: 0,
    generation: 0,
};

impl<W: 'static> Source<W> for Arrivals<W> {
    fn name(&self) -> &str {
        NAME
    }

    fn take_in(&self, _: Instant) -> usize {
        let endpoint = &*self.0;
        endpoint
            .gate
            .arrivals
            .take(&mut endpoint.ready.borrow_mut())
    }

    fn ready(&self) -> usize {
        self.0.ready.borrow().len()
    }

    fn deliver(&self, core: &Rc<Core<W>>) -> bool {
        let endpoint = &self.0;
        let Some(arrival) = endpoint.ready.borrow_mut().pop_front() else {
            return false;
        };
        endpoint.delivered.set(endpoint.delivered.get() + 1);
        match arrival {
            Arrival::Opened { line, .. } if endpoint.cancelled.get() => {
                line.discard();
                if let Some(handle) = &line.handle {
                    handle.close();
                }
            }
            Arrival::Opened { line, local, peer } => endpoint.open(core, line, local, peer),
            Arrival::ConnectFailed(_) if endpoint.cancelled.get() => {}
            Arrival::ConnectFailed(error) => endpoint.connect_failed(core, &error),
        }
        true
    }

    fn settle(&self) {
        let count = self.0.delivered.take();
        self.0.gate.arrivals.release(count, 0);
    }

    fn bring_forward(&self, key: u64, payload: Option<&[u8]>) -> bool {
        let endpoint = &self.0;
        if !record::is_of(key, endpoint.number) {
            return false;
        }
        let arrival = match payload.and_then(record::read_arrival) {
            Some(record::RecordedArrival::Opened { local, peer }) => Arrival::Opened {
                line: Line::new(endpoint.gate.common.clone(), None),
                local,
                peer,
            },
            Some(record::RecordedArrival::ConnectFailed(error)) => Arrival::ConnectFailed(error),
            None => return false,
        };
        endpoint.ready.borrow_mut().push_front(arrival);
        true
    }

    fn refuse(&self) {
        self.0.gate.arrivals.close();
    }

    fn unfinished(&self) -> usize {
        let endpoint = &self.0;
        let waiting = endpoint.gate.arrivals.count();
        waiting.saturating_sub(endpoint.delivered.get())
    }

    fn list_unfinished(&self, abandoned: &mut dyn FnMut(&str, Option<Label>, usize)) {
        let endpoint = &self.0;
        let waiting = Source::<W>::unfinished(self);
        if waiting > 0 {
            abandoned(NAME, Some(endpoint.label), waiting);
        }
        if !endpoint.cancelled.get() && endpoint.len() > 0 {
            abandoned("open sessions", Some(endpoint.label), endpoint.len());
        }
    }

    fn cancel(&self, _: Ticket) {
        let endpoint = &self.0;
        endpoint.member.set(NONE);
        endpoint.cancelled.set(true);
        endpoint.gate.arrivals.close();
        match &endpoint.welcome {
            Welcome::Each(make) => drop_contained(take(make)),
            Welcome::InTurn(seat) => drop_contained(take(seat)),
            Welcome::Task(_) => {}
        }
        // It goes on by itself.
        drop(endpoint.shutdown(CANCELLED_WITHIN));
    }

    fn end(&self) {
        let endpoint = &self.0;
        drop(endpoint.shutdown(Duration::ZERO));
        Source::<W>::cancel(self, NOBODY);
        endpoint.ready.borrow_mut().clear();
        endpoint.emptied.borrow_mut().clear();
        endpoint.sessions.borrow_mut().clear();
        let stop = endpoint.stop.borrow_mut().take();
        drop(stop);
    }

    fn is_over(&self) -> bool {
        let endpoint = &self.0;
        let ended = endpoint.cancelled.get()
            || endpoint.stopped.get()
            || endpoint.gate.over.load(Ordering::Acquire);
        ended
            && endpoint.ready.borrow().is_empty()
            && endpoint.gate.arrivals.is_closed()
            && endpoint.gate.arrivals.is_drained()
            && endpoint.sessions.borrow().is_empty()
    }

    fn over(&self, core: &Core<W>) {
        core.leave(self.0.member.replace(NONE));
        super::drained::unregister(core, self.0.number);
    }
}

/// What lies in a cell, unless it is in use: then whoever uses it drops it.
fn take<T>(cell: &RefCell<Option<T>>) -> Option<T> {
    cell.try_borrow_mut().ok().and_then(|mut cell| cell.take())
}
