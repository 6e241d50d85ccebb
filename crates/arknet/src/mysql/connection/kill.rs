//! Ending on the server what nobody waits for any more.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use super::{Connection, Error, Limit};
use crate::link;
use crate::mysql::node::Node;
use crate::mysql::query;

/// How long the end of a statement may take to be told. Later, it may well have ended by itself.
const WITHIN: Duration = Duration::from_secs(5);

impl Connection {
    /// Asks the server for the connection's number. That of the handshake may be a proxy's.
    pub(super) async fn ask_for_number(&mut self) -> Result<(), Error> {
        let limit = Limit {
            within: None,
            until: None,
        };
        let number = query::<Option<u64>>("SELECT CONNECTION_ID()");
        // 0 is nobody.
        self.number = self.run_one(number, limit).await?.filter(|id| *id != 0);
        self.dirty = false;
        Ok(())
    }

    /// Has the server end what it is doing for this connection, which is of no more use then: the end may come late.
    #[cold]
    pub(super) fn kill(&mut self) {
        let Some(number) = self.number.take() else {
            return;
        };
        self.failure = Some(Error::Closed);
        if self.node.begin_kill() {
            self.timer.spawn(kill(Killing(self.node.clone()), number));
        }
    }
}

/// A statement that is being ended. Counted until it is dropped.
struct Killing(Arc<Node>);

impl Drop for Killing {
    fn drop(&mut self) {
        self.0.end_kill();
    }
}

async fn kill(killing: Killing, number: u64) {
    let Killing(node) = &killing;
    let killed = tokio::time::timeout(WITHIN, try_kill(node, number)).await;
    match killed {
        Ok(Ok(())) => node.count_kill(),
        Ok(Err(error)) => {
            tracing::debug!(address = %node.address, kind = ?error.kind(), "a statement was not ended");
        }
        Err(_) => tracing::debug!(address = %node.address, "a statement was not ended in time"),
    }
}

async fn try_kill(node: &Arc<Node>, number: u64) -> Result<(), Error> {
    let mut connection = Connection::open_for_once(node, link::after(WITHIN)).await?;
    let limit = Limit {
        within: Some(WITHIN),
        until: None,
    };
    let kill = query::<()>(format!("KILL QUERY {number}"));
    connection.run_one(kill, limit).await?;
    poll_fn(|cx| connection.poll_end(cx)).await;
    Ok(())
}
