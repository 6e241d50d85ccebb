//! A TCP proxy that breaks connections on purpose.
//!
//! A test puts it between a client and a server, both on this machine, and says what shall happen
//! to the bytes: a [`Plan`] for each [`Direction`], for every connection or for one of them,
//! changed whenever the story wants it. One thread does all the work; it ends, and every
//! connection with it, when the [`FaultProxy`] is dropped.
//!
//! ```
//! # use std::io::{Read, Write};
//! # use std::net::{TcpListener, TcpStream};
//! use arknet_testkit::proxy::{Direction, FaultProxy, Plan};
//!
//! # fn main() -> std::io::Result<()> {
//! let server = TcpListener::bind("127.0.0.1:0")?;
//! let proxy = FaultProxy::start(server.local_addr()?)?;
//! proxy.set(Direction::ToServer, Plan::cut_after(3));
//!
//! let mut client = TcpStream::connect(proxy.addr())?;
//! client.write_all(b"abcdef")?;
//! let mut received = Vec::new();
//! server.accept()?.0.read_to_end(&mut received)?;
//! assert_eq!(received, b"abc");
//! # Ok(())
//! # }
//! ```
//!
//! Without faults it is transparent: an end of stream is handed on as such, a reset as a reset. It
//! holds at most 16 KiB in each direction of a connection, beside what the system's buffers hold.

mod connection;
mod counters;
mod flow;
mod plan;
pub(crate) mod port;
mod relay;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mio::{Poll, Waker};

use counters::Board;
pub use counters::Counters;
pub use plan::{Direction, Plan, Side};
use port::Port;
use relay::{Order, Relay, Request};

/// Connections open at once; more are closed as soon as they are accepted, and counted. Each has
/// two sockets and two buffers of 16 KiB, so that this bound is one of 2,048 files and 32 MiB.
pub const MAX_CONNECTIONS: usize = 1_024;

/// A fault-injecting proxy on a loopback port of its own; see the [module](self).
///
/// A method returns when what it asked for is in force: no byte passes under an old plan
/// afterwards. Methods panic if the proxy's thread has ended, which only a failure of the system's
/// poll brings about.
#[derive(Debug)]
pub struct FaultProxy {
    addr: SocketAddr,
    board: Arc<Board>,
    requests: Sender<Request>,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

impl FaultProxy {
    /// Starts a proxy before the server at `upstream`, which need not listen yet; everything
    /// passes until [`set`](FaultProxy::set) says otherwise.
    ///
    /// # Errors
    ///
    /// `InvalidInput` when `upstream` is no loopback address: tests talk to this machine only.
    /// Otherwise when the system has no port, file or thread left.
    pub fn start(upstream: SocketAddr) -> io::Result<Self> {
        Self::start_bounded(upstream, MAX_CONNECTIONS)
    }

    /// As [`start`](FaultProxy::start), with no more than `connections` open at once, and never
    /// more than [`MAX_CONNECTIONS`].
    ///
    /// # Errors
    ///
    /// As [`start`](FaultProxy::start).
    pub fn start_bounded(upstream: SocketAddr, connections: usize) -> io::Result<Self> {
        check_loopback(upstream)?;
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), relay::WAKER)?;
        let port = Port::take(upstream)?;
        let addr = port.addr();
        let board = Arc::new(Board::default());
        let (requests, inbox) = mpsc::channel();
        let bound = connections.min(MAX_CONNECTIONS);
        let relay = Relay::new(poll, port, (upstream, bound), inbox, Arc::clone(&board))?;
        let thread = thread::Builder::new()
            .name("fault-proxy".to_owned())
            .spawn(move || relay.run())?;
        Ok(Self {
            addr,
            board,
            requests,
            waker,
            thread: Some(thread),
        })
    }

    /// Where clients connect to.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Puts `plan` into force in `direction` of all connections, those that are open and those to
    /// come, except the ones that [`set_nth`](FaultProxy::set_nth) has spoken of.
    pub fn set(&self, direction: Direction, plan: Plan) {
        self.request(Order::Set {
            nth: None,
            plans: vec![(direction, plan)],
        });
    }

    /// Puts a plan for each direction into force at once, as [`set`](FaultProxy::set).
    pub fn set_both(&self, to_server: Plan, to_client: Plan) {
        let plans = vec![
            (Direction::ToServer, to_server),
            (Direction::ToClient, to_client),
        ];
        self.request(Order::Set { nth: None, plans });
    }

    /// Puts `plan` into force in `direction` of the connection with index `nth`: 0 is the first
    /// that the proxy accepted. It may be open or still to come.
    pub fn set_nth(&self, nth: usize, direction: Direction, plan: Plan) {
        self.request(Order::Set {
            nth: Some(nth),
            plans: vec![(direction, plan)],
        });
    }

    /// Lets every connection that is stalled in `direction` go on, without a fault from now on.
    /// Connections to come still stall if their plan says so.
    pub fn resume(&self, direction: Direction) {
        self.request(Order::Resume(direction));
    }

    /// Refuses new connections, as a port on which nobody listens. Open ones go on.
    ///
    /// On Linux the port stays reserved meanwhile; elsewhere another process could be given it.
    pub fn refuse(&self) {
        self.request(Order::Refuse);
    }

    /// Accepts new connections again, after [`refuse`](FaultProxy::refuse).
    ///
    /// # Panics
    ///
    /// When the port was lost to another process, outside Linux.
    pub fn accept_again(&self) {
        self.request(Order::AcceptAgain);
    }

    /// Closes all open connections now, as [`Plan::cut_after`] does.
    pub fn cut_all(&self) {
        self.request(Order::CutAll);
    }

    /// Closes all open connections now, with a reset to `side`.
    pub fn reset_all(&self, side: Side) {
        self.request(Order::ResetAll(side));
    }

    /// Leads connections to come to another server, such as the same one after a restart.
    ///
    /// # Panics
    ///
    /// When `upstream` is no loopback address.
    pub fn retarget(&self, upstream: SocketAddr) {
        if let Err(error) = check_loopback(upstream) {
            panic!("{error}");
        }
        self.request(Order::Retarget(upstream));
    }

    /// What it has seen so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.board.read()
    }

    /// Waits until the counters are as `reached` wants them.
    ///
    /// # Errors
    ///
    /// `TimedOut` after `within`, with the counters in the message.
    pub fn wait_until(
        &self,
        within: Duration,
        reached: impl Fn(&Counters) -> bool,
    ) -> io::Result<Counters> {
        self.board.wait_until(within, reached).map_err(|counters| {
            let message = format!("wait for proxy: not reached within {within:?}: {counters:?}");
            io::Error::new(io::ErrorKind::TimedOut, message)
        })
    }

    fn request(&self, order: Order) {
        if let Err(error) = self.try_request(order) {
            panic!("ask the fault proxy at {}: {error}", self.addr);
        }
    }

    fn try_request(&self, order: Order) -> io::Result<()> {
        let gone = || io::Error::new(io::ErrorKind::BrokenPipe, "its thread has ended");
        let (done, answer) = mpsc::sync_channel(1);
        self.requests
            .send(Request { order, done })
            .map_err(|_| gone())?;
        self.waker.wake()?;
        answer.recv().map_err(|_| gone())?
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        // A thread that has ended already needs no order, and a panic here would hide the test's.
        let stopped = self.try_request(Order::Stop);
        if let Some(thread) = self.thread.take().filter(|thread| {
            // Joining a thread that could not be told to stop would hang.
            stopped.is_ok() || thread.is_finished()
        }) {
            let _ = thread.join();
        }
    }
}

fn check_loopback(upstream: SocketAddr) -> io::Result<()> {
    if upstream.ip().is_loopback() {
        return Ok(());
    }
    let message =
        format!("lead the fault proxy to {upstream}: only loopback addresses are allowed");
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}
