//! Ours, with its defaults: the shared client, and the pool's leases, which reset what a lease
//! leaves behind.

use arknet::Lanes;
use arknet::pool::PoolConfig;
use arknet::redis::commands::strings;
use arknet::redis::{Client, Config, Pool, cmd, pipeline};
use bytes::Bytes;

use super::drive::{self, Pooled, Shared};
use super::load::Load;
use crate::failure::Failure;
use crate::place::Place;
use crate::sample::Sample;

/// The shared client in a tokio runtime, as the peers.
pub(crate) fn client(load: &Load) -> Result<Sample, Failure> {
    shared(load, &Place::tokio(load.threads)?)
}

/// The shared client in lanes of its own, with the tasks beside it.
pub(crate) fn client_lanes(load: &Load) -> Result<Sample, Failure> {
    shared(load, &Place::lanes(load.threads)?)
}

fn shared(load: &Load, place: &Place) -> Result<Sample, Failure> {
    let config = config(load)?;
    let client = place.block_on(async {
        let client = Client::connect(config, &lanes(place)?).await;
        client.map_err(Failure::library("connecting"))
    })?;
    drive::shared(load, place, &client)
}

/// The pool in a tokio runtime, as the peers.
pub(crate) fn lease(load: &Load) -> Result<Sample, Failure> {
    pooled(load, &Place::tokio(load.threads)?)
}

/// The pool in lanes of its own, with the tasks beside it.
pub(crate) fn lease_lanes(load: &Load) -> Result<Sample, Failure> {
    pooled(load, &Place::lanes(load.threads)?)
}

fn pooled(load: &Load, place: &Place) -> Result<Sample, Failure> {
    let config = config(load)?;
    let sizes = PoolConfig::new().max_connections(drive::connections(load)?);
    let pool = place.block_on(async {
        let pool = Pool::new(config, sizes, &lanes(place)?);
        pool.map_err(Failure::library("making a pool"))
    })?;
    drive::pooled(load, place, &pool)
}

fn config(load: &Load) -> Result<Config, Failure> {
    let address = load.server()?;
    Config::new(address).map_err(Failure::library("naming the server"))
}

/// The lanes of a place; of a runtime, from inside of it.
fn lanes(place: &Place) -> Result<Lanes, Failure> {
    match place {
        Place::Lanes(lanes) => Ok(lanes.clone()),
        Place::Tokio(_) => Lanes::current().map_err(Failure::library("finding the runtime")),
    }
}

fn asking(error: arknet::redis::Error) -> Failure {
    Failure::library("a request")(error)
}

impl Shared for Client {
    type Bytes = Bytes;

    async fn get(&self, key: &str) -> Result<String, Failure> {
        self.run(strings::get(key)).await.map_err(asking)
    }

    async fn get_bytes(&self, key: &str) -> Result<Bytes, Failure> {
        self.run(strings::get(key)).await.map_err(asking)
    }

    async fn pipeline(&self, keys: &[String]) -> Result<Vec<String>, Failure> {
        let commands = keys.iter().map(strings::get);
        let replies = self.run(pipeline().extend(commands)).await;
        let values = replies.into_iter().collect::<Result<_, _>>();
        values.map_err(asking)
    }
}

impl Pooled for Pool {
    type Bytes = Bytes;

    async fn echo(&self, payload: &[u8]) -> Result<Bytes, Failure> {
        let mut lease = self.acquire().await.map_err(asking)?;
        lease.run(cmd("ECHO").arg(payload)).await.map_err(asking)
    }
}
