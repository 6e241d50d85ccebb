//! Puts the two ends of a connection on one lane, and checks that they are.
//!
//! Native machines do so because it is what sharding is for: a connection whose ends are on two
//! threads wakes one of them for every message. A server gives its sessions to the lanes in turn,
//! beginning with the first, and clients take lanes in turn as well; so clients that connect one
//! after the other find their other ends beside them.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::ThreadId;

use arknet::Lanes;
use arknet::tcp::Client;

use super::CONNECT_TIMEOUT;
use crate::measure::Error;

/// Who sits on which lane.
#[derive(Debug)]
pub(super) struct Seats {
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
    /// For lanes on which nothing has been started yet.
    pub(super) fn new() -> Self {
        Seats {
            unpaired: 0,
            servers: Seating::new(),
            clients: Seating::new(),
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

    /// Starts client `k` and waits until it is connected and served.
    pub(super) fn fill(
        &mut self,
        lanes: &Lanes,
        k: usize,
        start: impl FnOnce(&Seats) -> Result<Client, Error>,
    ) -> Result<Client, Error> {
        let client = start(self)?;
        let connected = lanes.block_on(client.connected());
        let (server, own) = match connected {
            Ok(true) => (self.servers.next(), self.clients.next()),
            Ok(false) | Err(_) => (None, None),
        };
        let (Some(server), Some(own)) = (server, own) else {
            let what = format!("connect client {k}");
            return Err(Error::setup(what)(
                "no connection within the connect timeout",
            ));
        };
        self.unpaired += usize::from(server != own);
        Ok(client)
    }
}
