//! Servers.

use std::future::Future;
use std::net::ToSocketAddrs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::abortable;

use super::{Address, ServerConfig, ToAddress};
use crate::PeerAddress;
use crate::endpoint::style::{Callbacks, Style, Tasks};
use crate::endpoint::{
    self, Connection, Error, Handler, Payload, SendError, Session, SessionHandle, SessionId,
    Shutdown, TimerKey,
};
use crate::io::tokio::Bound;
use crate::lanes::{Lanes, lock};

/// A server that is accepting.
///
/// Clones are the same server. Dropping them all leaves it running; [`shutdown`](Self::shutdown) ends it, and so does the
/// end of its lanes.
#[derive(Clone)]
pub struct Server {
    inner: Arc<endpoint::server::Server>,
}

impl Server {
    /// Starts a server with callbacks: `handler` makes the handler of each session, once it is open.
    ///
    /// A name is resolved at once, which may block; port 0 is a free one, see [`local_addr`](Self::local_addr).
    ///
    /// ```
    /// use std::time::Duration;
    /// use arknet::tcp::{Framing, Server, ServerConfig};
    /// use arknet::{CloseReason, Handler, Lanes, Session};
    ///
    /// /// One for each session; its fields are the session's state.
    /// struct Player {
    ///     score: u32,
    /// }
    ///
    /// impl Handler for Player {
    ///     fn on_message(&mut self, session: &mut Session, _: &[u8]) {
    ///         self.score += 1;
    ///         if session.send(format!("{} points", self.score)).is_err() {
    ///             session.close();
    ///         }
    ///     }
    ///
    ///     fn on_close(&mut self, session: &mut Session, reason: &CloseReason) {
    ///         println!("{} left with {} points: {reason}", session.id(), self.score);
    ///     }
    /// }
    ///
    /// let lanes = Lanes::sharded(1)?;
    /// let config = ServerConfig::new().framing(Framing::LengthPrefix).max_connections(100);
    /// let server = Server::start(&lanes, "127.0.0.1:0", config, |_| Player { score: 0 })?;
    /// println!("listens on {}", server.local_addr());
    /// server.shutdown(Duration::from_secs(1)).wait()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Bind`] with what was tried and what the system said, [`Error::Address`], [`Error::Resolve`], and
    /// [`Error::Config`] for a configuration that cannot work.
    pub fn start<H: Handler>(
        lanes: &Lanes,
        address: impl ToAddress,
        config: ServerConfig,
        handler: impl Fn(&Session) -> H + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        Self::start_style(lanes, address, &config, Callbacks(handler))
    }

    /// Starts a server with async code: `serve` makes the task of each connection, once it is open. The connection is
    /// closed when it is dropped, so usually when the task ends.
    ///
    /// ```
    /// use std::time::Duration;
    /// use arknet::tcp::{Framing, Server, ServerConfig};
    /// use arknet::{Connection, Lanes};
    ///
    /// async fn player(mut connection: Connection) {
    ///     let mut score = 0;
    ///     while let Ok(Some(_)) = connection.recv().await {
    ///         score += 1;
    ///         if connection.send(format!("{score} points")).await.is_err() {
    ///             return;
    ///         }
    ///     }
    /// }
    ///
    /// let lanes = Lanes::sharded(1)?;
    /// let config = ServerConfig::new().framing(Framing::LengthPrefix);
    /// let server = Server::serve(&lanes, "127.0.0.1:0", config, player)?;
    /// server.shutdown(Duration::from_secs(1)).wait()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn serve<T>(
        lanes: &Lanes,
        address: impl ToAddress,
        config: ServerConfig,
        serve: impl Fn(Connection) -> T + Send + Sync + 'static,
    ) -> Result<Self, Error>
    where
        T: Future<Output = ()> + Send + 'static,
    {
        Self::start_style(lanes, address, &config, Tasks(serve))
    }

    pub(crate) fn start_style(
        lanes: &Lanes,
        address: impl ToAddress,
        config: &ServerConfig,
        style: impl Style,
    ) -> Result<Self, Error> {
        let address = address.to_address()?;
        let setup = config.setup()?;
        let bound = bind(&address, config)?;
        let failed = |source| Error::Bind {
            address: address.to_string(),
            source,
        };
        let inner = endpoint::server::Server::start(setup, lanes, bound, style).map_err(failed)?;
        Ok(Self { inner })
    }

    /// The address that the server listens on, with the port that the system chose.
    pub fn local_addr(&self) -> &PeerAddress {
        self.inner.local_addr()
    }

    /// The open sessions, in the order in which they were accepted: a snapshot.
    pub fn sessions(&self) -> Vec<SessionHandle> {
        self.inner.sessions()
    }

    /// The session with this identity, if it has not ended.
    pub fn session(&self, id: SessionId) -> Option<SessionHandle> {
        self.inner.session(id)
    }

    /// How many sessions there are, those that shake hands included.
    pub fn len(&self) -> usize {
        self.inner.len()
    }

    /// Whether there are no sessions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many connections were accepted so far.
    pub fn accepted(&self) -> u64 {
        self.inner.accepted()
    }

    /// How many connections were refused because there were too many.
    pub fn refused(&self) -> u64 {
        self.inner.refused()
    }

    /// Sends a message to all open sessions. The bytes are shared, not copied for each. What each one said is returned,
    /// in the order in which they were accepted.
    pub fn broadcast<'a>(
        &self,
        payload: impl Into<Payload<'a>>,
    ) -> Vec<(SessionId, Result<(), SendError>)> {
        let payload = payload.into().into_bytes();
        let send = |session: SessionHandle| (session.id(), session.send(payload.clone()));
        self.sessions().into_iter().map(send).collect()
    }

    /// Runs a function on one of the server's lanes after this time, once. A timer with the same key is replaced; a
    /// shutdown cancels it. Returns `false` if there are too many timers, or the server has been shut down.
    pub fn set_timer(
        &self,
        key: impl Into<TimerKey>,
        after: Duration,
        function: impl FnOnce(&Server) + Send + 'static,
    ) -> bool {
        let server = self.clone();
        self.spawn_timer(key.into(), async move {
            tokio::time::sleep(after).await;
            function(&server);
        })
    }

    /// Runs a function on one of the server's lanes again and again until it is cancelled. Times that were missed are
    /// skipped. An interval of zero is one of a millisecond. Returns `false` as [`set_timer`](Self::set_timer) does.
    pub fn set_interval(
        &self,
        key: impl Into<TimerKey>,
        every: Duration,
        mut function: impl FnMut(&Server) + Send + 'static,
    ) -> bool {
        let server = self.clone();
        self.spawn_timer(key.into(), async move {
            let every = every.max(Duration::from_millis(1));
            let mut ticks = tokio::time::interval_at(crate::io::after(every).into(), every);
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
            loop {
                ticks.tick().await;
                function(&server);
            }
        })
    }

    fn spawn_timer(&self, key: TimerKey, work: impl Future<Output = ()> + Send + 'static) -> bool {
        let (work, handle) = abortable(work);
        let fired = Arc::new(AtomicBool::new(false));
        if !lock(self.inner.timers()).add(key, handle, fired.clone()) {
            return false;
        }
        self.inner.lanes().spawn(async move {
            // Cancelled is as good as done.
            let _ = work.await;
            fired.store(true, Ordering::Release);
        });
        true
    }

    /// Cancels a timer, and says whether there was one that had not fired for the last time.
    pub fn cancel_timer(&self, key: impl Into<TimerKey>) -> bool {
        lock(self.inner.timers()).cancel(&key.into())
    }

    /// Shuts the server down: stops accepting, lets the sessions hand over what they have accepted and end their streams
    /// for at most `within`, and cuts the rest.
    ///
    /// It begins at once and goes on by itself: await the result for the report, or drop it. Called again, it gives the
    /// same shutdown. In a callback it only begins. A new server can be started on the same address afterwards.
    pub fn shutdown(&self, within: Duration) -> Shutdown {
        self.inner.shutdown(crate::io::after(within))
    }
}

fn bind(address: &Address, config: &ServerConfig) -> Result<Bound, Error> {
    let failed = |source| Error::Bind {
        address: address.to_string(),
        source,
    };
    match address {
        Address::Ip(address) => {
            Bound::tcp(*address, config.backlog, config.v6_only).map_err(failed)
        }
        Address::Name(host, port) => {
            let resolved =
                (host.as_str(), *port)
                    .to_socket_addrs()
                    .map_err(|source| Error::Resolve {
                        host: host.clone(),
                        source,
                    })?;
            let mut last = std::io::Error::from(std::io::ErrorKind::NotFound);
            for address in resolved {
                match Bound::tcp(address, config.backlog, config.v6_only) {
                    Ok(bound) => return Ok(bound),
                    Err(error) => last = error,
                }
            }
            Err(failed(last))
        }
        #[cfg(unix)]
        Address::Unix(path) => Bound::unix(path).map_err(failed),
        #[cfg(not(unix))]
        Address::Unix(_) => Err(failed(std::io::ErrorKind::Unsupported.into())),
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("local", &self.local_addr().to_string())
            .field("sessions", &self.len())
            .finish()
    }
}
