//! What the generic pool has to know about Redis.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::super::Error;
use super::super::connection::Connection;
use super::super::node::Node;
use crate::lanes::Lanes;
use crate::pool::{Manager, Reset};

/// Makes, resets and ends the connections of a pool.
#[derive(Debug)]
pub(in crate::redis) struct RedisManager {
    node: Arc<Node>,
    lanes: Lanes,
    /// The last connect has succeeded.
    healthy: AtomicBool,
    /// Why connects fail, if waiting does not help.
    refusals: watch::Sender<Option<Error>>,
}

impl RedisManager {
    pub(super) fn new(node: Arc<Node>, lanes: Lanes) -> Self {
        Self {
            node,
            lanes,
            healthy: AtomicBool::new(false),
            refusals: watch::Sender::new(None),
        }
    }

    pub(super) fn node(&self) -> &Arc<Node> {
        &self.node
    }

    /// Where callbacks run.
    pub(in crate::redis) fn lanes(&self) -> &Lanes {
        &self.lanes
    }

    /// Whether connects succeed, as far as is known.
    pub(super) fn is_healthy(&self) -> bool {
        self.healthy.load(Ordering::Relaxed)
    }

    /// The next reason why no connection will be made, from now on.
    pub(super) async fn refusal(&self) -> Error {
        let mut refusals = self.refusals.subscribe();
        loop {
            if refusals.changed().await.is_err() {
                return Error::Closed;
            }
            if let Some(error) = refusals.borrow_and_update().clone() {
                return error;
            }
        }
    }

    /// Lets who waits know of what they need not wait for.
    fn note(&self, result: &Result<Connection, Error>) {
        self.healthy.store(result.is_ok(), Ordering::Relaxed);
        let meters = &self.node.meters;
        match result {
            Ok(_) => meters.connects.add(1),
            Err(_) => meters.failed_connects.add(1),
        }
        if let Err(error) = result
            && stays(error)
        {
            self.refusals.send_replace(Some(error.clone()));
        }
    }
}

/// Whether it will not help to try again: somebody has to change something.
fn stays(error: &Error) -> bool {
    match error {
        Error::Auth { .. } | Error::Config(_) => true,
        Error::Handshake { source, .. } => source.server().is_some_and(|said| {
            let busy = ["LOADING", "BUSY", "TRYAGAIN", "MASTERDOWN"].contains(&said.code());
            !busy && !said.message().starts_with("max number of clients")
        }),
        #[cfg(feature = "tls")]
        Error::Tls { source, .. } => {
            use crate::tls::ErrorKind as Kind;
            !matches!(
                source.kind(),
                Kind::Truncated | Kind::Internal | Kind::Exhausted
            )
        }
        _ => false,
    }
}

impl Manager for RedisManager {
    type Connection = Connection;
    type Error = Error;

    async fn connect(&self, deadline: Instant) -> Result<Connection, Error> {
        let opened = Connection::open(&self.node, deadline).await;
        self.note(&opened);
        opened
    }

    fn reset(&self, connection: &mut Connection) -> Reset {
        connection.make_new()
    }

    #[inline]
    fn is_reusable(&self, connection: &mut Connection, idle: Duration) -> bool {
        connection.is_reusable(idle)
    }

    fn name(&self) -> String {
        self.node.address.to_string()
    }

    async fn farewell(&self, mut connection: Connection) {
        poll_fn(|cx| connection.poll_end(cx)).await;
    }
}
