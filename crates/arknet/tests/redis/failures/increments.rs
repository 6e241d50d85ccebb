//! Transactions beside a shared connection that is in full use.

use std::cell::Cell;

use arknet::pool::PoolConfig;
use arknet::redis::commands::strings::{get, incr, set};
use arknet::redis::{Client, Commit, Error, Lease, Pool};
use arknet_testkit::need;
use arknet_testkit::servers::redis::{Options, RedisServer};
use futures_util::future::{join, join_all};

use crate::support::{config, on_a_lane};

const EACH: u64 = 500;

async fn add_one(lease: &mut Lease) -> Result<u32, Error> {
    let mut conflicts = 0;
    loop {
        let mut transaction = lease.transaction();
        transaction.watch("counter").await?;
        let now: Option<u64> = transaction.run(get("counter")).await?;
        let next = set("counter", now.unwrap_or(0) + 1);
        match transaction.commit(next).await? {
            Commit::Applied(done) => return done.map(|()| conflicts),
            Commit::Conflict => conflicts += 1,
        }
    }
}

#[test]
fn two_who_add_five_hundred_times_lose_nothing_while_others_hammer() {
    let server = need!(RedisServer::start(Options::default()));
    on_a_lane(async |lanes| {
        let client = Client::connect(config(server.addr()), lanes).await.unwrap();
        let pool = Pool::new(config(server.addr()), PoolConfig::new(), lanes).unwrap();
        let adding = Cell::new(2);
        let add = async || {
            let mut conflicts = 0;
            for _ in 0..EACH {
                let mut lease = pool.acquire().await.unwrap();
                conflicts += add_one(&mut lease).await.unwrap();
            }
            adding.set(adding.get() - 1);
            conflicts
        };
        let hammer = async |number: u64| {
            let mut asked = 0_u64;
            while adding.get() > 0 {
                client
                    .run(incr(format!("hammered:{number}")))
                    .await
                    .unwrap();
                asked += 1;
            }
            assert_eq!(
                client
                    .run(get::<u64>(format!("hammered:{number}")))
                    .await
                    .unwrap(),
                asked
            );
            asked
        };
        let both = join_all([add(), add()]);
        let (conflicts, hammered) = join(both, join_all((0..16).map(hammer))).await;
        println!(
            "{conflicts:?} conflicts, hammered {} times",
            hammered.iter().sum::<u64>()
        );
        assert_eq!(client.run(get::<u64>("counter")).await.unwrap(), 2 * EACH);
    });
}
