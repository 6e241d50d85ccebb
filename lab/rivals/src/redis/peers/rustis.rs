//! `rustis`: its client, and its pool of exclusive clients on bb8.

use bb8::Pool;
use rustis::client::{BatchPreparedCommand as _, Client, PooledClientManager};
use rustis::commands::{ConnectionCommands as _, StringCommands as _};
use rustis::resp::{BulkString, RefBulkString};

use super::super::drive::{Pooled, Shared};
use super::super::load::Load;
use super::{asking, connecting, leasing};
use crate::failure::Failure;
use crate::sample::Sample;

/// Runs the load on one client.
pub(crate) fn shared(load: &Load) -> Result<Sample, Failure> {
    super::shared(load, async |url| {
        Client::connect(url).await.map_err(connecting)
    })
}

/// Runs the load on its pool as it is by default: a PING at each lease.
pub(crate) fn pooled(load: &Load) -> Result<Sample, Failure> {
    pool(load, true)
}

/// The same without the PING.
pub(crate) fn pooled_unchecked(load: &Load) -> Result<Sample, Failure> {
    pool(load, false)
}

fn pool(load: &Load, checked: bool) -> Result<Sample, Failure> {
    super::pooled(load, async |url, connections| {
        let manager = PooledClientManager::new(url).map_err(connecting)?;
        let pool = Pool::builder()
            .max_size(u32::try_from(connections).unwrap_or(u32::MAX))
            .test_on_check_out(checked);
        pool.build(manager).await.map_err(connecting)
    })
}

impl Shared for Client {
    type Bytes = Vec<u8>;

    async fn get(&self, key: &str) -> Result<String, Failure> {
        rustis::commands::StringCommands::get(self, key)
            .await
            .map_err(asking)
    }

    async fn get_bytes(&self, key: &str) -> Result<Vec<u8>, Failure> {
        let reply = rustis::commands::StringCommands::get::<BulkString>(self, key).await;
        reply.map(Vec::from).map_err(asking)
    }

    async fn pipeline(&self, keys: &[String]) -> Result<Vec<String>, Failure> {
        let mut pipeline = self.create_pipeline();
        pipeline.reserve(keys.len());
        for key in keys {
            pipeline.get::<()>(key).queue();
        }
        pipeline.execute().await.map_err(asking)
    }
}

impl Pooled for Pool<PooledClientManager> {
    type Bytes = Vec<u8>;

    async fn echo(&self, payload: &[u8]) -> Result<Vec<u8>, Failure> {
        let client = self.get().await.map_err(leasing)?;
        let reply = client.echo::<BulkString>(RefBulkString::new(payload)).await;
        reply.map(Vec::from).map_err(asking)
    }
}
