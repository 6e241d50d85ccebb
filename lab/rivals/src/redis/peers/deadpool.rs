//! `deadpool-redis`: multiplexed connections of `redis` behind a deadpool.

use ::deadpool::managed::{self, Manager, Metrics, Pool, RecycleResult};
use redis::aio::MultiplexedConnection;
use redis::{Client, RedisError, cmd};

use super::super::drive::Pooled;
use super::super::load::Load;
use super::{asking, connecting, leasing};
use crate::failure::Failure;
use crate::sample::Sample;

/// Runs the load as it is by default: UNWATCH and PING at each lease.
pub(crate) fn checked(load: &Load) -> Result<Sample, Failure> {
    run(load, deadpool_redis::Manager::new)
}

/// The same without UNWATCH and PING. deadpool-redis has no switch for that, so that this is its
/// pool with the least manager that can be.
pub(crate) fn unchecked(load: &Load) -> Result<Sample, Failure> {
    run(load, |url| Client::open(url).map(Unchecked))
}

fn run<M>(
    load: &Load,
    manager: impl FnOnce(String) -> Result<M, RedisError>,
) -> Result<Sample, Failure>
where
    M: Manager<Type = MultiplexedConnection, Error = RedisError> + 'static,
{
    super::pooled(load, async |url, connections| {
        let manager = manager(url).map_err(connecting)?;
        let pool = Pool::<M>::builder(manager).max_size(connections).build();
        pool.map_err(connecting)
    })
}

struct Unchecked(Client);

impl Manager for Unchecked {
    type Type = MultiplexedConnection;
    type Error = RedisError;

    async fn create(&self) -> Result<MultiplexedConnection, RedisError> {
        self.0.get_multiplexed_async_connection().await
    }

    async fn recycle(
        &self,
        _: &mut MultiplexedConnection,
        _: &Metrics,
    ) -> RecycleResult<RedisError> {
        Ok(())
    }
}

impl<M> Pooled for Pool<M>
where
    M: Manager<Type = MultiplexedConnection, Error = RedisError> + 'static,
    managed::Object<M>: Send,
{
    type Bytes = Vec<u8>;

    async fn echo(&self, payload: &[u8]) -> Result<Vec<u8>, Failure> {
        let mut connection = self.get().await.map_err(leasing)?;
        let reply = cmd("ECHO").arg(payload).query_async(&mut *connection).await;
        reply.map_err(asking)
    }
}
