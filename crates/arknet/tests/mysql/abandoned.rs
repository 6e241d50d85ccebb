//! A request that nobody waits for any more is carried out all the same, and what it does is not forgotten.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use arknet::mysql::{Error, exec, query};

use super::support::{PATIENCE, beside_all, connect, pool};

/// Has it leave, and waits for no answer.
async fn abandon(future: impl Future) {
    let mut future = pin!(future);
    poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx).is_ready())).await;
}

#[test]
fn a_stream_whose_time_is_up_leaves_no_state_to_the_next_user() {
    beside_all(async |server, lanes| {
        let pool = pool(server, lanes, 1);
        for _ in 0..5 {
            let mut lease = pool.acquire().await.unwrap();
            lease.set_request_timeout(Some(Duration::from_millis(10)));
            let mut rows = lease.stream(query::<()>("SELECT @leak := 'secret', SLEEP(0.05)"));
            assert!(rows.next().await.is_err());
            drop(rows);
            drop(lease);
            let leak: Option<Option<String>> = pool.run(query("SELECT @leak")).await.unwrap();
            assert_eq!(leak, Some(None));
        }
        assert!(pool.close(PATIENCE).await.finished);
    });
}

#[test]
fn a_change_of_schema_that_is_abandoned_does_not_lead_the_next_user_there() {
    beside_all(async |server, lanes| {
        let pool = pool(server, lanes, 1);
        for _ in 0..5 {
            let mut lease = pool.acquire().await.unwrap();
            abandon(lease.run(query::<()>("USE information_schema"))).await;
            drop(lease);
            let schema: Option<String> = pool.run(query("SELECT DATABASE()")).await.unwrap();
            assert_eq!(schema.as_deref(), Some("test"));
        }
        assert!(pool.close(PATIENCE).await.finished);
    });
}

#[test]
fn a_transaction_that_an_abandoned_statement_has_ended_is_over() {
    beside_all(async |server, lanes| {
        let mut conn = connect(server, lanes).await;
        let mut transaction = conn.begin().await.unwrap();
        abandon(transaction.run(query::<()>("ROLLBACK"))).await;
        let committed = transaction.commit().await;
        assert!(
            matches!(committed, Err(Error::NoTransaction)),
            "{committed:?}"
        );

        let mut transaction = conn.begin().await.unwrap();
        abandon(transaction.run(query::<()>("ROLLBACK"))).await;
        let run = transaction.run(query::<()>("SET @mine = 1")).await;
        assert!(matches!(run, Err(Error::NoTransaction)), "{run:?}");
        drop(transaction);
        conn.close().await;
    });
}

#[test]
fn a_statement_that_is_kept_is_that_of_the_schema_in_use() {
    beside_all(async |server, lanes| {
        let mut conn = connect(server, lanes).await;
        let create = "CREATE TEMPORARY TABLE SCHEMATA (SCHEMA_NAME TEXT)";
        conn.run(query::<()>(create)).await.unwrap();
        let count = || exec::<Option<i64>>("SELECT COUNT(*) FROM SCHEMATA", ());
        assert_eq!(conn.run(count()).await.unwrap(), Some(0));
        conn.run(query::<()>("USE information_schema"))
            .await
            .unwrap();
        assert!(conn.run(count()).await.unwrap() > Some(0));
        conn.close().await;
    });
}

#[test]
fn rows_that_are_leaked_end_the_connection_and_nobody_gets_them() {
    beside_all(async |server, lanes| {
        let pool = pool(server, lanes, 1);
        let mut lease = pool.acquire().await.unwrap();
        let mut rows = lease.stream(query::<()>("SELECT 'not yours' UNION SELECT 'nor this'"));
        abandon(rows.next()).await;
        std::mem::forget(rows);
        drop(lease);
        let mine: Option<String> = pool.run(query("SELECT 'mine'")).await.unwrap();
        assert_eq!(mine.as_deref(), Some("mine"));
        assert!(pool.close(PATIENCE).await.finished);
    });
}
