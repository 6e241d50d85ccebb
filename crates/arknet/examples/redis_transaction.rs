//! Moving money between two accounts: keys are watched, read, and changed together, again and again until nobody else
//! has changed them meanwhile.
//!
//! ```sh
//! cargo run -p arknet --example redis_transaction -- redis://127.0.0.1:6379
//! ```
//!
//! Watched keys belong to a connection, so this takes a lease: a connection of one's own until it is dropped.
#![allow(clippy::print_stdout, reason = "standard output belongs to programs")]

use std::error::Error;

use arknet::Lanes;
use arknet::pool::PoolConfig;
use arknet::redis::commands::{keys, strings};
use arknet::redis::{Commit, Config, Pool, pipeline};
use futures_util::future::try_join_all;

/// Who loses so often has too many rivals: a script would serve them better.
const ATTEMPTS: usize = 1_000;

fn main() -> Result<(), Box<dyn Error>> {
    run(&std::env::args().nth(1).ok_or("needs the URL of a server")?)
}

pub(crate) fn run(url: &str) -> Result<(), Box<dyn Error>> {
    let lanes = Lanes::sharded(1)?;
    let config = PoolConfig::new().max_connections(4);
    let pool = Pool::new(Config::from_url(url)?, config, &lanes)?;
    lanes.block_on(async {
        let opening = strings::mset([("account:a", 1_000), ("account:b", 1_000)]);
        pool.run(opening).await?;

        // Eight who pay at the same time, a hundred in all.
        let payers = (1..=8).map(|payer| pay_often(&pool, payer));
        let conflicts: usize = try_join_all(payers).await?.into_iter().sum();

        let accounts = ["account:a", "account:b"];
        let balances: [i64; 2] = pool.run(strings::mget(accounts)).await?;
        println!("{balances:?} after {conflicts} conflicts");
        assert_eq!(balances, [1_000 - 360, 1_000 + 360]);
        pool.run(keys::del(accounts)).await?;
        Ok(())
    })?
}

/// Pays this much, ten times; says how often somebody was quicker.
async fn pay_often(pool: &Pool, amount: i64) -> Result<usize, Box<dyn Error>> {
    let mut conflicts = 0;
    for _ in 0..10 {
        conflicts += pay(pool, amount).await?;
    }
    Ok(conflicts)
}

async fn pay(pool: &Pool, amount: i64) -> Result<usize, Box<dyn Error>> {
    let accounts = ["account:a", "account:b"];
    let mut lease = pool.acquire().await?;
    for conflicts in 0..ATTEMPTS {
        let mut transaction = lease.transaction();
        transaction.watch(accounts).await?;
        let [from, to]: [i64; 2] = transaction.run(strings::mget(accounts)).await?;
        let change = pipeline()
            .add(strings::set("account:a", from - amount))
            .add(strings::set("account:b", to + amount));
        if let Commit::Applied((debit, credit)) = transaction.commit(change).await? {
            debit.and(credit)?;
            return Ok(conflicts);
        }
    }
    Err("everybody else was quicker, every time".into())
}
