//! Statements of every kind, and what their answers are read as.

use arknet::Outcome;
use arknet::mysql::{
    Conn, Done, Error, ErrorKind, ResultSet, ResultSets, Statement, Value, exec, formatted, ping,
    prepare, query,
};

use arknet_testkit::servers::mysql::{MySqlServer, Options, Product};

use super::support::{beside_all, config, connect, on_a_lane};

async fn set_up(conn: &mut Conn, statements: &[&str]) {
    for sql in statements {
        conn.run(query::<()>(*sql)).await.unwrap();
    }
}

#[test]
fn a_query_gives_rows_of_its_type() {
    beside_all(async |server, lanes| {
        let mut conn = connect(server, lanes).await;
        let rows = conn
            .run(query::<Vec<(i64, String, Option<f64>)>>(
                "SELECT 1, 'one', 1.5e0 UNION ALL SELECT 2, 'zwei', NULL",
            ))
            .await
            .unwrap();
        let expected = [(1, "one".into(), Some(1.5)), (2, "zwei".into(), None)];
        assert_eq!(rows, expected);
        let one: Option<i64> = conn.run(query("SELECT 7")).await.unwrap();
        assert_eq!(one, Some(7));
        let none: Option<i64> = conn
            .run(query("SELECT 7 FROM DUAL WHERE FALSE"))
            .await
            .unwrap();
        assert_eq!(none, None);
        let all: Vec<Vec<Value>> = conn.run(query("SELECT 7, 'x'")).await.unwrap();
        assert_eq!(all, [[Value::Int(7), Value::Text("x".into())]]);
        conn.run(ping()).await.unwrap();
        conn.close().await;
    });
}

#[test]
fn a_prepared_statement_takes_values_as_they_are() {
    beside_all(async |server, lanes| {
        let mut conn = connect(server, lanes).await;
        let nasty = "Robert'); DROP TABLE students;-- \\ ? \0 ☃";
        type Back = Option<(i64, String, Option<Vec<u8>>, u64)>;
        for round in 0..3 {
            let values = (-round, nasty, None::<Vec<u8>>, u64::MAX);
            let back: Back = conn.run(exec("SELECT ?, ?, ?, ?", values)).await.unwrap();
            assert_eq!(back, Some((-round, nasty.into(), None, u64::MAX)));
        }
        let back: Option<String> = conn.run(formatted("SELECT ?", (nasty,))).await.unwrap();
        assert_eq!(back.as_deref(), Some(nasty));
        conn.close().await;
    });
}

#[test]
fn what_a_statement_has_done_is_told() {
    beside_all(async |server, lanes| {
        let mut conn = connect(server, lanes).await;
        let table = "CREATE TEMPORARY TABLE done (id INT AUTO_INCREMENT PRIMARY KEY, x TINYINT)";
        set_up(&mut conn, &[table, "SET sql_mode = ''"]).await;
        let insert = "INSERT INTO done (x) VALUES (?), (?)";
        let done: Done = conn.run(exec(insert, (1, 2))).await.unwrap();
        assert_eq!((done.affected_rows, done.last_insert_id), (2, 1));
        let done: Done = conn.run(exec(insert, (3, 1_000))).await.unwrap();
        assert_eq!(
            (done.affected_rows, done.last_insert_id, done.warnings),
            (2, 3, 1)
        );
        let update = query::<Done>("UPDATE done SET x = 9 WHERE id < 3");
        let done = conn.run(update).await.unwrap();
        assert_eq!(done.affected_rows, 2);
        assert!(done.info.starts_with("Rows matched: 2"), "{}", done.info);
        conn.close().await;
    });
}

#[test]
fn several_leave_together_and_each_has_its_own_result() {
    beside_all(async |server, lanes| {
        let mut conn = connect(server, lanes).await;
        let (first, wrong, second, third) = conn
            .run((
                query::<Option<i64>>("SELECT 1"),
                query::<()>("SELECT * FROM nowhere_to_be_found"),
                exec::<Option<i64>>("SELECT ? + 1", (1,)),
                exec::<Option<String>>("SELECT CONCAT(?, ?)", ("a", "b")),
            ))
            .await;
        assert_eq!(first.unwrap(), Some(1));
        let wrong = wrong.unwrap_err();
        assert_eq!(wrong.server().unwrap().code(), 1146, "{wrong}");
        assert_eq!(wrong.server().unwrap().state(), "42S02");
        assert_eq!(
            (wrong.kind(), wrong.outcome()),
            (ErrorKind::Server, Outcome::Replied)
        );
        assert_eq!(second.unwrap(), Some(2));
        assert_eq!(third.unwrap().as_deref(), Some("ab"));

        let many: Vec<_> = (0..100)
            .map(|number| exec::<Option<i64>>("SELECT ? * 2", (number,)))
            .collect();
        let doubled = conn.run(many).await;
        for (number, doubled) in (0..).zip(doubled) {
            assert_eq!(doubled.unwrap(), Some(number * 2));
        }
        let none = conn.run(Vec::<arknet::mysql::Query<'_, ()>>::new()).await;
        assert!(none.is_empty());
        conn.close().await;
    });
}

#[test]
fn a_failed_preparation_harms_nothing_around_it() {
    beside_all(async |server, lanes| {
        let mut conn = connect(server, lanes).await;
        for _ in 0..2 {
            let (before, wrong, behind) = conn
                .run((
                    exec::<Option<i64>>("SELECT ?", (1,)),
                    exec::<Option<i64>>("SELECT ? FROM nowhere_to_be_found", (2,)),
                    exec::<Option<i64>>("SELECT ?", (3,)),
                ))
                .await;
            assert_eq!(before.unwrap(), Some(1));
            assert_eq!(wrong.unwrap_err().server().unwrap().code(), 1146);
            assert_eq!(behind.unwrap(), Some(3));
        }
        conn.close().await;
        // Also as the first of a session, where both leave in one flight.
        let mut conn = connect(server, lanes).await;
        let wrong = exec::<Option<i64>>("SELECT ? FROM nowhere_to_be_found", (2,));
        let error = conn.run(wrong).await.unwrap_err();
        assert_eq!(error.server().unwrap().code(), 1146);
        let right: Option<i64> = conn.run(exec("SELECT ?", (3,))).await.unwrap();
        assert_eq!(right, Some(3));
        conn.close().await;
    });
}

#[test]
fn results_of_several_statements_are_read_one_after_the_other() {
    beside_all(async |server, lanes| {
        let several = config(server).multi_statements(true);
        let mut conn = Conn::connect(several, lanes).await.unwrap();
        let (ones, done, twos): (Vec<i64>, Done, Option<String>) = conn
            .run(query("SELECT 1 UNION SELECT 11; DO 0; SELECT 'two'"))
            .await
            .unwrap();
        assert_eq!((ones, twos.as_deref()), (vec![1, 11], Some("two")));
        assert_eq!(done.affected_rows, 0);
        let few = conn
            .run(query::<(Vec<i64>, Vec<i64>)>("SELECT 1"))
            .await
            .unwrap_err();
        let Error::Results { expected, found } = few else {
            panic!("{few}");
        };
        assert_eq!((expected, found), (2, 1));
        let error = conn
            .run(query::<ResultSets>(
                "SELECT 1; SELECT * FROM nowhere; SELECT 3",
            ))
            .await
            .unwrap_err();
        assert_eq!(error.server().unwrap().code(), 1146);
        let sets: ResultSets = conn.run(query("SELECT 1; SELECT 3")).await.unwrap();
        let values: Vec<_> = sets
            .results
            .iter()
            .map(|set| set.rows[0].values().unwrap())
            .collect();
        assert_eq!(values, [[Value::Int(1)], [Value::Int(3)]]);
        conn.close().await;

        // Unless they were allowed, there is one statement in a query.
        let mut conn = connect(server, lanes).await;
        let error = conn.run(query::<()>("DO 0; DO 1")).await.unwrap_err();
        assert_eq!(error.server().unwrap().code(), 1064);
        conn.close().await;
    });
}

#[test]
fn a_procedure_gives_its_results_and_its_parameters() {
    beside_all(async |server, lanes| {
        let mut conn = connect(server, lanes).await;
        set_up(
            &mut conn,
            &[
                "DROP PROCEDURE IF EXISTS pr",
                "CREATE PROCEDURE pr (IN a INT, OUT b INT, INOUT d VARCHAR(9)) BEGIN \
                 SELECT a, 'rs1'; SELECT a + 1, a + 2; SET b = a * 2; SET d = CONCAT(d, '!'); END",
            ],
        )
        .await;
        let sets: ResultSets = conn
            .run(exec("CALL pr(?, ?, ?)", (5, None::<i32>, "x")))
            .await
            .unwrap();
        let is_out: Vec<bool> = sets
            .results
            .iter()
            .map(|set| set.done.is_out_parameters())
            .collect();
        assert_eq!(is_out, [false, false, true, false]);
        let out: (i64, String) = sets.results[2].rows[0].as_row().read().unwrap();
        assert_eq!(out, (10, "x!".into()));
        type Two = (Vec<(i64, String)>, Vec<(i64, i64)>);
        let (first, second): Two = conn.run(query("CALL pr(5, @b, @d)")).await.unwrap();
        assert_eq!((first, second), (vec![(5, "rs1".into())], vec![(6, 7)]));
        set_up(&mut conn, &["DROP PROCEDURE pr"]).await;
        conn.close().await;
    });
}

#[test]
fn a_result_set_says_what_its_columns_are() {
    beside_all(async |server, lanes| {
        let mut conn = connect(server, lanes).await;
        let set: ResultSet = conn
            .run(query("SELECT 1 AS one, 'b' AS bee"))
            .await
            .unwrap();
        let names: Vec<&[u8]> = set.columns.iter().map(|column| column.name()).collect();
        assert_eq!(names, [&b"one"[..], b"bee"]);
        assert_eq!(set.rows.len(), 1);
        conn.close().await;
    });
}

#[test]
fn what_does_not_fit_is_an_error_and_the_connection_goes_on() {
    beside_all(async |server, lanes| {
        let mut conn = connect(server, lanes).await;
        let error = conn
            .run(query::<Vec<i64>>("SELECT 'x' UNION SELECT 'y'"))
            .await
            .unwrap_err();
        assert_eq!(
            (error.kind(), error.outcome()),
            (ErrorKind::Decode, Outcome::Replied)
        );
        let error = conn
            .run(query::<Vec<i64>>("SELECT 1 UNION SELECT NULL"))
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Decode, "{error}");
        for given in [0, 2] {
            let params = vec![1; given];
            let error = conn
                .run(exec::<Option<i64>>("SELECT ?", params))
                .await
                .unwrap_err();
            assert_eq!(
                (error.kind(), error.outcome()),
                (ErrorKind::Request, Outcome::NotSent)
            );
        }
        let fine: Option<i64> = conn.run(query("SELECT 1")).await.unwrap();
        assert_eq!(fine, Some(1));
        conn.close().await;
    });
}

#[test]
fn a_connection_keeps_so_many_statements_and_no_more() {
    beside_all(async |server, lanes| {
        let few = config(server).statements(10);
        let mut conn = Conn::connect(few, lanes).await.unwrap();
        let prepared = || {
            let table = server.sql("SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'");
            table.cell(0, 1).unwrap().parse::<u32>().unwrap()
        };
        let before = prepared();
        for number in 0..50 {
            let sql = format!("SELECT ? + {number}");
            let sum: Option<i64> = conn.run(exec(sql, (1,))).await.unwrap();
            assert_eq!(sum, Some(number + 1));
        }
        // The last one to give way goes with what is run next.
        conn.run(ping()).await.unwrap();
        // Others use the server too, and none of them leaves less than nothing.
        assert!(prepared() <= before + 200, "statements are left behind");
        let statement: Statement = conn.run(prepare("SELECT ? AS a, 2 AS b")).await.unwrap();
        assert_eq!(statement.params().len(), 1);
        assert_eq!(statement.columns().len(), 2);
        let row: Option<(i64, i64)> = conn.run(statement.exec((1,))).await.unwrap();
        assert_eq!(row, Some((1, 2)));
        conn.close().await;

        let none = config(server).statements(0);
        let mut conn = Conn::connect(none, lanes).await.unwrap();
        for number in 0..5 {
            let same: Option<i64> = conn.run(exec("SELECT ?", (number,))).await.unwrap();
            assert_eq!(same, Some(number));
        }
        let statement: Statement = conn.run(prepare("SELECT ?")).await.unwrap();
        assert_eq!(statement.sql(), "SELECT ?");
        conn.close().await;
    });
}

#[test]
fn a_table_that_changes_under_a_prepared_statement_is_no_matter() {
    beside_all(async |server, lanes| {
        let mut conn = connect(server, lanes).await;
        let table = "CREATE TEMPORARY TABLE altered (x INT)";
        set_up(&mut conn, &[table, "INSERT INTO altered VALUES (7)"]).await;
        let select = "SELECT * FROM altered WHERE x = ?";
        let before: Option<i64> = conn.run(exec(select, (7,))).await.unwrap();
        assert_eq!(before, Some(7));
        let alter = "ALTER TABLE altered ADD y VARCHAR(9) DEFAULT 'new'";
        set_up(&mut conn, &[alter]).await;
        let behind: Option<(i64, String)> = conn.run(exec(select, (7,))).await.unwrap();
        assert_eq!(behind, Some((7, "new".into())));
        conn.close().await;
    });
}

#[test]
fn a_packet_that_the_server_would_not_take_costs_an_error_only() {
    on_a_lane(async |lanes| {
        for product in [Product::MariaDb, Product::MySql] {
            // More than may be sent without asking.
            let options = Options::new(product).argument("--max-allowed-packet=2M");
            let server = match MySqlServer::start(options) {
                Ok(server) => server,
                Err(absent) => {
                    absent.skip();
                    continue;
                }
            };
            let mut conn = connect(&server, lanes).await;
            let large = vec![b'x'; 2 << 20];
            let error = conn
                .run(exec::<()>("SELECT LENGTH(?)", (&large[..],)))
                .await
                .unwrap_err();
            assert_eq!(
                (error.kind(), error.outcome()),
                (ErrorKind::Request, Outcome::NotSent),
                "{error}"
            );
            let most = &large[..large.len() - 1024];
            let len: Option<u64> = conn.run(exec("SELECT LENGTH(?)", (most,))).await.unwrap();
            assert_eq!(len, Some(most.len() as u64));
            conn.close().await;
        }
    });
}

/// MariaDB executes what it has prepared last, and remembers that one where it refuses to prepare another for having too many.
#[test]
fn a_statement_that_cannot_be_prepared_is_not_another_one() {
    on_a_lane(async |lanes| {
        let server = match MySqlServer::start(Options::new(Product::MariaDb)) {
            Ok(server) => server,
            Err(absent) => return absent.skip(),
        };
        server.sql("CREATE TABLE test.mistaken (x INT)");
        let mut conn = connect(&server, lanes).await;
        let insert = "INSERT INTO mistaken VALUES (?)";
        conn.run(exec::<()>(insert, (1,))).await.unwrap();
        server.sql("SET GLOBAL max_prepared_stmt_count = 0");
        for _ in 0..2 {
            let error = conn
                .run(exec::<Option<i64>>("SELECT ?", (2,)))
                .await
                .unwrap_err();
            assert_eq!(error.server().unwrap().code(), 1461);
        }
        let rows: Vec<i64> = conn.run(query("SELECT x FROM mistaken")).await.unwrap();
        assert_eq!(rows, [1]);
        conn.close().await;
    });
}

#[test]
fn values_are_not_written_where_a_character_can_end_like_a_quote() {
    beside_all(async |server, lanes| {
        let mut conn = connect(server, lanes).await;
        for (charset, is_safe) in [("gbk", false), ("utf8mb4", true), ("sjis", false)] {
            set_up(&mut conn, &[&format!("SET NAMES {charset}")]).await;
            let back = conn
                .run(formatted::<Option<String>>("SELECT ?", ("x",)))
                .await;
            match back {
                Ok(back) => assert!(is_safe && back.as_deref() == Some("x"), "{charset}"),
                Err(error) => assert!(!is_safe && matches!(error, Error::Charset), "{error}"),
            }
        }
        conn.close().await;
    });
}
