//! Rows that are taken as they come.

use arknet::mysql::{Done, FromRow, exec, query};

use super::support::{beside_all, connect, pool};

/// So many rows as a table without one.
const MANY: &str = "SELECT seq.n, CONCAT('row ', seq.n) FROM ( \
    SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d AS n FROM \
    (SELECT 0 d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION \
     SELECT 5 UNION SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9) a, \
    (SELECT 0 d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION \
     SELECT 5 UNION SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9) b, \
    (SELECT 0 d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION \
     SELECT 5 UNION SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9) c, \
    (SELECT 0 d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION \
     SELECT 5 UNION SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9) e, \
    (SELECT 0 d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION \
     SELECT 5 UNION SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9) f) seq";
const ROWS: u64 = 100_000;

#[test]
fn rows_come_one_by_one_and_all_of_them() {
    beside_all(async |server, lanes| {
        let mut conn = connect(server, lanes).await;
        let (mut count, mut sum) = (0, 0);
        let mut rows = conn.stream(query::<()>(MANY));
        let plan = <(u64, &str)>::plan(rows.columns().await.unwrap()).unwrap();
        while let Some(row) = rows.next().await.unwrap() {
            let (number, text): (u64, &str) = row.decode(&plan).unwrap();
            assert_eq!(text.strip_prefix("row ").unwrap(), number.to_string());
            count += 1;
            sum += number;
        }
        assert_eq!((count, sum), (ROWS, ROWS * (ROWS - 1) / 2));
        assert!(rows.next().await.unwrap().is_none());
        assert!(!rows.next_result().await.unwrap());
        assert_eq!(rows.done().unwrap().warnings, 0);
        drop(rows);

        let (mut count, mut sum) = (0, 0);
        let mut rows = conn.stream(exec::<()>(MANY, ()));
        let mut plan = None;
        rows.for_each(|row| {
            let plan = match &plan {
                Some(plan) => plan,
                None => plan.insert(<(u64, &str)>::plan(row.columns())?),
            };
            let (number, _): (u64, &str) = row.decode(plan)?;
            count += 1;
            sum += number;
            Ok(())
        })
        .await
        .unwrap();
        drop(rows);
        assert_eq!((count, sum), (ROWS, ROWS * (ROWS - 1) / 2));
        conn.close().await;
    });
}

#[test]
fn rows_are_read_as_a_type() {
    beside_all(async |server, lanes| {
        let mut conn = connect(server, lanes).await;
        let mut rows = conn.stream(exec::<()>("SELECT ?, 'x' UNION ALL SELECT NULL, 'y'", (1,)));
        let first = rows.next_as::<(i64, String)>().await.unwrap();
        assert_eq!(first, Some((1, "x".into())));
        rows.next_as::<(i64, String)>().await.unwrap_err();
        let end = rows.next_as::<(i64, String)>().await.unwrap();
        assert_eq!(end, None);
        let done = rows.finish().await.unwrap();
        assert_eq!(done.warnings, 0);
        conn.close().await;
    });
}

#[test]
fn several_results_are_streamed_in_turn() {
    beside_all(async |server, lanes| {
        let several = super::support::config(server).multi_statements(true);
        let mut conn = arknet::mysql::Conn::connect(several, lanes).await.unwrap();
        let mut rows = conn.stream(query::<()>("SELECT 1; DO 0; SELECT 3, 4"));
        assert_eq!(rows.next_as::<i64>().await.unwrap(), Some(1));
        assert_eq!(rows.next_as::<i64>().await.unwrap(), None);
        assert!(rows.next_result().await.unwrap());
        assert!(rows.columns().await.unwrap().is_empty());
        assert!(rows.next().await.unwrap().is_none());
        assert!(rows.next_result().await.unwrap());
        assert_eq!(rows.next_as::<(i64, i64)>().await.unwrap(), Some((3, 4)));
        assert!(!rows.next_result().await.unwrap());
        drop(rows);
        let error = conn
            .stream(query::<()>("SELECT * FROM nowhere"))
            .next()
            .await
            .map(drop)
            .unwrap_err();
        assert_eq!(error.server().unwrap().code(), 1146);
        conn.close().await;
    });
}

#[test]
fn a_stream_that_is_dropped_leaves_a_connection_that_works() {
    beside_all(async |server, lanes| {
        let mut conn = connect(server, lanes).await;
        for taken in [0, 1, 10] {
            let mut rows = conn.stream(query::<()>(MANY));
            for _ in 0..taken {
                assert!(rows.next().await.unwrap().is_some());
            }
            drop(rows);
            let mine: Option<String> = conn.run(query("SELECT 'mine'")).await.unwrap();
            assert_eq!(mine.as_deref(), Some("mine"));
        }
        conn.close().await;

        let pool = pool(server, lanes, 1);
        for taken in [0, 1, 10] {
            let mut lease = pool.acquire().await.unwrap();
            let mut rows = lease.stream(exec::<Done>(MANY, ()));
            for _ in 0..taken {
                assert!(rows.next().await.unwrap().is_some());
            }
            drop(rows);
            drop(lease);
            let mut lease = pool.acquire().await.unwrap();
            let mine: Option<String> = lease.run(query("SELECT 'mine'")).await.unwrap();
            assert_eq!(mine.as_deref(), Some("mine"));
        }
        assert!(pool.close(super::support::PATIENCE).await.finished);
    });
}
