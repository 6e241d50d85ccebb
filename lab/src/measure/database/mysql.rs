//! Operations on MySQL: lease, SELECT of what is sent, return; as tasks and as callbacks.

use arknet::Lanes;
use arknet::mysql::{Config, Error as Failure, Exec, Pool, exec};
use arknet::pool::PoolConfig;

use super::config::DatabaseConfig;
use super::course::Worker;
use crate::measure::Error;

/// Makes the pool, and all of its connections.
pub(super) fn connect(config: &DatabaseConfig, url: &str, lanes: &Lanes) -> Result<Pool, Error> {
    let parsed = Config::from_url(url).map_err(Error::setup("read the server's URL"))?;
    let sizes = PoolConfig::new()
        .max_connections(config.connections)
        .min_connections(config.connections)
        .queue(config.outstanding);
    let pool = Pool::new(parsed, sizes, lanes).map_err(Error::setup("make the pool"))?;
    let all = async {
        let mut leases = Vec::new();
        for _ in 0..config.connections {
            leases.push(pool.acquire().await?);
        }
        Ok::<_, Failure>(())
    };
    let leased = lanes
        .block_on(all)
        .map_err(Error::setup("wait for the lanes"))?;
    leased.map_err(Error::setup("connect to the server"))?;
    Ok(pool)
}

/// The request of one operation.
fn echo(payload: &[u8]) -> Exec<'static, Option<Vec<u8>>> {
    exec("SELECT ?", (payload,))
}

/// What came back; no row is nothing.
fn replied(reply: Result<Option<Vec<u8>>, Failure>) -> Result<Vec<u8>, Failure> {
    reply.map(Option::unwrap_or_default)
}

/// Operations as one task that awaits.
pub(super) fn task(lanes: &Lanes, pool: Pool, mut worker: Worker) {
    lanes.spawn(async move {
        while worker.begin() {
            let reply = match pool.acquire().await {
                Ok(mut lease) => lease.run(echo(worker.payload())).await,
                Err(error) => Err(error),
            };
            worker.end(replied(reply));
        }
    });
}

/// Operations as callbacks: each result begins the next.
pub(super) fn callback(pool: Pool, mut worker: Worker) {
    if !worker.begin() {
        return;
    }
    let next = pool.clone();
    pool.acquire_with(move |acquired| match acquired {
        Ok(leased) => {
            let request = echo(worker.payload());
            leased.run_with(request, move |leased, reply| {
                worker.end(replied(reply));
                // The next operation is another user of the connection.
                drop(leased);
                callback(next, worker);
            });
        }
        Err(error) => worker.fail(error.to_string()),
    });
}
