//! Puts the two ends of a connection on one lane, and checks that they are.
//!
//! Native machines do so because it is what sharding is for: a connection whose ends are on two
//! threads wakes one of them for every message. Lanes are taken in turn by everything that starts,
//! so turns that nobody needs are spent on nothing until the wanted lane is next. The acceptor is
//! held still meanwhile, so that it takes its turn when it is meant to.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::ThreadId;

use arknet::Lanes;
use arknet::tcp::Client;

use super::CONNECT_TIMEOUT;
use crate::measure::Error;

/// Who sits on which lane.
#[derive(Debug)]
pub(super) struct Seats {
    /// How many turns were taken.
    turn: usize,
    /// The turn that the server's acceptor took.
    acceptor: usize,
    unpaired: usize,
    servers: Seating,
    clients: Seating,
}

#[derive(Debug)]
struct Seating {
    taken: Sender<ThreadId>,
    seen: Receiver<ThreadId>,
}

impl Seating {
    fn new() -> Self {
        let (taken, seen) = channel();
        Seating { taken, seen }
    }

    fn next(&self) -> Option<ThreadId> {
        self.seen.recv_timeout(CONNECT_TIMEOUT).ok()
    }
}

/// Tells on which thread an end begins.
#[derive(Clone, Debug)]
pub(super) struct Seat(Sender<ThreadId>);

impl Seat {
    /// Called on the end's own lane.
    pub(super) fn take(&self) {
        // Nobody listens any more when the run has failed.
        let _ = self.0.send(std::thread::current().id());
    }
}

impl Seats {
    /// For lanes on which a server is about to be started, as the first thing.
    pub(super) fn new(lanes: &Lanes) -> Self {
        let (servers, clients) = (Seating::new(), Seating::new());
        // The acceptor takes the first turn of all.
        debug_assert!(lanes.count() > 0);
        Seats {
            turn: 1,
            acceptor: 0,
            unpaired: 0,
            servers,
            clients,
        }
    }

    /// What the server's sessions tell their threads by.
    pub(super) fn server(&self) -> Seat {
        Seat(self.servers.taken.clone())
    }

    /// What the clients tell their threads by.
    pub(super) fn client(&self) -> Seat {
        Seat(self.clients.taken.clone())
    }

    /// Connections whose ends are on different threads.
    pub(super) fn unpaired(&self) -> usize {
        self.unpaired
    }

    /// Starts client `k` and waits until it is connected and served, both ends on lane `k`.
    pub(super) fn fill(
        &mut self,
        lanes: &Lanes,
        k: usize,
        start: impl FnOnce(&Seats) -> Result<Client, Error>,
    ) -> Result<Client, Error> {
        let held = self.hold_acceptor(lanes);
        self.pass_to(lanes, k);
        let client = start(self)?;
        self.turn += 1;
        self.pass_to(lanes, k);
        drop(held);
        let connected = lanes.block_on(client.connected());
        let (server, own) = match connected {
            Ok(true) => (self.servers.next(), self.clients.next()),
            Ok(false) | Err(_) => (None, None),
        };
        self.turn += 1;
        let (Some(server), Some(own)) = (server, own) else {
            let what = format!("connect client {k}");
            return Err(Error::setup(what)(
                "no connection within the connect timeout",
            ));
        };
        self.unpaired += usize::from(server != own);
        Ok(client)
    }

    /// Occupies the acceptor's lane until what is returned is dropped. One lane alone needs no
    /// seating.
    fn hold_acceptor(&mut self, lanes: &Lanes) -> Option<Sender<()>> {
        if lanes.count() == 1 {
            return None;
        }
        self.pass_to(lanes, self.acceptor);
        let (hold, held) = channel::<()>();
        let (tell, holding) = channel();
        lanes.post(move || {
            let _ = tell.send(());
            // Ends with an error when the other end is dropped, which is what is waited for.
            let _ = held.recv_timeout(CONNECT_TIMEOUT);
        });
        self.turn += 1;
        let _ = holding.recv_timeout(CONNECT_TIMEOUT);
        Some(hold)
    }

    /// Spends turns until the lane with this index is next.
    fn pass_to(&mut self, lanes: &Lanes, index: usize) {
        while self.turn % lanes.count() != index % lanes.count() {
            lanes.post(|| {});
            self.turn += 1;
        }
    }
}
