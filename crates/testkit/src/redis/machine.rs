//! The server's thread: one poll over the doors and all connections.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use arknet_proto::redis::server::{ReplyWriter, Version};
use mio::{Events, Poll, Token};

use super::args::Args;
use super::call::{Call, World};
use super::commands::connection::first_user;
use super::commands::lists::take;
use super::connection::Connection;
use super::doors::Doors;
use super::hub::Hub;
use super::options::Options;
use super::rule::{Answer, Plan, Rule};
use super::session::{Replies, Session};
use super::stats::{Board, Stats};
use super::store::{Key, Store};
use super::wire::Taken;

pub(super) const WAKER: Token = Token(0);

/// The doors have the tokens below.
const FIRST_CONNECTION: usize = 16;

/// Events of one poll; more wait for the next.
const EVENTS: usize = 256;

/// Connections accepted in one turn, so that a flood of them does not starve those that are open.
const ACCEPTS_PER_TURN: usize = 64;

/// When the system cannot accept (too many open files), it is asked again after this.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// Reads of a connection in one turn, so that one client does not starve the others.
const READS_PER_TURN: usize = 4;

/// Something that the server's owner wants done in the thread.
pub(super) type Order = Box<dyn FnOnce(&mut Machine) -> ControlFlow<()> + Send>;

pub(super) struct Machine {
    poll: Poll,
    orders: Receiver<Order>,
    board: Arc<Board>,
    pub(super) doors: Doors,
    pub(super) world: World,
    pub(super) rules: Vec<Rule>,
    stats: Stats,
    /// Sent to whoever connects, before anything else.
    pub(super) greeting: Vec<u8>,
    /// Nothing is accepted, read or written.
    pub(super) paused: bool,
    options: Options,
    /// Connections that want a turn now.
    pub(super) awake: BTreeSet<u64>,
    /// Connections that want a turn later.
    timers: BTreeMap<u64, Instant>,
    /// The doors may have more, from this moment on.
    pub(super) accept_from: Option<Instant>,
    /// When the doors are opened again.
    pub(super) open_at: Option<Instant>,
}

impl Machine {
    pub(super) fn new(
        poll: Poll,
        mut doors: Doors,
        options: Options,
        orders: Receiver<Order>,
        board: Arc<Board>,
    ) -> io::Result<Self> {
        doors.open(poll.registry())?;
        let now = Instant::now();
        Ok(Self {
            poll,
            orders,
            board,
            doors,
            world: World {
                settings: options.settings(),
                store: Store::new(options.databases),
                hub: Hub::default(),
                peers: HashMap::new(),
                woken: Vec::new(),
                now,
                unix: unix_millis(),
                started: now,
                turns: 0,
                commands: 0,
            },
            rules: Vec::new(),
            stats: Stats::default(),
            greeting: Vec::new(),
            paused: false,
            options,
            awake: BTreeSet::new(),
            timers: BTreeMap::new(),
            accept_from: None,
            open_at: None,
        })
    }

    /// Works until it is told to stop, or its owner is gone, or the poll fails.
    pub(super) fn run(mut self) {
        let mut events = Events::with_capacity(EVENTS);
        loop {
            match self.poll.poll(&mut events, self.timeout()) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // The owner's next order finds nobody and panics.
                Err(_) => return,
            }
            self.world.now = Instant::now();
            self.world.unix = unix_millis();
            self.take_events(&events);
            while let Ok(order) = self.orders.try_recv() {
                if order(&mut self).is_break() {
                    return;
                }
            }
            if !self.paused {
                self.open_when_due();
                self.accept();
                self.drive();
            }
            if self.board.is_waited_for() {
                self.count();
                self.board.show(&self.stats);
            }
        }
    }

    fn timeout(&self) -> Option<Duration> {
        if self.paused {
            return None;
        }
        if !self.awake.is_empty() {
            return Some(Duration::ZERO);
        }
        let timers = self.timers.values().copied();
        let first = timers.chain(self.accept_from).chain(self.open_at).min()?;
        Some(first.saturating_duration_since(Instant::now()))
    }

    fn take_events(&mut self, events: &Events) {
        for event in events {
            let token = event.token();
            if token == WAKER {
                continue;
            }
            match token.0.checked_sub(FIRST_CONNECTION) {
                None => self.accept_from = Some(self.world.now),
                Some(id) => {
                    let id = id as u64;
                    if let Some(connection) = self.world.peers.get_mut(&id) {
                        connection.readable = true;
                        self.awake.insert(id);
                    }
                }
            }
        }
    }

    fn open_when_due(&mut self) {
        if self.open_at.is_some_and(|at| at <= self.world.now) {
            self.open_at = None;
            self.open();
        }
    }

    /// Opens the doors; where the system does not let it, it tries again.
    pub(super) fn open(&mut self) {
        if self.doors.open(self.poll.registry()).is_err() {
            self.open_at = Some(self.world.now + ACCEPT_RETRY);
        }
        self.accept_from = Some(self.world.now);
    }

    fn accept(&mut self) {
        if self.accept_from.is_none_or(|from| from > self.world.now) {
            return;
        }
        for _ in 0..ACCEPTS_PER_TURN {
            match self.doors.next() {
                Ok(Some(guest)) => self.admit(guest),
                Ok(None) => {
                    self.accept_from = None;
                    return;
                }
                Err(_) => {
                    self.accept_from = Some(self.world.now + ACCEPT_RETRY);
                    return;
                }
            }
        }
    }

    fn admit(&mut self, guest: super::doors::Guest) {
        let index = usize::try_from(self.stats.accepted).unwrap_or(usize::MAX);
        self.stats.accepted += 1;
        let id = self.stats.accepted;
        let mut session = Session::new(id, self.world.now, guest.addr, guest.local);
        session.user = first_user(&self.world.settings);
        let mut wire = guest.wire;
        let token = Token(FIRST_CONNECTION + id as usize);
        if wire.register(self.poll.registry(), token).is_err() {
            return;
        }
        let mut connection = Connection::new(session, index, wire, self.options.limits);
        connection.output.extend_from_slice(&self.greeting);
        if self.world.peers.len() >= self.options.max_clients {
            connection
                .writer()
                .error("ERR max number of clients reached");
            connection.session.closing = true;
        }
        self.world.peers.insert(id, Box::new(connection));
        self.awake.insert(id);
    }

    /// Gives every connection that wants one a turn; those that are woken meanwhile have theirs next.
    fn drive(&mut self) {
        let due = self.timers.iter().filter(|(_, at)| **at <= self.world.now);
        let due: Vec<u64> = due.map(|(id, _)| *id).collect();
        self.awake.extend(due);
        for id in std::mem::take(&mut self.awake) {
            self.turn(id);
            self.awake.extend(self.world.woken.drain(..));
        }
    }

    fn turn(&mut self, id: u64) {
        // It is taken out, because its commands reach for all the others.
        let Some(mut connection) = self.world.peers.remove(&id) else {
            self.timers.remove(&id);
            return;
        };
        let lives = self.work(&mut connection).unwrap_or(false);
        if let Some(name) = connection.wire.ended_handshake() {
            self.stats.saw_server_name(name.as_deref());
        }
        if !lives {
            self.forget(&mut connection);
            return;
        }
        match connection.deadline() {
            Some(at) => self.timers.insert(id, at),
            None => self.timers.remove(&id),
        };
        let has_work = connection.readable || connection.stopped;
        if has_work && !connection.is_halted() {
            self.awake.insert(id);
        }
        self.world.peers.insert(id, connection);
    }

    /// Reads, executes and writes; false when the connection is to be dropped.
    fn work(&mut self, connection: &mut Connection) -> io::Result<bool> {
        connection.look_at_the_clock(self.world.now);
        for _ in 0..READS_PER_TURN {
            let taken = connection.fill()?;
            self.obey(connection);
            let flushed = connection.flush()?;
            if connection.is_dead() || taken == Taken::End {
                return Ok(false);
            }
            if connection.session.closing && flushed {
                connection.wire.close();
                return Ok(false);
            }
            // What has been written may have made room for the reply of another command.
            let goes_on = connection.stopped && !connection.is_halted();
            if taken == Taken::Nothing && !goes_on {
                break;
            }
        }
        Ok(true)
    }

    /// Executes the commands that have come whole.
    fn obey(&mut self, connection: &mut Connection) {
        let mut done = 0;
        while !connection.is_halted() && !connection.is_dead() {
            let Connection {
                input,
                decoder,
                session,
                output,
                index,
                ..
            } = connection;
            let hold = match decoder.decode(input.get(done..).unwrap_or_default()) {
                Ok(None) => break,
                Ok(Some(request)) => {
                    done += request.consumed();
                    if request.is_empty() {
                        continue;
                    }
                    self.stats.saw(request.name());
                    self.world.commands += 1;
                    session.active = self.world.now;
                    let befallen = self
                        .rules
                        .iter_mut()
                        .find_map(|rule| rule.befall(request.name(), *index));
                    let args = Args::Received(request);
                    execute(&mut self.world, session, args, output, befallen)
                }
                Err(error) => {
                    let mut out = ReplyWriter::new(session.version, output);
                    out.error(&format!("ERR Protocol error: {error}"));
                    session.closing = true;
                    None
                }
            };
            if let Some((from, delay)) = hold {
                connection.hold(from, self.world.now + delay);
            }
            self.serve_waiting();
        }
        connection.stopped = connection.is_halted();
        connection.input.drain(..done);
        if connection.input.is_empty() {
            connection.input = Vec::new();
        }
    }

    /// Gives elements of lists that grew to those who wait for them, in the order in which they came.
    fn serve_waiting(&mut self) {
        for (number, key) in self.world.store.settle() {
            while let Some(client) = self.first_waiting(number, &key) {
                if !self.serve(client, number, &key) {
                    break;
                }
            }
        }
    }

    fn first_waiting(&self, number: usize, key: &Key) -> Option<u64> {
        let waiting = self.world.peers.values().filter_map(|peer| {
            let blocked = peer.session.blocked.as_ref()?;
            let waits = blocked.database == number && blocked.keys.contains(key);
            waits.then_some((blocked.turn, peer.session.id))
        });
        waiting.min().map(|(_, id)| id)
    }

    fn serve(&mut self, client: u64, number: usize, key: &Key) -> bool {
        let world = &mut self.world;
        let Some(peer) = world.peers.get_mut(&client) else {
            return false;
        };
        let Some(blocked) = &peer.session.blocked else {
            return false;
        };
        let database = world.store.database(number, world.unix);
        let Some(Ok(Some(item))) = database.map(|database| take(database, key, blocked.end)) else {
            return false;
        };
        peer.session.blocked = None;
        let mut out = peer.writer();
        out.array(2);
        out.bulk(key);
        out.bulk(&item);
        world.woken.push(client);
        true
    }

    fn forget(&mut self, connection: &mut Connection) {
        let id = connection.session.id;
        self.timers.remove(&id);
        self.awake.remove(&id);
        self.world.store.unwatch(id);
        if connection.session.subscriptions() > 0 {
            self.world.hub.forget(id);
        }
    }

    /// The counts as of now.
    pub(super) fn stats(&mut self) -> Stats {
        self.count();
        self.stats.clone()
    }

    fn count(&mut self) {
        let peers = self.world.peers.values();
        self.stats.open = peers.len();
        self.stats.blocked = peers.filter(|peer| peer.session.blocked.is_some()).count();
    }
}

/// Executes a command, or lets befall it what a rule has for it. Returns from where on the output is held
/// back, and for how long.
fn execute(
    world: &mut World,
    session: &mut Session,
    args: Args<'_>,
    output: &mut Vec<u8>,
    befallen: Option<&Plan>,
) -> Option<(usize, Duration)> {
    let Some(plan) = befallen else {
        answer(world, session, args, output);
        return None;
    };
    let start = output.len();
    output.extend_from_slice(&plan.before);
    match &plan.reply {
        Answer::Honest => answer(world, session, args, output),
        Answer::Torn(bytes) => {
            let reply = output.len();
            answer(world, session, args, output);
            output.truncate(reply + bytes);
        }
        Answer::Instead(bytes) => output.extend_from_slice(bytes),
    }
    output.extend_from_slice(&plan.after);
    session.closing |= plan.close;
    plan.delay.map(|delay| (start, delay))
}

/// Executes a command and writes its reply, if the client wants one.
fn answer(world: &mut World, session: &mut Session, args: Args<'_>, output: &mut Vec<u8>) {
    let start = output.len();
    let before = session.replies;
    let mut call = Call {
        args,
        session,
        world,
        out: ReplyWriter::new(Version::Resp2, output),
        in_transaction: false,
    };
    call.out.set_version(call.session.version);
    call.run();
    let after = session.replies;
    if before == Replies::SkipNext {
        session.replies = match after {
            Replies::SkipNext => Replies::On,
            other => other,
        };
    }
    // A command that turns replies off is not answered either, one that turns them on is.
    let silent = after == Replies::Off || before == Replies::SkipNext;
    if silent {
        output.truncate(start);
    }
}

fn unix_millis() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
