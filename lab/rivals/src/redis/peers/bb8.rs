//! `bb8-redis`: multiplexed connections of `redis` behind a bb8 pool.

use ::bb8::Pool;
use bb8_redis::RedisConnectionManager;
use redis::cmd;

use super::super::drive::Pooled;
use super::super::load::Load;
use super::{asking, connecting, leasing};
use crate::failure::Failure;
use crate::sample::Sample;

/// Runs the load as it is by default: a PING at each lease.
pub(crate) fn checked(load: &Load) -> Result<Sample, Failure> {
    run(load, true)
}

/// The same without the PING.
pub(crate) fn unchecked(load: &Load) -> Result<Sample, Failure> {
    run(load, false)
}

fn run(load: &Load, checked: bool) -> Result<Sample, Failure> {
    super::pooled(load, async |url, connections| {
        let manager = RedisConnectionManager::new(url).map_err(connecting)?;
        let pool = Pool::builder()
            .max_size(u32::try_from(connections).unwrap_or(u32::MAX))
            .test_on_check_out(checked);
        pool.build(manager).await.map_err(connecting)
    })
}

impl Pooled for Pool<RedisConnectionManager> {
    type Bytes = Vec<u8>;

    async fn echo(&self, payload: &[u8]) -> Result<Vec<u8>, Failure> {
        let mut connection = self.get().await.map_err(leasing)?;
        let reply = cmd("ECHO").arg(payload).query_async(&mut *connection).await;
        reply.map_err(asking)
    }
}
