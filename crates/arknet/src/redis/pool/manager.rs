//! What the generic pool has to know about Redis.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::super::Error;
use super::super::connection::Connection;
use super::super::node::Node;
use crate::lanes::Lanes;
use crate::pool::database::{Database, Refusals};
use crate::pool::{AcquireError, Manager, Reset};

/// Makes, resets and ends the connections of a pool.
#[derive(Debug)]
pub(in crate::redis) struct RedisManager {
    node: Arc<Node>,
    lanes: Lanes,
    refusals: Refusals<Error>,
}

impl RedisManager {
    pub(super) fn new(node: Arc<Node>, lanes: Lanes) -> Self {
        Self {
            node,
            lanes,
            refusals: Refusals::new(),
        }
    }

    pub(super) fn node(&self) -> &Arc<Node> {
        &self.node
    }

    /// Where callbacks run.
    pub(in crate::redis) fn lanes(&self) -> &Lanes {
        &self.lanes
    }

    /// Counts it, and lets who waits know of what they need not wait for.
    fn note(&self, result: &Result<Connection, Error>) {
        self.refusals.note(result, stays);
        let meters = &self.node.meters;
        match result {
            Ok(_) => meters.connects.add(1),
            Err(_) => meters.failed_connects.add(1),
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

impl Database for RedisManager {
    fn refusals(&self) -> &Refusals<Error> {
        &self.refusals
    }

    fn refused(error: AcquireError<Error>) -> Error {
        super::refused(error)
    }

    #[inline]
    fn is_draining(connection: &Connection) -> bool {
        connection.is_draining()
    }

    fn poll_drain(connection: &mut Connection, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        connection.poll_drain(cx)
    }
}
