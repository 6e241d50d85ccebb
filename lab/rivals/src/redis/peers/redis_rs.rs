//! `redis`: its multiplexed connection.

use redis::aio::MultiplexedConnection;
use redis::{Client, cmd, pipe};

use super::super::drive::Shared;
use super::super::load::Load;
use super::{asking, connecting};
use crate::failure::Failure;
use crate::sample::Sample;

/// Runs the load on one multiplexed connection.
pub(crate) fn shared(load: &Load) -> Result<Sample, Failure> {
    super::shared(load, async |url| {
        let client = Client::open(url).map_err(connecting)?;
        let connection = client.get_multiplexed_async_connection().await;
        connection.map_err(connecting)
    })
}

impl Shared for MultiplexedConnection {
    type Bytes = Vec<u8>;

    async fn get(&self, key: &str) -> Result<String, Failure> {
        let mut connection = self.clone();
        let reply = cmd("GET").arg(key).query_async(&mut connection).await;
        reply.map_err(asking)
    }

    async fn get_bytes(&self, key: &str) -> Result<Vec<u8>, Failure> {
        let mut connection = self.clone();
        let reply = cmd("GET").arg(key).query_async(&mut connection).await;
        reply.map_err(asking)
    }

    async fn pipeline(&self, keys: &[String]) -> Result<Vec<String>, Failure> {
        let mut connection = self.clone();
        let mut pipe = pipe();
        for key in keys {
            pipe.cmd("GET").arg(key);
        }
        pipe.query_async(&mut connection).await.map_err(asking)
    }
}
