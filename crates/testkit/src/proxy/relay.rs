//! The proxy's thread: one poll over the listener and all connections.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::{Duration, Instant};

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Registry, Token};

use super::connection::{Closing, Connection, Next};
use super::counters::Board;
use super::flow::Moved;
use super::plan::{Direction, Plan, Side};
use super::port::Port;

pub(super) const WAKER: Token = Token(0);
const LISTENER: Token = Token(1);
const FIRST_CONNECTION: usize = 2;

/// Events of one poll; more wait for the next.
const EVENTS: usize = 256;

/// Connections accepted in one turn, so that a flood of them does not starve those that are open.
const ACCEPTS_PER_TURN: usize = 64;

/// When the system cannot accept (too many open files), it is asked again after this.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// What the owner of the proxy asks for; answered when it is done.
pub(super) struct Request {
    pub(super) order: Order,
    pub(super) done: SyncSender<io::Result<()>>,
}

pub(super) enum Order {
    Set {
        nth: Option<usize>,
        plans: Vec<(Direction, Plan)>,
    },
    Resume(Direction),
    Refuse,
    AcceptAgain,
    CutAll,
    ResetAll(Side),
    Retarget(SocketAddr),
    Stop,
}

pub(super) struct Relay {
    poll: Poll,
    port: Port,
    upstream: SocketAddr,
    max_connections: usize,
    plans: Plans,
    connections: BTreeMap<usize, Connection>,
    /// Connections that want a turn now.
    awake: BTreeSet<usize>,
    /// Connections that want a turn later.
    waiting: BTreeMap<usize, Instant>,
    next_index: usize,
    /// The listener may have more, from this moment on.
    accept_from: Option<Instant>,
    requests: Receiver<Request>,
    board: Arc<Board>,
}

/// The plans of connections to come.
#[derive(Default)]
struct Plans {
    to_server: Plan,
    to_client: Plan,
    nth: BTreeMap<(usize, Direction), Plan>,
}

impl Plans {
    fn of(&self, index: usize, direction: Direction) -> Plan {
        let general = match direction {
            Direction::ToServer => &self.to_server,
            Direction::ToClient => &self.to_client,
        };
        self.nth.get(&(index, direction)).unwrap_or(general).clone()
    }

    fn set(&mut self, direction: Direction, plan: Plan) {
        match direction {
            Direction::ToServer => self.to_server = plan,
            Direction::ToClient => self.to_client = plan,
        }
    }
}

impl Relay {
    pub(super) fn new(
        poll: Poll,
        mut port: Port,
        (upstream, max_connections): (SocketAddr, usize),
        requests: Receiver<Request>,
        board: Arc<Board>,
    ) -> io::Result<Self> {
        listen(&mut port, poll.registry())?;
        Ok(Self {
            poll,
            port,
            upstream,
            max_connections,
            plans: Plans::default(),
            connections: BTreeMap::new(),
            awake: BTreeSet::new(),
            waiting: BTreeMap::new(),
            next_index: 0,
            accept_from: None,
            requests,
            board,
        })
    }

    /// Works until it is told to stop, or its owner is gone, or the poll fails.
    pub(super) fn run(mut self) {
        let mut events = Events::with_capacity(EVENTS);
        loop {
            match self.poll.poll(&mut events, self.timeout()) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // The owner's next request finds nobody and panics.
                Err(_) => return,
            }
            self.take_events(&events);
            if self.obey().is_break() {
                return;
            }
            let now = Instant::now();
            self.accept(now);
            self.wake_due(now);
            self.drive(now);
        }
    }

    fn timeout(&self) -> Option<Duration> {
        if !self.awake.is_empty() {
            return Some(Duration::ZERO);
        }
        let first = self
            .waiting
            .values()
            .copied()
            .chain(self.accept_from)
            .min()?;
        Some(first.saturating_duration_since(Instant::now()))
    }

    fn take_events(&mut self, events: &Events) {
        for event in events {
            if event.token() == LISTENER {
                self.accept_from = Some(Instant::now());
            }
            let Some(number) = event.token().0.checked_sub(FIRST_CONNECTION) else {
                continue;
            };
            let index = number / 2;
            let Some(connection) = self.connections.get_mut(&index) else {
                continue;
            };
            if number % 2 == 0 {
                connection.client_event(event);
            } else {
                connection.server_event(event);
            }
            self.awake.insert(index);
        }
    }

    fn obey(&mut self) -> std::ops::ControlFlow<()> {
        while let Ok(Request { order, done }) = self.requests.try_recv() {
            let stop = matches!(order, Order::Stop);
            let result = self.carry_out(order);
            // Whoever asked may have stopped waiting.
            let _ = done.send(result);
            if stop {
                return std::ops::ControlFlow::Break(());
            }
        }
        std::ops::ControlFlow::Continue(())
    }

    fn carry_out(&mut self, order: Order) -> io::Result<()> {
        match order {
            Order::Set { nth, plans } => {
                for (direction, plan) in plans {
                    self.set(nth, direction, plan);
                }
            }
            Order::Resume(direction) => {
                for (index, connection) in &mut self.connections {
                    connection.resume(direction);
                    self.awake.insert(*index);
                }
            }
            Order::Refuse => {
                self.port.refuse();
                self.accept_from = None;
            }
            Order::AcceptAgain if self.port.is_listening() => {}
            Order::AcceptAgain => return listen(&mut self.port, self.poll.registry()),
            Order::CutAll => self.close_all(Closing::Orderly),
            Order::ResetAll(side) => self.close_all(Closing::Reset(side)),
            Order::Retarget(upstream) => self.upstream = upstream,
            Order::Stop => {}
        }
        Ok(())
    }

    fn set(&mut self, nth: Option<usize>, direction: Direction, plan: Plan) {
        let Some(index) = nth else {
            for (index, connection) in &mut self.connections {
                if !self.plans.nth.contains_key(&(*index, direction)) {
                    connection.apply(direction, plan.clone());
                    self.awake.insert(*index);
                }
            }
            self.plans.set(direction, plan);
            return;
        };
        if let Some(connection) = self.connections.get_mut(&index) {
            connection.apply(direction, plan.clone());
            self.awake.insert(index);
        }
        self.plans.nth.insert((index, direction), plan);
    }

    fn accept(&mut self, now: Instant) {
        if self.accept_from.is_none_or(|from| from > now) {
            return;
        }
        for _ in 0..ACCEPTS_PER_TURN {
            match self.port.accept() {
                Ok(Some(client)) => self.admit(client),
                Ok(None) => {
                    self.accept_from = None;
                    return;
                }
                // The client was quicker to leave; the next one may be there.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(_) => {
                    self.accept_from = now.checked_add(ACCEPT_RETRY);
                    return;
                }
            }
        }
    }

    fn admit(&mut self, client: TcpStream) {
        if self.connections.len() >= self.max_connections {
            self.board.update(|counters| counters.turned_away += 1);
            return;
        }
        let index = self.next_index;
        self.next_index += 1;
        let plans = (
            self.plans.of(index, Direction::ToServer),
            self.plans.of(index, Direction::ToClient),
        );
        let first = FIRST_CONNECTION + 2 * index;
        let tokens = (Token(first), Token(first + 1));
        let opened = Connection::open(client, self.upstream, plans, self.poll.registry(), tokens);
        self.board.update(|counters| {
            counters.accepted += 1;
            match opened {
                Ok(_) => counters.open += 1,
                Err(_) => counters.unreachable += 1,
            }
        });
        if let Ok(connection) = opened {
            self.connections.insert(index, connection);
        }
    }

    fn wake_due(&mut self, now: Instant) {
        let due = self
            .waiting
            .iter()
            .filter(|(_, at)| **at <= now)
            .map(|(index, _)| *index);
        self.awake.extend(due);
    }

    /// Gives every connection that wants it one turn.
    fn drive(&mut self, now: Instant) {
        for index in std::mem::take(&mut self.awake) {
            self.waiting.remove(&index);
            let Some(connection) = self.connections.get_mut(&index) else {
                continue;
            };
            let mut moved = [Moved::default(); 2];
            let next = connection.drive(now, &mut moved);
            self.count(&moved);
            match next {
                Next::Sleep => {}
                Next::At(at) if at <= now => drop(self.awake.insert(index)),
                Next::At(at) => drop(self.waiting.insert(index, at)),
                Next::Close(how) => self.close(index, how),
            }
        }
    }

    fn count(&self, moved: &[Moved; 2]) {
        let [to_server, to_client] = moved;
        self.board.update(|counters| {
            counters.to_server += to_server.passed;
            counters.to_client += to_client.passed;
            counters.swallowed += to_server.swallowed + to_client.swallowed;
            counters.faults += to_server.faults + to_client.faults;
        });
    }

    fn close_all(&mut self, how: Closing) {
        let indices: Vec<usize> = self.connections.keys().copied().collect();
        for index in indices {
            self.close(index, how);
        }
    }

    fn close(&mut self, index: usize, how: Closing) {
        self.awake.remove(&index);
        self.waiting.remove(&index);
        if let Some(connection) = self.connections.remove(&index) {
            connection.close(how);
            self.board.update(|counters| {
                counters.open -= 1;
                counters.unreachable += u64::from(how == Closing::Unreachable);
            });
        }
    }
}

fn listen(port: &mut Port, registry: &Registry) -> io::Result<()> {
    port.listen(|listener| registry.register(listener, LISTENER, Interest::READABLE))
}
