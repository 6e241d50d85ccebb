//! Connecting, and connecting again.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::{Duration, Instant};

use arknet_proto::framing::Decoder;
use arknet_proto::reconnect::{Reconnect, ReconnectPolicy};
use arknet_proto::session::{Cause, State};
use futures_util::future::{Either, select};

use super::connection::Connection;
use super::core::Core;
use super::error::{CloseReason, Error};
use super::event::{Event, Observer};
use super::handle::SessionHandle;
use super::open::{opening, shake_hands};
use super::registry::Registry;
use super::session::{Session, SessionConfig};
use super::shared::{Close, Shared};
use super::shutdown::{Once, Shutdown};
use super::style::{self, Style, run_detached};
use crate::lanes::{Lanes, Tenant};
use crate::link::{Transport, random};

/// How a client makes a connection.
pub(crate) trait Connector: Send + Sync + 'static {
    /// Connects, from the resolution of the name to the last thing before a handshake.
    fn connect(&self) -> impl Future<Output = Result<Transport, Error>> + Send;

    /// What to say when it took too long.
    fn timed_out(&self) -> Error;
}

/// What a client needs beside its style and its connector.
pub(crate) struct ClientSetup {
    pub(crate) session: SessionConfig,
    pub(crate) decoder: Decoder,
    pub(crate) reconnect: ReconnectPolicy,
    pub(crate) observer: Option<Observer>,
}

/// A running client.
pub(crate) struct Client {
    lanes: Lanes,
    handle: SessionHandle,
    registry: Registry,
    shutdown: Once,
}

impl Client {
    /// Starts to connect.
    pub(crate) fn start<S: Style>(
        setup: ClientSetup,
        lanes: &Lanes,
        connector: impl Connector,
        style: S,
    ) -> Arc<Self> {
        let session = Session::new(&setup.session, Shared::new(setup.session.engine.send));
        let handle = session.handle();
        handle.shared().set_reconnects();
        let client = Arc::new(Self {
            lanes: lanes.clone(),
            handle: handle.clone(),
            registry: Registry::default(),
            shutdown: Once::default(),
        });
        client.registry.admit(handle, 1);
        let tenant: Weak<dyn Tenant> = Arc::downgrade(&(client.clone() as Arc<dyn Tenant>));
        lanes.admit(tenant);
        let core = Box::new(Core::new(session, setup.decoder.clone()));
        // Made here, so that it also ends where the lanes have ended and the task never runs.
        let end = End {
            client: client.clone(),
            reason: CloseReason::Aborted,
        };
        lanes.next().spawn(run(end, setup, connector, style, core));
        client
    }

    pub(crate) fn handle(&self) -> &SessionHandle {
        &self.handle
    }

    fn tell_ended(&self, setup: &ClientSetup, reason: &CloseReason) {
        if let Some(Observer(observer)) = &setup.observer {
            observer(&Event::Ended {
                session: self.handle.id(),
                reason,
            });
        }
    }

    /// Closes the connection and connects no more.
    pub(crate) fn shutdown(self: &Arc<Self>, deadline: Instant) -> Shutdown {
        self.shutdown.begin(&self.lanes, || {
            let client = self.clone();
            async move { client.registry.end(deadline).await }
        })
    }
}

impl Tenant for Client {
    fn end(&self, deadline: Instant) {
        self.handle.shared().close(Close::By(deadline));
    }
}

async fn run<S: Style>(
    mut end: End,
    setup: ClientSetup,
    connector: impl Connector,
    style: S,
    core: Box<Core>,
) {
    let (mut core, reason) = connect_and_run(&end.client, &setup, &connector, &style, core).await;
    end.reason = reason;
    core.session.end_mail();
}

/// Takes the client out, even when its task is dropped.
struct End {
    client: Arc<Client>,
    reason: CloseReason,
}

impl Drop for End {
    fn drop(&mut self) {
        self.client.handle.shared().end();
        self.client
            .registry
            .remove(&self.client.handle, &self.reason);
    }
}

async fn connect_and_run<S: Style>(
    client: &Client,
    setup: &ClientSetup,
    connector: &impl Connector,
    style: &S,
    mut core: Box<Core>,
) -> (Box<Core>, CloseReason) {
    let mut reconnect = Reconnect::new(setup.reconnect.clone());
    let Some(mut state) = style::begin(style, &mut core) else {
        let reason = core.session.reason(Cause::Fault);
        client.tell_ended(setup, &reason);
        return (core, reason);
    };
    loop {
        let reason = match open(&mut core, connector).await {
            Ok(()) => {
                reconnect.succeeded();
                let (used, reason) = style.run(&mut state, core).await;
                core = used;
                reason
            }
            Err(CloseReason::Error(error)) => {
                tracing::debug!(session = %client.handle.id(), %error, "not connected");
                style.connect_failed(&mut state, &mut core, &error);
                CloseReason::Error(error)
            }
            Err(reason) => reason,
        };
        client.tell_ended(setup, &reason);
        let lost = matches!(reason, CloseReason::Peer | CloseReason::Error(_));
        if !lost || core.session.is_stopped() {
            return (core, reason);
        }
        let Some(delay) = reconnect.failed(random()) else {
            return (core, reason);
        };
        core.renew(setup.session.engine);
        if !wait(&mut core, delay).await {
            return (core, CloseReason::Local);
        }
        core.renew(setup.session.engine);
    }
}

/// Connects and shakes hands.
async fn open(core: &mut Core, connector: &impl Connector) -> Result<(), CloseReason> {
    let transport = opening(core, connector.connect(), || connector.timed_out()).await?;
    let transport = shake_hands(core, transport, || connector.timed_out()).await?;
    core.session.set_transport(transport);
    core.session.opened();
    Ok(())
}

/// Waits before the next attempt; `false` if the client is closed meanwhile.
async fn wait(core: &mut Core, delay: Duration) -> bool {
    let mut slept = pin!(tokio::time::sleep(delay));
    poll_fn(|cx| {
        core.begin(cx);
        if core.state() == State::Closed {
            return Poll::Ready(false);
        }
        slept.as_mut().poll(cx).map(|()| true)
    })
    .await
}

/// A connection for a caller who owns it; it is not made again when it is lost.
pub(crate) async fn connect(
    setup: ClientSetup,
    lanes: &Lanes,
    connector: impl Connector,
) -> Result<Connection, Arc<Error>> {
    let session = Session::new(&setup.session, Shared::new(setup.session.engine.send));
    let handle = session.handle();
    let mut core = Box::new(Core::new(session, setup.decoder.clone()));
    let (mut opened, wanted) = tokio::sync::oneshot::channel();
    lanes.next().spawn(async move {
        let _end = EndShared(handle.clone());
        let result = {
            let opening = pin!(open(&mut core, &connector));
            match select(opening, pin!(opened.closed())).await {
                Either::Left((result, _)) => result,
                // The caller does not want it any more.
                Either::Right(_) => return,
            }
        };
        match result {
            Ok(()) => {
                let (connection, inbox) = Connection::new(&handle);
                // A connection that nobody takes is closed by its drop.
                let _ = opened.send(Ok(connection));
                run_detached(core, inbox).await.0.session.end_mail();
            }
            Err(reason) => drop(opened.send(Err(reason))),
        }
    });
    match wanted.await {
        Ok(Ok(connection)) => Ok(connection),
        Ok(Err(CloseReason::Error(error))) => Err(error),
        // The lanes have ended.
        Ok(Err(_)) | Err(_) => Err(Arc::new(Error::Closed {
            peer: super::error::Peer(None),
        })),
    }
}

struct EndShared(SessionHandle);

impl Drop for EndShared {
    fn drop(&mut self) {
        self.0.shared().end();
    }
}
