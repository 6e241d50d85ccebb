//! Pipelines that are dropped on the way leave no reply for anybody else.

use arknet::pool::PoolConfig;
use arknet::redis::{Client, Command, Pool, cmd, pipeline};
use arknet_testkit::need;
use arknet_testkit::proxy::{Direction, FaultProxy, Plan};
use arknet_testkit::servers::redis::{Options, RedisServer};

use super::poll_and_drop;
use crate::support::{config, on_a_lane};

const ROUNDS: u64 = 300;

fn echo(text: &str) -> Command<String> {
    cmd("ECHO").arg(text)
}

#[test]
fn a_pipeline_of_a_hundred_may_be_dropped_at_any_point() {
    let server = need!(RedisServer::start(Options::default()));
    let proxy = FaultProxy::start(server.addr()).unwrap();
    // The replies come in pieces.
    proxy.set(Direction::ToClient, Plan::pass().throttled(4 << 20));
    on_a_lane(async |lanes| {
        let client = Client::connect(config(proxy.addr()), lanes).await.unwrap();
        let one = PoolConfig::new().max_connections(1);
        let pool = Pool::new(config(proxy.addr()), one, lanes).unwrap();
        for round in 0..ROUNDS {
            let hundred = || pipeline().extend((0..100).map(|_| echo("astray")));
            poll_and_drop(client.run(hundred()), round % 17).await;
            let said = format!("own {round}");
            assert_eq!(client.run(echo(&said)).await.unwrap(), said);

            let mut lease = pool.acquire().await.unwrap();
            poll_and_drop(lease.run(hundred()), round % 17).await;
            if round % 2 == 0 {
                assert_eq!(lease.run(echo(&said)).await.unwrap(), said);
            }
            drop(lease);
            let mut next = pool.acquire().await.unwrap();
            assert_eq!(next.run(echo(&said)).await.unwrap(), said);
        }
        assert_eq!(client.stats().connects, 1);
    });
}
