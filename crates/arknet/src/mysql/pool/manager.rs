//! What the generic pool has to know about MySQL.

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
use arknet_proto::mysql::handshake::HandshakeError;

/// Makes, resets and ends the connections of a pool.
#[derive(Debug)]
pub(in crate::mysql) struct MysqlManager {
    node: Arc<Node>,
    lanes: Lanes,
    refusals: Refusals<Error>,
}

impl MysqlManager {
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
    pub(in crate::mysql) fn lanes(&self) -> &Lanes {
        &self.lanes
    }
}

/// Whether it will not help to try again: somebody has to change something.
fn stays(error: &Error) -> bool {
    match error {
        Error::Auth { .. } | Error::Config(_) => true,
        // Too many connections, of the server (1040) or of the account (1203, 1226), are fewer later; a server that is
        // shutting down (1053) comes back. A host that is blocked (1129) stays so.
        Error::Handshake { source, .. } => match &**source {
            HandshakeError::Server(said) => !matches!(said.code(), 1040 | 1053 | 1203 | 1226),
            HandshakeError::Protocol(_) => false,
            _ => true,
        },
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

impl Manager for MysqlManager {
    type Connection = Connection;
    type Error = Error;

    async fn connect(&self, deadline: Instant) -> Result<Connection, Error> {
        let opened = Connection::open(&self.node, deadline).await;
        self.refusals.note(&opened, stays);
        opened
    }

    fn reset(&self, connection: &mut Connection) -> Reset {
        connection.make_new()
    }

    #[inline]
    fn is_reusable(&self, connection: &mut Connection, idle: Duration) -> bool {
        connection.is_reusable(idle)
    }

    async fn farewell(&self, mut connection: Connection) {
        poll_fn(|cx| connection.poll_end(cx)).await;
    }
}

impl Database for MysqlManager {
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
