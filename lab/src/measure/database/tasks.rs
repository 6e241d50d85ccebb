//! Operations as tasks: each is one task that awaits.

use arknet::Lanes;
use arknet::redis::{Client, Pool};

use super::course::Worker;
use super::echo;

/// Operations on a shared connection.
pub(super) fn shared(lanes: &Lanes, client: Client, mut worker: Worker) {
    lanes.spawn(async move {
        while worker.begin() {
            let reply = client.run(echo(worker.payload())).await;
            worker.end(reply);
        }
    });
}

/// Operations on leases.
pub(super) fn lease(lanes: &Lanes, pool: Pool, mut worker: Worker) {
    lanes.spawn(async move {
        while worker.begin() {
            let reply = match pool.acquire().await {
                Ok(mut lease) => lease.run(echo(worker.payload())).await,
                Err(error) => Err(error),
            };
            worker.end(reply);
        }
    });
}
