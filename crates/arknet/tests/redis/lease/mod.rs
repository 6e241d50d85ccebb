//! Leases: one connection for one user at a time.

mod cancellation;
mod deadlines;
mod handshake;
mod outcomes;
mod places;
mod scripted;
mod session;
mod transactions;

use std::future::Future;
use std::time::Duration;

use arknet::Lanes;
use arknet::pool::PoolConfig;
use arknet::redis::{Config, Lease, Pool, ResetPolicy, cmd};
use arknet_testkit::servers::redis::{RedisServer, Transport};

/// Longer than anything takes that goes well, on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs a story on a lane of its own.
fn tell<F: Future<Output = ()>>(story: impl FnOnce(Lanes) -> F) {
    let lanes = Lanes::sharded(1).unwrap();
    let told = lanes.block_on(async { tokio::time::timeout(PATIENCE, story(lanes.clone())).await });
    told.unwrap().expect("the story hangs");
    let ended = lanes.block_on(lanes.shutdown(PATIENCE)).unwrap();
    assert!(ended.finished, "{ended:?}");
}

fn config(server: &RedisServer) -> Config {
    Config::from_url(&server.url(Transport::Tcp)).unwrap()
}

/// A pool of one connection: what one user leaves, the next one gets.
fn pool_of_one(config: Config, policy: ResetPolicy, lanes: &Lanes) -> Pool {
    let one = PoolConfig::new().max_connections(1);
    Pool::with_policy(config, one, policy, lanes).unwrap()
}

async fn echo(lease: &mut Lease, text: &str) {
    let echoed: String = lease.run(cmd("ECHO").arg(text)).await.unwrap();
    assert_eq!(echoed, text, "a reply of somebody else");
}
