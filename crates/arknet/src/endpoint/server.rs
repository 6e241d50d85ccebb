//! Accepting, and the task of each accepted session.

use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use arknet_proto::framing::Decoder;
use arknet_proto::session::{Cause, State};
use futures_util::future::select;
use tokio::sync::watch;

use super::core::Core;
use super::error::{CloseReason, Error};
use super::event::{Event, Observer};
use super::handle::SessionHandle;
use super::open::shake_hands;
use super::registry::Registry;
use super::session::{Session, SessionConfig};
use super::shared::Shared;
use super::shutdown::{Once, Shutdown};
use super::style::{self, Style};
use crate::io::tokio::{Accepted, Bound, Listener, PeerAddress, Socket, TcpOptions};
use crate::lanes::{Lanes, Tenant, lock};
#[cfg(feature = "tls")]
use crate::link::Secure;
use crate::link::Transport;

/// How long to wait after the system has refused to accept: what it lacks comes back when connections end, and asking
/// again at once would burn a core.
const ACCEPT_RETRY: Duration = Duration::from_secs(1);

/// How long the acceptor may take to stop, however near the deadline is: until then its address is in use.
const STOP_GRACE: Duration = Duration::from_secs(1);

/// Connections accepted in a row before other tasks of the lane have their turn.
const ACCEPTS_PER_TURN: usize = 64;

/// What a server needs beside its style.
pub(crate) struct ServerSetup {
    pub(crate) session: SessionConfig,
    pub(crate) decoder: Decoder,
    pub(crate) options: TcpOptions,
    pub(crate) connections: usize,
    pub(crate) observer: Option<Observer>,
    #[cfg(feature = "tls")]
    pub(crate) tls: Option<crate::tls::ServerConfig>,
}

/// A running server.
pub(crate) struct Server {
    setup: ServerSetup,
    lanes: Lanes,
    local: PeerAddress,
    pub(super) registry: Registry,
    stop: watch::Sender<bool>,
    stopped: watch::Receiver<bool>,
    shutdown: Once,
    /// Sessions are given to the lanes in turn, beginning with the first.
    next_lane: AtomicUsize,
    timers: Mutex<super::endpoint_timers::EndpointTimers>,
}

impl Server {
    /// Starts to accept.
    pub(crate) fn start<S: Style>(
        setup: ServerSetup,
        lanes: &Lanes,
        bound: Bound,
        style: S,
    ) -> io::Result<Arc<Self>> {
        let local = bound.local_address()?;
        let (stop, stopping) = watch::channel(false);
        let (accepting, stopped) = watch::channel(false);
        let server = Arc::new(Self {
            setup,
            lanes: lanes.clone(),
            local,
            registry: Registry::default(),
            stop,
            stopped,
            shutdown: Once::default(),
            next_lane: AtomicUsize::new(0),
            timers: Mutex::default(),
        });
        let tenant: Weak<dyn Tenant> = Arc::downgrade(&(server.clone() as Arc<dyn Tenant>));
        lanes.admit(tenant);
        let acceptor = Acceptor {
            server: server.clone(),
            style: Arc::new(style),
            stopping,
        };
        lanes.at(0).spawn(async move {
            acceptor.run(bound).await;
            accepting.send_replace(true);
        });
        Ok(server)
    }

    pub(crate) fn lanes(&self) -> &Lanes {
        &self.lanes
    }

    pub(crate) fn local_addr(&self) -> &PeerAddress {
        &self.local
    }

    pub(crate) fn sessions(&self) -> Vec<SessionHandle> {
        let open = |session: &SessionHandle| {
            matches!(session.shared().state(), State::Open | State::Draining)
        };
        self.registry.snapshot().into_iter().filter(open).collect()
    }

    pub(crate) fn session(&self, id: super::SessionId) -> Option<SessionHandle> {
        self.registry.get(id)
    }

    pub(crate) fn len(&self) -> usize {
        self.registry.len()
    }

    pub(crate) fn accepted(&self) -> u64 {
        self.registry.accepted()
    }

    pub(crate) fn refused(&self) -> u64 {
        self.registry.refused()
    }

    pub(crate) fn timers(&self) -> &Mutex<super::endpoint_timers::EndpointTimers> {
        &self.timers
    }

    /// Stops accepting, drains the sessions until the deadline, cuts the rest.
    pub(crate) fn shutdown(self: &Arc<Self>, deadline: Instant) -> Shutdown {
        lock(&self.timers).end();
        self.stop.send_replace(true);
        self.shutdown.begin(&self.lanes, || {
            let server = self.clone();
            async move {
                let mut stopped = server.stopped.clone();
                // The acceptor first: no session is registered after the sessions have been told. An error means that it
                // is gone; one that has not stopped soon after the deadline is on a lane that somebody blocks.
                let stopped = stopped.wait_for(|stopped| *stopped);
                let limit = deadline.max(crate::io::after(STOP_GRACE));
                let _ = tokio::time::timeout_at(limit.into(), stopped).await;
                server.registry.end(deadline).await
            }
        })
    }

    fn tell(&self, event: &Event<'_>) {
        if let Some(Observer(observer)) = &self.setup.observer {
            observer(event);
        }
    }
}

impl Tenant for Server {
    fn end(&self, deadline: Instant) {
        lock(&self.timers).end();
        self.stop.send_replace(true);
        for session in self.registry.snapshot() {
            session.shared().close(super::shared::Close::By(deadline));
        }
    }
}

struct Acceptor<S> {
    server: Arc<Server>,
    style: Arc<S>,
    stopping: watch::Receiver<bool>,
}

impl<S: Style> Acceptor<S> {
    async fn run(mut self, bound: Bound) {
        let listener = match bound.listen() {
            Ok(listener) => listener,
            Err(error) => {
                tracing::error!(%error, local = %self.server.local, "cannot listen");
                return self.server.tell(&Event::AcceptFailed { error: &error });
            }
        };
        let mut stopping = self.stopping.clone();
        let stopped = pin!(stopping.wait_for(|stop| *stop));
        select(stopped, pin!(self.accept(&listener))).await;
    }

    async fn accept(&mut self, listener: &Listener) {
        let mut in_a_row = 0;
        loop {
            match poll_fn(|cx| listener.poll_accept(cx)).await {
                Ok(accepted) => self.admit(accepted),
                Err(error) if is_about_the_connection(&error) => {}
                Err(error) => {
                    tracing::warn!(%error, local = %self.server.local, "accept failed; retried in {ACCEPT_RETRY:?}");
                    self.server.tell(&Event::AcceptFailed { error: &error });
                    tokio::time::sleep(ACCEPT_RETRY).await;
                }
            }
            in_a_row += 1;
            if in_a_row >= ACCEPTS_PER_TURN {
                in_a_row = 0;
                tokio::task::yield_now().await;
            }
        }
    }

    fn admit(&self, accepted: Accepted) {
        let setup = &self.server.setup;
        let shared = Shared::new(setup.session.engine.send);
        let session = Session::new(&setup.session, shared);
        let handle = session.handle();
        if !self
            .server
            .registry
            .admit(handle.clone(), setup.connections)
        {
            return self.server.tell(&Event::Refused {
                limit: setup.connections,
            });
        }
        // Made here, so that the session also ends where the lane has ended and its task never runs.
        let end = End {
            server: self.server.clone(),
            handle: handle.clone(),
            reason: CloseReason::Aborted,
        };
        let task = SessionTask {
            server: self.server.clone(),
            style: self.style.clone(),
            handle,
        };
        let core = Box::new(Core::new(session, setup.decoder.clone()));
        let lane = self.server.next_lane.fetch_add(1, Ordering::Relaxed);
        self.server
            .lanes
            .at(lane)
            .spawn(task.run(end, core, accepted));
    }
}

/// Errors of the connection that was about to be accepted, not of the listener.
fn is_about_the_connection(error: &io::Error) -> bool {
    use io::ErrorKind;
    matches!(
        error.kind(),
        ErrorKind::ConnectionAborted
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionRefused
            | ErrorKind::Interrupted
    )
}

struct SessionTask<S> {
    server: Arc<Server>,
    style: Arc<S>,
    handle: SessionHandle,
}

impl<S: Style> SessionTask<S> {
    async fn run(self, mut end: End, core: Box<Core>, accepted: Accepted) {
        let reason = self.serve(core, accepted).await;
        self.server.tell(&Event::Ended {
            session: self.handle.id(),
            reason: &reason,
        });
        end.reason = reason;
    }

    async fn serve(&self, mut core: Box<Core>, accepted: Accepted) -> CloseReason {
        let opened = match self.transport(accepted, &core) {
            Ok(transport) => {
                let within = self.server.setup.session.engine.connect;
                let peer = super::error::Peer(transport.socket().peer_address().ok());
                let timed_out = || Error::HandshakeTimeout {
                    peer: peer.clone(),
                    within,
                };
                shake_hands(&mut core, transport, timed_out).await
            }
            Err(error) => Err(CloseReason::Error(Arc::new(error))),
        };
        match opened {
            Ok(transport) => {
                core.session.set_transport(transport);
                core.session.opened();
                let Some(mut state) = style::begin(&*self.style, &mut core) else {
                    let reason = core.session.reason(Cause::Fault);
                    core.session.end_mail();
                    return reason;
                };
                let (mut core, reason) = self.style.run(&mut state, core).await;
                core.session.end_mail();
                reason
            }
            Err(reason) => {
                if let CloseReason::Error(error) = &reason {
                    tracing::debug!(session = %self.handle.id(), %error, "not opened");
                    self.server.tell(&Event::HandshakeFailed {
                        session: self.handle.id(),
                        error,
                    });
                }
                reason
            }
        }
    }

    fn transport(&self, accepted: Accepted, core: &Core) -> Result<Transport, Error> {
        let io = |source| Error::Io {
            doing: "accept",
            peer: core.session.peer(),
            source,
        };
        let socket: Socket = accepted.register().map_err(io)?;
        socket.configure(&self.server.setup.options).map_err(io)?;
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.server.setup.tls {
            let pump = crate::tls::Pump::server(tls).map_err(|source| Error::Tls {
                peer: core.session.peer(),
                source,
            })?;
            return Ok(Transport::Secure(Box::new(Secure::new(socket, pump))));
        }
        Ok(Transport::Plain(socket))
    }
}

/// Takes the session out of the registry, even when its task is dropped.
struct End {
    server: Arc<Server>,
    handle: SessionHandle,
    reason: CloseReason,
}

impl Drop for End {
    fn drop(&mut self) {
        self.handle.shared().end();
        self.server.registry.remove(&self.handle, &self.reason);
    }
}
