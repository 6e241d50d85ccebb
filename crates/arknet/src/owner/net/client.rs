//! Clients whose connections belong to an owner.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use super::connection::Connection;
use super::endpoint::{Endpoint, Welcome};
use super::error::StartError;
use super::handler::Handler;
use super::server::spawner;
use super::session::Session;
use super::wire::Wire;
use crate::endpoint::Shutdown;
use crate::endpoint::style::Bridged;
use crate::owner::cx::Cx;
use crate::owner::error::RejectReason;
use crate::owner::label::Label;
use crate::tcp::{self, ClientConfig, ToAddress};

/// A client that connects, and connects again when the connection is lost, as its policy says. Its events are delivered by
/// an owner; the next connection is made when the end of the last has been delivered.
///
/// Each connection is a [`Session`] of its own: what was accepted on one is never sent on another. Closing a session from
/// this side ends the client. It belongs to the group of the [`Cx`] that it was made by. Clones are the same client;
/// dropping them all leaves it running.
pub struct Client<W: 'static> {
    endpoint: Rc<Endpoint<W>>,
    inner: tcp::Client,
}

impl<W> Clone for Client<W> {
    fn clone(&self) -> Self {
        Self {
            endpoint: self.endpoint.clone(),
            inner: self.inner.clone(),
        }
    }
}

impl<W: 'static> Client<W> {
    /// Starts a client with callbacks. The handler stays from one connection to the next.
    ///
    /// # Errors
    ///
    /// [`StartError::Endpoint`] as [`tcp::Client::start`], [`StartError::Rejected`] where the owner or the group has ended,
    /// or the owner has too many sources. That a connection cannot be made is told to the handler, by `on_connect_failed`.
    #[track_caller]
    pub fn start<H: Handler<W>>(
        cx: &Cx<W>,
        address: impl ToAddress,
        config: ClientConfig,
        handler: H,
    ) -> Result<Self, StartError> {
        let handler: Box<dyn Handler<W>> = Box::new(handler);
        let welcome = Welcome::InTurn(Rc::new(RefCell::new(Some(handler))));
        Self::open(cx, Label::here(), address, &config, welcome)
    }

    /// Starts a client with async code: `run` makes a task for each connection. When the task ends on its own account, which
    /// drops its connection, the client ends; when the connection was lost, the client connects again.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    #[track_caller]
    pub fn run<F, Fut>(
        cx: &Cx<W>,
        address: impl ToAddress,
        config: ClientConfig,
        run: F,
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
            Welcome::Task(spawner(label, run)),
        )
    }

    fn open(
        cx: &Cx<W>,
        label: Label,
        address: impl ToAddress,
        config: &ClientConfig,
        welcome: Welcome<W>,
    ) -> Result<Self, StartError> {
        let lanes = cx.core.lanes.borrow().clone();
        let lanes = lanes.ok_or(RejectReason::Closed { of: "the owner" })?;
        let endpoint = Endpoint::new(cx, label, config.admission(), welcome, true)?;
        let gate = endpoint.gate.clone();
        let style = Bridged(move |_: &crate::Session| Wire::new(gate.clone()));
        let inner = match tcp::Client::start_style(&lanes, address, config, style) {
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

    /// The session of the present connection, if there is one.
    pub fn session(&self) -> Option<Session> {
        self.endpoint.sessions().pop()
    }

    /// Shuts the client down: hands over what was accepted and closes, for at most `within`, then cuts. It connects no
    /// more.
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

impl<W> std::fmt::Debug for Client<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Client").field(&self.inner).finish()
    }
}
