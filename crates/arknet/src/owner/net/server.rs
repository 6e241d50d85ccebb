//! Servers whose sessions belong to an owner.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use super::connection::Connection;
use super::endpoint::{Endpoint, Spawn, Welcome};
use super::error::StartError;
use super::handler::Handler;
use super::session::{Session, SessionId};
use super::wire::Wire;
use crate::PeerAddress;
use crate::endpoint::style::Bridged;
use crate::endpoint::{Payload, SendError, Shutdown};
use crate::owner::cx::Cx;
use crate::owner::error::RejectReason;
use crate::owner::label::Label;
use crate::tcp::{self, ServerConfig, ToAddress};

/// A server that is accepting, and whose sessions' events are delivered by an owner.
///
/// It belongs to the group of the [`Cx`] that it was made by: when that is cancelled, it ends, and so do its sessions.
/// Clones are the same server; dropping them all leaves it running. A drain of the owner closes it.
pub struct Server<W: 'static> {
    endpoint: Rc<Endpoint<W>>,
    inner: tcp::Server,
}

impl<W> Clone for Server<W> {
    fn clone(&self) -> Self {
        Self {
            endpoint: self.endpoint.clone(),
            inner: self.inner.clone(),
        }
    }
}

impl<W: 'static> Server<W> {
    /// Starts a server with callbacks: `handler` makes the handler of each session, once it is open. It listens on TCP or,
    /// with an address like `unix:/run/game`, on a Unix domain socket; with TLS, if the configuration says so.
    ///
    /// ```
    /// use std::time::Duration;
    /// use arknet::owner::net::{Handler, Server, Session};
    /// use arknet::owner::{Cadence, Deadline, Next, Owner};
    /// use arknet::tcp::{Framing, ServerConfig};
    ///
    /// #[derive(Default)]
    /// struct World {
    ///     score: u32,
    /// }
    ///
    /// /// One for each session; its fields are the session's state.
    /// #[derive(Default)]
    /// struct Player {
    ///     hits: u32,
    /// }
    ///
    /// impl Handler<World> for Player {
    ///     fn on_message(&mut self, world: &mut World, session: &Session, _: &[u8]) {
    ///         self.hits += 1;
    ///         world.score += 1;
    ///         if session.send(format!("{} of {}", self.hits, world.score)).is_err() {
    ///             session.close();
    ///         }
    ///     }
    /// }
    ///
    /// let mut owner = Owner::<World>::builder().build()?;
    /// let config = ServerConfig::new().framing(Framing::LengthPrefix);
    /// let server = Server::start(&owner, "127.0.0.1:0", config, |_, _| Player::default())?;
    /// println!("listens on {}", server.local_addr());
    /// let mut world = World::default();
    /// owner.run(&mut world, Cadence::every(Duration::from_millis(50)), |_, _| Next::Stop)?;
    /// owner.drain(&mut world, Deadline::in_(Duration::from_secs(5)))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`StartError::Endpoint`] as [`tcp::Server::start`], [`StartError::Rejected`] where the owner or the group has ended,
    /// or the owner has too many sources.
    #[track_caller]
    pub fn start<H: Handler<W>>(
        cx: &Cx<W>,
        address: impl ToAddress,
        config: ServerConfig,
        mut handler: impl FnMut(&mut W, &Session) -> H + 'static,
    ) -> Result<Self, StartError> {
        let make = Box::new(move |world: &mut W, session: &Session| {
            let handler: Box<dyn Handler<W>> = Box::new(handler(world, session));
            handler
        });
        let welcome = Welcome::Each(RefCell::new(Some(make)));
        Self::open(cx, Label::here(), address, &config, welcome)
    }

    /// Starts a server with async code: `serve` makes the task of each connection, once it is open. The connection is
    /// closed when it is dropped, so usually when the task ends; the tasks belong to the server's group.
    ///
    /// ```
    /// use arknet::owner::net::Server;
    /// use arknet::owner::Owner;
    /// use arknet::tcp::ServerConfig;
    ///
    /// let owner = Owner::<u32>::builder().build()?;
    /// let server = Server::serve(&owner, "127.0.0.1:0", ServerConfig::new(), |cx, mut connection| async move {
    ///     while let Ok(Some(message)) = connection.recv().await {
    ///         cx.with(|count| *count += 1);
    ///         if connection.send(message).is_err() {
    ///             return;
    ///         }
    ///     }
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    #[track_caller]
    pub fn serve<F, Fut>(
        cx: &Cx<W>,
        address: impl ToAddress,
        config: ServerConfig,
        serve: F,
    ) -> Result<Self, StartError>
    where
        F: Fn(Cx<W>, Connection<W>) -> Fut + 'static,
        Fut: Future<Output = ()> + 'static,
    {
        let label = Label::here();
        Self::open(
            cx,
            label,
            address,
            &config,
            Welcome::Task(spawner(label, serve)),
        )
    }

    fn open(
        cx: &Cx<W>,
        label: Label,
        address: impl ToAddress,
        config: &ServerConfig,
        welcome: Welcome<W>,
    ) -> Result<Self, StartError> {
        let lanes = cx.core.lanes.borrow().clone();
        let lanes = lanes.ok_or(RejectReason::Closed { of: "the owner" })?;
        let endpoint = Endpoint::new(cx, label, config.admission(), welcome, false)?;
        let gate = endpoint.gate.clone();
        let style = Bridged(move |_: &crate::Session| Wire::new(gate.clone()));
        let inner = match tcp::Server::start_style(&lanes, address, config, style) {
            Ok(inner) => inner,
            Err(error) => {
                endpoint.give_up(&cx.core);
                return Err(error.into());
            }
        };
        let sockets = inner.clone();
        endpoint.started(cx, move |within| sockets.shutdown(within));
        Ok(Self { endpoint, inner })
    }

    /// The address that the server listens on, with the port that the system chose.
    pub fn local_addr(&self) -> &PeerAddress {
        self.inner.local_addr()
    }

    /// The sessions that the owner knows, in the order in which they were opened.
    pub fn sessions(&self) -> Vec<Session> {
        self.endpoint.sessions()
    }

    /// The session with this identity, if it has not ended.
    pub fn session(&self, id: SessionId) -> Option<Session> {
        self.endpoint.session(id)
    }

    /// How many sessions the owner knows.
    pub fn len(&self) -> usize {
        self.endpoint.len()
    }

    /// Whether there are no sessions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many connections were refused because there were too many.
    pub fn refused(&self) -> u64 {
        self.inner.refused()
    }

    /// Sends a message to all sessions; a large one is shared, not copied for each. Those that did not take it are returned,
    /// with the reason.
    pub fn broadcast<'a>(&self, payload: impl Into<Payload<'a>>) -> Vec<(Session, SendError)> {
        super::broadcast(&self.sessions(), payload)
    }

    /// Shuts the server down: stops accepting, lets the sessions hand over what they were sent and end their streams for at
    /// most `within`, and cuts the rest. Their ends are delivered as always.
    ///
    /// It begins at once and goes on by itself: await the result for the report, in a task, or drop it.
    pub fn shutdown(&self, within: Duration) -> Shutdown {
        match self.endpoint.shutdown(within) {
            Some(shutdown) => shutdown,
            // The owner has ended, and with it the endpoint.
            None => self.inner.shutdown(within),
        }
    }
}

/// Spawns the task of a connection.
pub(super) fn spawner<W, F, Fut>(label: Label, serve: F) -> Spawn<W>
where
    W: 'static,
    F: Fn(Cx<W>, Connection<W>) -> Fut + 'static,
    Fut: Future<Output = ()> + 'static,
{
    let serve = Rc::new(serve);
    Rc::new(move |cx: &Cx<W>, connection: Connection<W>| {
        let serve = serve.clone();
        // The function runs in the task's first turn, where a panic of it is caught like one of the task.
        let task = async move |cx: Cx<W>| serve(cx, connection).await;
        cx.spawn_as(label, false, task).is_ok()
    })
}

impl<W> std::fmt::Debug for Server<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("local", &self.inner.local_addr().to_string())
            .finish_non_exhaustive()
    }
}
