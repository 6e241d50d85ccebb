//! Statements that nobody waits for any more, and what the server makes of them.

use std::time::{Duration, Instant};

use arknet::Outcome;
use arknet::mysql::{Pool, Query, query};
use arknet::pool::PoolConfig;
use arknet_testkit::servers::mysql::MySqlServer;

use super::support::{PATIENCE, beside_all, config};

/// Longer than any of these tests, and told apart by a comment.
fn long(name: &str) -> Query<'static, ()> {
    query(format!("SELECT SLEEP(300) /* {name} */"))
}

fn runs(server: &MySqlServer, name: &str) -> bool {
    let processes = server.processes();
    processes.iter().any(|process| {
        process
            .statement
            .as_deref()
            .is_some_and(|info| info.contains(name))
    })
}

async fn until(what: &str, mut so: impl FnMut() -> bool) {
    let late = Instant::now() + PATIENCE;
    while !so() {
        assert!(Instant::now() < late, "waited in vain: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[test]
fn a_statement_is_ended_when_its_deadline_passes_or_its_future_is_dropped() {
    beside_all(async |server, lanes| {
        let bounds = PoolConfig::new()
            .max_connections(2)
            .acquire_timeout(PATIENCE);
        let pool = Pool::new(config(server).kill_abandoned(true), bounds, lanes).unwrap();
        let mut lease = pool.acquire().await.unwrap();
        lease.set_request_timeout(Some(Duration::from_millis(50)));
        let error = lease.run(long("late")).await.unwrap_err();
        assert!(error.is_timeout());
        assert_eq!(error.outcome(), Outcome::Unknown);
        let error = lease.run(query::<()>("DO 0")).await.unwrap_err();
        assert_eq!(
            error.outcome(),
            Outcome::NotSent,
            "it may be ended late: {error}"
        );
        drop(lease);
        until("the late one ends", || !runs(server, "late")).await;

        let mut lease = pool.acquire().await.unwrap();
        {
            let run = lease.run(long("dropped"));
            futures_util::pin_mut!(run);
            while !runs(server, "dropped") {
                assert!(futures_util::poll!(run.as_mut()).is_pending());
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
        drop(lease);
        until("the dropped one ends", || !runs(server, "dropped")).await;
        until("both are counted", || pool.stats().killed == 2).await;
        let one: Option<i64> = pool.run(query("SELECT 1")).await.unwrap();
        assert_eq!(one, Some(1));
        assert!(pool.close(PATIENCE).await.finished);
    });
}
