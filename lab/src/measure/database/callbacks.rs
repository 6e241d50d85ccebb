//! Operations as callbacks: each result begins the next operation.

use arknet::redis::{Client, Pool};

use super::course::Worker;
use super::echo;

/// The next operation on a shared connection.
pub(super) fn shared(client: Client, mut worker: Worker) {
    if !worker.begin() {
        return;
    }
    let (next, request) = (client.clone(), echo(worker.payload()));
    let refused = client.run_with(request, move |reply| {
        worker.end(reply);
        shared(next, worker);
    });
    // The callback went with the request, and the worker with it: its phase shows what is missing.
    drop(refused);
}

/// The next operation on a lease.
pub(super) fn lease(pool: Pool, mut worker: Worker) {
    if !worker.begin() {
        return;
    }
    let next = pool.clone();
    pool.acquire_with(move |acquired| match acquired {
        Ok(leased) => {
            let request = echo(worker.payload());
            leased.run_with(request, move |leased, reply| {
                worker.end(reply);
                // The next operation is another user of the connection.
                drop(leased);
                lease(next, worker);
            });
        }
        Err(error) => worker.fail(error.to_string()),
    });
}
