//! What one user of a pool leaves behind, the next one does not see.

use arknet::mysql::{Lease, Pool, ResetPolicy, exec, query};
use arknet::pool::PoolConfig;

use super::support::{PATIENCE, beside_all, config, pool};

const POLICIES: [ResetPolicy; 3] = [
    ResetPolicy::Automatic,
    ResetPolicy::Always,
    ResetPolicy::Discard,
];

/// Everything that a session can be told apart by.
const STATE: &str = "SELECT @leak IS NULL, @@autocommit, @@sql_mode = @@global.sql_mode, DATABASE(), \
    @@character_set_client, @@character_set_results, @@collation_connection, IS_FREE_LOCK('leak')";

type State = (i64, i64, i64, Option<String>, String, String, String, i64);

async fn state(lease: &mut Lease) -> State {
    let state: Option<State> = lease.run(query(STATE)).await.unwrap();
    state.unwrap()
}

#[test]
fn a_session_is_as_new_for_the_next_user() {
    beside_all(async |server, lanes| {
        for policy in POLICIES {
            let bounds = PoolConfig::new()
                .max_connections(1)
                .acquire_timeout(PATIENCE);
            let pool = Pool::with_policy(config(server), bounds, policy, lanes).unwrap();
            let fresh = state(&mut pool.acquire().await.unwrap()).await;
            assert_eq!(fresh.4, "utf8mb4");
            for sql in [
                "SET @leak = 'secret'",
                "SET autocommit = 0",
                "SET SESSION sql_mode = ''",
                "SET NAMES latin1",
                "USE information_schema",
                "CREATE TEMPORARY TABLE leak (x INT)",
                "SELECT GET_LOCK('leak', 0)",
            ] {
                let mut lease = pool.acquire().await.unwrap();
                lease.run(query::<()>(sql)).await.unwrap();
                drop(lease);
                let mut lease = pool.acquire().await.unwrap();
                assert_eq!(state(&mut lease).await, fresh, "{policy:?}: {sql}");
                let table = query::<()>("SELECT * FROM leak");
                let error = lease.run(table).await.unwrap_err();
                assert_eq!(error.server().unwrap().code(), 1146);
            }
            assert!(pool.close(PATIENCE).await.finished);
        }
    });
}

#[test]
fn a_session_without_a_schema_has_none_again() {
    beside_all(async |server, lanes| {
        let bounds = PoolConfig::new()
            .max_connections(1)
            .acquire_timeout(PATIENCE);
        let pool = Pool::new(config(server).database(""), bounds, lanes).unwrap();
        let mut lease = pool.acquire().await.unwrap();
        lease.run(query::<()>("USE test")).await.unwrap();
        drop(lease);
        let mut lease = pool.acquire().await.unwrap();
        let schema: Option<Option<String>> = lease.run(query("SELECT DATABASE()")).await.unwrap();
        assert_eq!(schema, Some(None));
        drop(lease);
        assert!(pool.close(PATIENCE).await.finished);
    });
}

#[test]
fn what_is_stateless_needs_no_reset_and_keeps_its_statements() {
    beside_all(async |server, lanes| {
        let pool = pool(server, lanes, 1);
        for number in 0..10 {
            let mut lease = pool.acquire().await.unwrap();
            let double = exec::<Option<i64>>("SELECT ? * 2", (number,)).stateless();
            assert_eq!(lease.run(double).await.unwrap(), Some(number * 2));
        }
        let stats = pool.stats();
        assert_eq!((stats.resets, stats.prepared), (0, 1));
        for number in 0..10 {
            let double = exec::<Option<i64>>("SELECT ? * 2", (number,));
            assert_eq!(pool.run(double).await.unwrap(), Some(number * 2));
        }
        let stats = pool.stats();
        assert_eq!((stats.resets, stats.pool.connected), (10, 1));
        assert!(pool.close(PATIENCE).await.finished);
    });
}

#[test]
fn an_open_transaction_is_rolled_back_before_the_next_user() {
    beside_all(async |server, lanes| {
        let pool = pool(server, lanes, 2);
        let table = query::<()>("CREATE TABLE IF NOT EXISTS rolled (x INT)");
        pool.run(table).await.unwrap();
        let mut lease = pool.acquire().await.unwrap();
        // Also one that nobody said to be there.
        lease
            .run(query::<()>("START TRANSACTION").stateless())
            .await
            .unwrap();
        let insert = exec::<()>("INSERT INTO rolled VALUES (?)", (1,)).stateless();
        lease.run(insert).await.unwrap();
        assert!(lease.is_dirty());
        drop(lease);
        let rows: Vec<i64> = pool
            .run(query("SELECT x FROM rolled FOR UPDATE"))
            .await
            .unwrap();
        assert!(rows.is_empty());
        pool.run(query::<()>("DROP TABLE rolled")).await.unwrap();
        assert!(pool.close(PATIENCE).await.finished);
    });
}
