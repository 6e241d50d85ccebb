//! One connection: a client's socket, a server's socket, and a flow for each direction.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mio::event::Event;
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use socket2::SockRef;

use super::flow::{End, Flow, Moved, Turn};
use super::plan::{Direction, Plan, Side};

pub(super) struct Connection {
    client: End,
    server: End,
    to_server: Flow,
    to_client: Flow,
    connected: bool,
}

/// What the relay does with a connection after a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Nothing before one of its sockets, or a new plan, says something.
    Sleep,
    /// It wants another turn at this moment.
    At(Instant),
    /// It is over.
    Close(Closing),
}

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closing {
    Orderly,
    Reset(Side),
    /// The server did not accept: the client is reset, the nearest thing to a refusal that is
    /// left after it was accepted.
    Unreachable,
}

impl Connection {
    /// Begins to connect `client` with the server at `upstream`.
    pub(super) fn open(
        client: TcpStream,
        upstream: SocketAddr,
        plans: (Plan, Plan),
        registry: &Registry,
        tokens: (Token, Token),
    ) -> io::Result<Self> {
        let mut client = End::new(client)?;
        let mut server = End::new(TcpStream::connect(upstream)?)?;
        let interest = Interest::READABLE | Interest::WRITABLE;
        registry.register(&mut client.stream, tokens.0, interest)?;
        registry.register(&mut server.stream, tokens.1, interest)?;
        let (to_server, to_client) = (Flow::new(plans.0), Flow::new(plans.1));
        Ok(Self {
            client,
            server,
            to_server,
            to_client,
            connected: false,
        })
    }

    pub(super) fn client_event(&mut self, event: &Event) {
        self.client.note(event);
    }

    pub(super) fn server_event(&mut self, event: &Event) {
        self.server.note(event);
    }

    pub(super) fn apply(&mut self, direction: Direction, plan: Plan) {
        self.flow(direction).apply(plan);
    }

    pub(super) fn resume(&mut self, direction: Direction) {
        self.flow(direction).resume();
    }

    /// Moves what can be moved now, in both directions.
    pub(super) fn drive(&mut self, now: Instant, moved: &mut [Moved; 2]) -> Next {
        match self.check_connected() {
            Ok(true) => {}
            Ok(false) => return Next::Sleep,
            Err(_) => return Next::Close(Closing::Unreachable),
        }
        let [to_server, to_client] = moved;
        let first = self
            .to_server
            .drive(now, &mut self.client, &mut self.server, to_server);
        let first = next(first, now);
        if let Next::Close(_) = first {
            return first;
        }
        let second = self
            .to_client
            .drive(now, &mut self.server, &mut self.client, to_client);
        let second = next(second, now);
        match (first, second) {
            (_, Next::Close(_)) => second,
            _ if self.to_server.is_over() && self.to_client.is_over() => {
                Next::Close(Closing::Orderly)
            }
            (Next::At(one), Next::At(other)) => Next::At(one.min(other)),
            (Next::At(_), _) => first,
            _ => second,
        }
    }

    pub(super) fn close(mut self, how: Closing) {
        let (client, server) = match how {
            Closing::Orderly => (false, false),
            Closing::Reset(Side::Client) | Closing::Unreachable => (true, false),
            Closing::Reset(Side::Server) => (false, true),
            Closing::Reset(Side::Both) => (true, true),
        };
        self.client.prepare_close(client);
        self.server.prepare_close(server);
    }

    fn flow(&mut self, direction: Direction) -> &mut Flow {
        match direction {
            Direction::ToServer => &mut self.to_server,
            Direction::ToClient => &mut self.to_client,
        }
    }

    fn check_connected(&mut self) -> io::Result<bool> {
        if !self.connected && self.server.writable {
            if let Some(error) = self.server.stream.take_error()? {
                return Err(error);
            }
            match self.server.stream.peer_addr() {
                Ok(_) => self.connected = true,
                // A spurious event; another one comes.
                Err(error) if error.kind() == io::ErrorKind::NotConnected => {
                    self.server.writable = false;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(self.connected)
    }
}

impl End {
    fn new(stream: TcpStream) -> io::Result<Self> {
        // A byte that was handed on is on its way: the plans count on it.
        SockRef::from(&stream).set_tcp_nodelay(true)?;
        Ok(Self {
            stream,
            readable: false,
            writable: false,
        })
    }

    fn note(&mut self, event: &Event) {
        self.readable |= event.is_readable() || event.is_read_closed() || event.is_error();
        self.writable |= event.is_writable() || event.is_write_closed() || event.is_error();
    }

    /// Makes the drop of the socket a reset, or no reset. A socket that has failed takes neither
    /// to heart.
    fn prepare_close(&mut self, reset: bool) {
        if reset {
            let _ = SockRef::from(&self.stream).set_linger(Some(Duration::ZERO));
        } else {
            self.drain();
        }
    }
}

fn next(turn: Turn, now: Instant) -> Next {
    match turn {
        Turn::Idle => Next::Sleep,
        Turn::Busy => Next::At(now),
        Turn::Wait(until) => Next::At(until),
        Turn::Cut => Next::Close(Closing::Orderly),
        Turn::Reset(side) => Next::Close(Closing::Reset(side)),
        Turn::Broken => Next::Close(Closing::Reset(Side::Both)),
    }
}
