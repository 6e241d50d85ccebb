//! `fred`: its client, and its exclusive pool for leases.

use bytes::Bytes;
use fred::clients::{Client, ExclusivePool};
use fred::interfaces::{ClientInterface as _, ClientLike as _, KeysInterface as _};
use fred::types::Builder;
use fred::types::config::Config;

use super::super::drive::{Pooled, Shared};
use super::super::load::Load;
use super::{asking, connecting};
use crate::failure::Failure;
use crate::sample::Sample;

/// Runs the load on one client.
pub(crate) fn shared(load: &Load) -> Result<Sample, Failure> {
    super::shared(load, async |url| {
        let client = builder(&url)?.build().map_err(connecting)?;
        client.init().await.map_err(connecting)?;
        Ok(client)
    })
}

/// Runs the load on its exclusive pool, which hands out clients behind a lock.
pub(crate) fn pooled(load: &Load) -> Result<Sample, Failure> {
    super::pooled(load, async |url, connections| {
        let pool = builder(&url)?.build_exclusive_pool(connections);
        let pool = pool.map_err(connecting)?;
        pool.init().await.map_err(connecting)?;
        Ok(pool)
    })
}

fn builder(url: &str) -> Result<Builder, Failure> {
    let config = Config::from_url(url).map_err(connecting)?;
    Ok(Builder::from_config(config))
}

impl Shared for Client {
    type Bytes = Bytes;

    async fn get(&self, key: &str) -> Result<String, Failure> {
        fred::interfaces::KeysInterface::get(self, key)
            .await
            .map_err(asking)
    }

    async fn get_bytes(&self, key: &str) -> Result<Bytes, Failure> {
        fred::interfaces::KeysInterface::get(self, key)
            .await
            .map_err(asking)
    }

    async fn pipeline(&self, keys: &[String]) -> Result<Vec<String>, Failure> {
        let pipeline = Client::pipeline(self);
        for key in keys {
            let () = pipeline.get(key.as_str()).await.map_err(asking)?;
        }
        pipeline.all().await.map_err(asking)
    }
}

impl Pooled for ExclusivePool {
    type Bytes = Bytes;

    async fn echo(&self, payload: &[u8]) -> Result<Bytes, Failure> {
        let client = self.acquire().await;
        client.echo(payload).await.map_err(asking)
    }
}
