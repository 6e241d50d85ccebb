//! Rows that are loaded from contents of the caller's.

use std::io;

use arknet::mysql::{Conn, Done, ErrorKind, load, query};
use arknet::{Bytes, Outcome};

use super::support::{beside_all, config, connect};

const TABLE: &str =
    "CREATE TEMPORARY TABLE loaded (id INT PRIMARY KEY, name VARCHAR(4000)) ENGINE=InnoDB";
const LOAD: &str = "LOAD DATA LOCAL INFILE 'no file of that name' INTO TABLE loaded";

fn rows(
    numbers: impl Iterator<Item = u32> + Send + 'static,
) -> impl Iterator<Item = io::Result<Bytes>> + Send {
    numbers.map(|number| Ok(format!("{number}\t{}\n", "x".repeat(2_000)).into()))
}

async fn count(conn: &mut Conn) -> Option<i64> {
    let count = query("SELECT COUNT(*) FROM loaded");
    conn.run(count).await.unwrap()
}

#[test]
fn contents_become_rows() {
    beside_all(async |server, lanes| {
        server.sql("SET GLOBAL local_infile = ON");
        let config = config(server).local_infile(true);
        let mut conn = Conn::connect(config.clone(), lanes).await.unwrap();
        conn.run(query::<()>(TABLE)).await.unwrap();
        let done: Done = conn.run(load(LOAD, rows(0..3))).await.unwrap();
        assert_eq!(done.affected_rows, 3);
        assert!(done.info.starts_with("Records: 3"), "{}", done.info);
        // More than fits anywhere on the way.
        let done = conn.run(load(LOAD, rows(3..5_000))).await.unwrap();
        assert_eq!(done.affected_rows, 4_997);
        // In one piece, and in none.
        let large: Vec<u8> = (0..5_000)
            .flat_map(|number| format!("{}\t\n", number + 1_000_000).into_bytes())
            .collect();
        let done = conn.run(load(LOAD, [Ok(large.into())])).await.unwrap();
        assert_eq!(done.affected_rows, 5_000);
        let done = conn.run(load(LOAD, [])).await.unwrap();
        assert_eq!(done.affected_rows, 0);
        // What is there already is passed over, as LOCAL has it.
        let done = conn.run(load(LOAD, rows(0..4))).await.unwrap();
        assert_eq!((done.affected_rows, done.warnings), (0, 4));
        assert_eq!(count(&mut conn).await, Some(10_000));
        conn.close().await;

        let both = Conn::connect(config.compressed(true), lanes).await;
        assert_eq!(both.unwrap_err().kind(), ErrorKind::Config);
    });
}

#[test]
fn a_source_that_fails_ends_the_connection() {
    beside_all(async |server, lanes| {
        server.sql("SET GLOBAL local_infile = ON");
        let config = config(server).local_infile(true);
        let mut conn = Conn::connect(config.clone(), lanes).await.unwrap();
        conn.run(query::<()>(TABLE)).await.unwrap();
        let fails = rows(0..10).chain([Err(io::Error::other("the disk is gone"))]);
        let error = conn.run(load(LOAD, fails)).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.outcome()),
            (ErrorKind::Lost, Outcome::Unknown)
        );
        assert!(error.to_string().contains("the disk is gone"));
        let late = conn.run(query::<()>("DO 0")).await.unwrap_err();
        assert_eq!(late.outcome(), Outcome::NotSent);

        // A server that asks where nobody has anything gets nothing.
        let mut conn = Conn::connect(config, lanes).await.unwrap();
        conn.run(query::<()>(TABLE)).await.unwrap();
        let error = conn.run(query::<()>(LOAD)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Lost, "{error}");
    });
}

#[test]
fn it_is_not_even_offered_where_it_is_not_allowed() {
    beside_all(async |server, lanes| {
        let mut conn = connect(server, lanes).await;
        conn.run(query::<()>(TABLE)).await.unwrap();
        let error = conn.run(load(LOAD, rows(0..3))).await.unwrap_err();
        assert!(error.server().is_some(), "{error}");
        assert_eq!(count(&mut conn).await, Some(0));
        conn.close().await;
    });
}
