//! Statements with values, several in one flight, and rows of types of one's own.
//!
//! ```sh
//! cargo run -p arknet --example mysql_query -- mysql://app:secret@127.0.0.1/test
//! ```
#![allow(clippy::print_stdout, reason = "standard output belongs to programs")]

use std::error::Error;
use std::time::Duration;

use arknet::Lanes;
use arknet::mysql::{Config, Done, Pool, ResultSets, exec, query};
use arknet::pool::PoolConfig;

fn main() -> Result<(), Box<dyn Error>> {
    run(&std::env::args().nth(1).ok_or("needs the URL of a server")?)
}

pub(crate) fn run(url: &str) -> Result<(), Box<dyn Error>> {
    let lanes = Lanes::sharded(1)?;
    let pool = Pool::new(Config::from_url(url)?, PoolConfig::new(), &lanes)?;
    lanes.block_on(async {
        let mut lease = pool.acquire().await?;
        let table = "CREATE TEMPORARY TABLE players \
            (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, name VARCHAR(40), score INT)";
        lease.run(query::<()>(table)).await?;

        // Prepared once, executed three times, in one flight. Whatever is in a name stays a name.
        let players = [
            ("Ada", 90),
            ("Robert'); DROP TABLE players;--", 10),
            ("Grace", 80),
        ];
        let inserts: Vec<_> = players
            .iter()
            .map(|player| exec::<Done>("INSERT INTO players (name, score) VALUES (?, ?)", player))
            .collect();
        for inserted in lease.run(inserts).await {
            println!("player {}", inserted?.last_insert_id);
        }

        // Two more, each with a result of its own.
        let best = "SELECT id, name, score FROM players WHERE score >= ? ORDER BY score DESC";
        let (best, count) = lease
            .run((
                exec::<Vec<(u64, String, i32)>>(best, (80,)),
                query::<Option<u64>>("SELECT COUNT(*) FROM players"),
            ))
            .await;
        let best = best?;
        println!("{best:?} of {:?}", count?);
        assert_eq!(best.len(), 2);

        procedure(&pool).await?;
        drop(lease);
        pool.close(Duration::from_secs(5)).await;
        Ok(())
    })?
}

/// A stored procedure gives its result sets, then its OUT parameters, then what it has done.
async fn procedure(pool: &Pool) -> Result<(), Box<dyn Error>> {
    pool.run(query::<()>("DROP PROCEDURE IF EXISTS twice"))
        .await?;
    let create = "CREATE PROCEDURE twice (IN x INT, OUT y INT) BEGIN SELECT x; SET y = 2 * x; END";
    pool.run(query::<()>(create)).await?;
    let sets = exec::<ResultSets>("CALL twice(?, ?)", (21, None::<i32>));
    let sets = pool.run(sets).await?;
    for set in sets
        .results
        .iter()
        .filter(|set| set.done.is_out_parameters())
    {
        let y: Option<i64> = set
            .rows
            .first()
            .map(|row| row.as_row().read())
            .transpose()?;
        println!("twice 21 is {y:?}");
        assert_eq!(y, Some(42));
    }
    pool.run(query::<()>("DROP PROCEDURE twice")).await?;
    Ok(())
}
