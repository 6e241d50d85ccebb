//! The two styles: how the task of a connection runs the application's part.

use std::future::{Future, Pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
#[cfg(feature = "owner")]
use std::task::{Context, Poll};

use super::attached::{Attached, Driver};
use super::callbacks;
use super::connection::Connection;
use super::core::Core;
use super::error::{CloseReason, Error};
use super::handler::Handler;
use super::inbox::Inbox;

/// How the application's part of a connection runs. `State` is what it keeps from one connection of a client to the next.
pub(crate) trait Style: Send + Sync + 'static {
    type State: Send;

    fn begin(&self, core: &Core) -> Self::State;

    /// Runs an open session until it has closed.
    fn run(
        &self,
        state: &mut Self::State,
        core: Box<Core>,
    ) -> impl Future<Output = (Box<Core>, CloseReason)> + Send;

    fn connect_failed(&self, state: &mut Self::State, core: &mut Core, error: &Arc<Error>);
}

/// Begins the application's part; `None` if it panicked, which the session then keeps as its fault.
pub(super) fn begin<S: Style>(style: &S, core: &mut Core) -> Option<S::State> {
    match catch_unwind(AssertUnwindSafe(|| style.begin(core))) {
        Ok(state) => Some(state),
        Err(panic) => {
            core.session.panicked(&*panic);
            None
        }
    }
}

/// Callbacks of a handler that a function makes for each session.
pub(crate) struct Callbacks<F>(pub(crate) F);

impl<F, H> Style for Callbacks<F>
where
    F: Fn(&super::Session) -> H + Send + Sync + 'static,
    H: Handler,
{
    type State = H;

    fn begin(&self, core: &Core) -> H {
        (self.0)(&core.session)
    }

    async fn run(&self, handler: &mut H, mut core: Box<Core>) -> (Box<Core>, CloseReason) {
        let reason = poll_fn(|cx| callbacks::poll_session(&mut core, handler, cx)).await;
        (core, reason)
    }

    fn connect_failed(&self, handler: &mut H, core: &mut Core, error: &Arc<Error>) {
        core.session
            .run_guarded(|session| handler.on_connect_failed(session, error));
    }
}

/// A handler that hands on what it hears, once a turn: its connection's events are delivered elsewhere.
#[cfg(feature = "owner")]
pub(crate) trait Bridge: Handler {
    /// A turn of an open session is over.
    fn turned(&mut self, session: &mut super::Session);

    /// The connection has closed: ready when those elsewhere know it, so that another may follow.
    fn poll_told(&mut self, cx: &Context<'_>) -> Poll<()>;
}

/// Bridges that a function makes for each session.
#[cfg(feature = "owner")]
pub(crate) struct Bridged<F>(pub(crate) F);

#[cfg(feature = "owner")]
impl<F, B> Style for Bridged<F>
where
    F: Fn(&super::Session) -> B + Send + Sync + 'static,
    B: Bridge,
{
    type State = B;

    fn begin(&self, core: &Core) -> B {
        (self.0)(&core.session)
    }

    async fn run(&self, bridge: &mut B, mut core: Box<Core>) -> (Box<Core>, CloseReason) {
        let reason = poll_fn(|cx| {
            let polled = callbacks::poll_session(&mut core, bridge, cx);
            if polled.is_pending() {
                bridge.turned(&mut core.session);
            }
            polled
        })
        .await;
        poll_fn(|cx| {
            core.begin(cx);
            // Closed for good from outside: nothing follows, and nobody is waited for.
            if core.session.is_stopped() {
                return Poll::Ready(());
            }
            bridge.poll_told(cx)
        })
        .await;
        (core, reason)
    }

    fn connect_failed(&self, bridge: &mut B, core: &mut Core, error: &Arc<Error>) {
        core.session
            .run_guarded(|session| bridge.on_connect_failed(session, error));
    }
}

/// Async code that a function makes for each connection.
pub(crate) struct Tasks<F>(pub(crate) F);

impl<F, T> Style for Tasks<F>
where
    F: Fn(Connection) -> T + Send + Sync + 'static,
    T: Future<Output = ()> + Send + 'static,
{
    type State = ();

    fn begin(&self, _: &Core) {}

    async fn run(&self, (): &mut (), core: Box<Core>) -> (Box<Core>, CloseReason) {
        let (connection, inbox) = Connection::new(&core.session.handle());
        // The function runs in the owner's first turn, where a panic of it is caught like one of the task.
        let owner = async { (self.0)(connection).await };
        drive(Driver::new(Attached::new(*core, inbox), Some(owner))).await
    }

    fn connect_failed(&self, (): &mut (), _: &mut Core, _: &Arc<Error>) {}
}

/// Runs a session whose owner is elsewhere.
pub(crate) async fn run_detached(
    core: Box<Core>,
    inbox: Arc<Mutex<Inbox>>,
) -> (Box<Core>, CloseReason) {
    drive(Driver::<Pending<()>>::new(
        Attached::new(*core, inbox),
        None,
    ))
    .await
}

async fn drive<T: Future<Output = ()>>(mut driver: Driver<T>) -> (Box<Core>, CloseReason) {
    let attached = poll_fn(|cx| driver.poll(cx)).await;
    attached.into_parts()
}
