//! Database clients of arknet, used as any application would use them, in either style: by themselves, or by an owner.
//!
//! One operation is one request that returns what it carries: a binary ECHO, or a prepared SELECT of
//! its own parameter. With leases, each operation acquires a connection and returns it. A fixed number of operations, so many of them at
//! a time; every reply is checked. The server is another process, and no figure of it is in the
//! record.

mod callbacks;
pub mod config;
mod course;
mod mysql;
mod owner;
mod record;
mod server;
mod tasks;

use std::sync::Arc;
use std::time::{Duration, Instant};

use arknet::pool::PoolConfig;
use arknet::redis::{Client, Command, Config, Pool, cmd};
use arknet::{Bytes, Lanes};

pub use self::config::DatabaseConfig;
use self::config::{Access, Api, Engine, Io, Server};
use self::course::{Phase, Total};
use self::record::Observed;
pub use self::record::{DatabaseMeasurement, SCHEMA_VERSION};
use self::server::Embedded;
use super::Error;
use super::config::Execution;
use super::usage::{Roles, Usage, peak_rss};

/// How long the end may take: everything has been answered by then.
const SHUTDOWN: Duration = Duration::from_secs(2);

/// Makes one measurement of a database client; returns when it is over and every thread and process
/// of it has ended.
///
/// # Errors
/// Refuses a configuration that [`DatabaseConfig::check`] refuses, and fails when the server cannot
/// be reached or lanes cannot be had. A run with faults is no error: its record says `ok: false`.
pub fn database(config: &DatabaseConfig) -> Result<DatabaseMeasurement, Error> {
    config.check()?;
    let embedded = match &config.server {
        Server::Embedded(program) => Some(Embedded::start(program, config.engine)?),
        Server::Url(_) => None,
    };
    let url = match (&embedded, &config.server) {
        (Some(embedded), _) => embedded.url(),
        (None, Server::Url(url)) => url,
        (None, Server::Embedded(_)) => return Err(Error::Unsupported("an embedded server")),
    };
    let threads = match (config.api, config.io) {
        (Api::Owner, _) => return owner::measure(config, url),
        (Api::Client, Io::Threads(threads)) => threads,
        (Api::Client, Io::Inline) => return Err(Error::Unsupported("a client without lanes")),
    };
    let lanes = Lanes::shared(threads).map_err(Error::setup("start lanes"))?;
    let result = measure(config, url, &lanes);
    let ended = lanes.block_on(lanes.shutdown(SHUTDOWN));
    ended.map_err(Error::setup("end the lanes"))?;
    result
}

fn measure(
    config: &DatabaseConfig,
    url: &str,
    lanes: &Lanes,
) -> Result<DatabaseMeasurement, Error> {
    let access = connect(config, url, lanes)?;
    let warmup = phase(config, &access, lanes, config.warmup_operations);
    let (begun, before, roles) = (Instant::now(), Usage::now(), Roles::now());
    // A warm-up that failed says enough.
    let operations = if warmup.errors == 0 {
        config.operations
    } else {
        0
    };
    let measured = phase(config, &access, lanes, operations);
    let after = Usage::now();
    let observed = Observed {
        elapsed: begun.elapsed().as_secs_f64(),
        usage: after.zip(before).map(|(after, before)| after.since(before)),
        roles: Roles::now().since(&roles),
        peak_rss: peak_rss(),
    };
    Ok(DatabaseMeasurement::new(
        config, &warmup, &measured, &observed,
    ))
}

/// What requests go through.
#[derive(Clone)]
enum Through {
    Shared(Arc<[Client]>),
    Lease(Pool),
    Mysql(arknet::mysql::Pool),
}

/// Connects everything before anything is measured.
fn connect(config: &DatabaseConfig, url: &str, lanes: &Lanes) -> Result<Through, Error> {
    if config.engine == Engine::Mysql {
        return mysql::connect(config, url, lanes).map(Through::Mysql);
    }
    let parsed = Config::from_url(url).map_err(Error::setup("read the server's URL"))?;
    let connecting = || Error::setup("connect to the server");
    let waiting = || Error::setup("wait for the lanes");
    match config.access {
        Access::Shared => {
            // A reply's own place may still be taken while it begins the next request.
            let places = config.outstanding.saturating_mul(2);
            let parsed = parsed.max_requests(places);
            let mut clients = Vec::new();
            for _ in 0..config.connections {
                let client = lanes.block_on(Client::connect(parsed.clone(), lanes));
                clients.push(client.map_err(waiting())?.map_err(connecting())?);
            }
            Ok(Through::Shared(clients.into()))
        }
        Access::Lease => {
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
                Ok::<_, arknet::redis::Error>(())
            };
            let leased = lanes.block_on(all).map_err(waiting())?;
            leased.map_err(connecting())?;
            Ok(Through::Lease(pool))
        }
    }
}

/// Runs a phase to its end.
fn phase(config: &DatabaseConfig, through: &Through, lanes: &Lanes, operations: u64) -> Total {
    let phase = Phase::new(operations, config.outstanding);
    for n in 0..config.outstanding {
        let worker = phase.worker(config.payload);
        match (config.execution, through) {
            (Execution::Async, Through::Shared(clients)) => {
                tasks::shared(lanes, client(clients, n), worker);
            }
            (Execution::Async, Through::Lease(pool)) => tasks::lease(lanes, pool.clone(), worker),
            (Execution::Callback, Through::Shared(clients)) => {
                let client = client(clients, n);
                lanes.post(move || callbacks::shared(client, worker));
            }
            (Execution::Callback, Through::Lease(pool)) => {
                let pool = pool.clone();
                lanes.post(move || callbacks::lease(pool, worker));
            }
            (Execution::Async, Through::Mysql(pool)) => mysql::task(lanes, pool.clone(), worker),
            (Execution::Callback, Through::Mysql(pool)) => {
                let pool = pool.clone();
                lanes.post(move || mysql::callback(pool, worker));
            }
        }
    }
    phase.wait()
}

/// Connections are taken in turn, as many requests on each.
fn client(clients: &Arc<[Client]>, n: usize) -> Client {
    clients[n % clients.len()].clone()
}

/// The request of one operation.
fn echo(payload: &[u8]) -> Command<Bytes> {
    cmd("ECHO").arg(payload)
}
