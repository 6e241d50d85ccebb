//! Moving money between two accounts: both change, or neither does.
//!
//! ```sh
//! cargo run -p arknet --example mysql_transaction -- mysql://app:secret@127.0.0.1/test
//! ```
#![allow(clippy::print_stdout, reason = "standard output belongs to programs")]

use std::error::Error;
use std::time::Duration;

use arknet::mysql::{Config, Done, Lease, Pool, exec, query};
use arknet::pool::PoolConfig;
use arknet::{Lanes, Outcome};

fn main() -> Result<(), Box<dyn Error>> {
    run(&std::env::args().nth(1).ok_or("needs the URL of a server")?)
}

pub(crate) fn run(url: &str) -> Result<(), Box<dyn Error>> {
    let lanes = Lanes::sharded(1)?;
    let pool = Pool::new(Config::from_url(url)?, PoolConfig::new(), &lanes)?;
    lanes.block_on(async {
        let mut lease = pool.acquire().await?;
        // It is gone with the session.
        let table =
            "CREATE TEMPORARY TABLE accounts (name VARCHAR(20) PRIMARY KEY, money INT UNSIGNED)";
        lease.run(query::<()>(table)).await?;
        let insert = "INSERT INTO accounts VALUES (?, ?), (?, ?)";
        lease
            .run(exec::<Done>(insert, ("ada", 10, "bob", 0)))
            .await?;

        transfer(&mut lease, "ada", "bob", 7).await?;
        // It has not so much left: the second one is undone.
        let refused = transfer(&mut lease, "ada", "bob", 7).await;
        println!(
            "the second transfer: {:?}",
            refused.map_err(|error| error.to_string())
        );

        let accounts =
            query::<Vec<(String, u32)>>("SELECT name, money FROM accounts ORDER BY name");
        let accounts = lease.run(accounts).await?;
        println!("{accounts:?}");
        assert_eq!(accounts, [("ada".to_owned(), 3), ("bob".to_owned(), 7)]);
        drop(lease);
        pool.close(Duration::from_secs(5)).await;
        Ok(())
    })?
}

async fn transfer(
    lease: &mut Lease,
    from: &str,
    to: &str,
    amount: u32,
) -> Result<(), Box<dyn Error>> {
    let mut transaction = lease.begin().await?;
    let add = "UPDATE accounts SET money = money + ? WHERE name = ?";
    transaction.run(exec::<Done>(add, (amount, to))).await?;
    let take = "UPDATE accounts SET money = money - ? WHERE name = ? AND money >= ?";
    let taken = transaction
        .run(exec::<Done>(take, (amount, from, amount)))
        .await?;
    if taken.affected_rows == 0 {
        // Dropped on the way out, the transaction is rolled back.
        return Err("not enough money".into());
    }
    if let Err(error) = transaction.commit().await {
        // Whether it was committed is then for the application to find out.
        if error.outcome() == Outcome::Unknown {
            println!("it may have been committed: {error}");
        }
        return Err(error.into());
    }
    Ok(())
}
