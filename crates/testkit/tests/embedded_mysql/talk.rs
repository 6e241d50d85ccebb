//! What it answers where nothing goes wrong.

use arknet_proto::mysql::command::{self, LAST_STATEMENT, Param};
use arknet_proto::mysql::value::{Decimal, Value};
use arknet_proto::mysql::{Capabilities, Status};
use arknet_testkit::mysql::{EmbeddedServer, Options};

use super::driver::{Driver, MAX_PACKET};
use super::stream::Stream;
use super::{account, connect, start};

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

#[test]
fn constants_come_back_in_text_and_in_binary() {
    let server = start();
    let mut client = connect(&server);
    let sql = "SELECT 1, -2, 18446744073709551615 AS big, 1.50, 1e3, 'naïve ☃', x'00ff', NULL";
    let expected = vec![
        Value::Int(1),
        Value::Int(-2),
        Value::Uint(u64::MAX),
        Value::Decimal(Decimal::new("1.50").unwrap()),
        Value::Double(1000.0),
        text("naïve ☃"),
        Value::Bytes(vec![0, 255]),
        Value::Null,
    ];
    let result = client.query(sql).unwrap().remove(0);
    assert_eq!(result.values(), std::slice::from_ref(&expected));
    let columns = result.columns.unwrap();
    assert_eq!(columns.index_of("big"), Some(2));
    assert_eq!(columns.index_of("1.50"), Some(3));
    let statement = client.prepare(sql).unwrap();
    assert_eq!(
        client.execute(&statement, ()).unwrap()[0].values(),
        std::slice::from_ref(&expected)
    );
}

#[test]
fn parameters_are_echoed() {
    let server = start();
    let mut client = connect(&server);
    let echo = client.prepare("SELECT ?, ?, ?").unwrap();
    assert_eq!(echo.params().len(), 3);
    for _ in 0..2 {
        let row = client.execute(&echo, (7, "text", None::<i64>)).unwrap();
        assert_eq!(
            row[0].values(),
            [[Value::Int(7), text("text"), Value::Null]]
        );
    }
    // One of them in pieces, ahead of the execute.
    client.send(|wire| {
        vec![
            command::long_data(wire, echo.id(), 1, b"abc", MAX_PACKET).unwrap(),
            command::long_data(wire, echo.id(), 1, b"def", MAX_PACKET).unwrap(),
            echo.execute(wire, &(1, Param::LongText, 3), MAX_PACKET)
                .unwrap(),
        ]
    });
    let row = client.answer().unwrap();
    assert_eq!(
        row[0].values(),
        [[Value::Int(1), text("abcdef"), Value::Int(3)]]
    );
    assert_eq!(server.stats().statements, 1);
    client.send(|wire| vec![command::close_statement(wire, echo.id())]);
    let unknown = client.execute(&echo, (1, 2, 3)).unwrap_err();
    assert_eq!(unknown.code(), 1243);
    assert_eq!(server.stats().statements, 0);
}

#[test]
fn a_sequence_has_so_many_rows() {
    let server = start();
    let mut client = connect(&server);
    let sql = "SELECT seq AS id, 'name', seq, 1.5 FROM seq_1_to_100000";
    for result in [client.query(sql).unwrap(), {
        let statement = client.prepare(sql).unwrap();
        client.execute(&statement, ()).unwrap()
    }] {
        assert_eq!(result[0].rows.len(), 100_000);
        let last = result[0].rows[99_999].as_row();
        assert_eq!(
            last.read::<(u64, &str, u64, &str)>().unwrap(),
            (100_000, "name", 100_000, "1.5")
        );
    }
}

#[test]
fn a_large_value_takes_several_frames() {
    let server = start();
    let mut client = connect(&server);
    let long = client.query("SELECT REPEAT('x', 33554430)").unwrap();
    assert_eq!(
        long[0].rows[0].as_row().read::<&str>().unwrap().len(),
        33_554_430
    );
    let sent = "y".repeat(0x100_0005);
    let echo = client.prepare("SELECT ?").unwrap();
    let row = client.execute(&echo, (&sent,)).unwrap();
    assert!(row[0].rows[0].as_row().read::<&str>().unwrap() == sent);
}

#[test]
fn several_statements_only_where_they_were_asked_for() {
    let server = start();
    let sql = "SELECT 1; DO 0; SELECT 'a'";
    assert_eq!(connect(&server).query(sql).unwrap_err().code(), 1064);
    let mut config = account("root", "");
    config.options.multi_statements = true;
    let mut client = Driver::connect(Stream::tcp(server.addr()), config).unwrap();
    let results = client.query(sql).unwrap();
    assert_eq!(results.len(), 3);
    assert_eq!(results[2].values(), [[text("a")]]);
    assert_eq!(
        client.query("SELECT 1; SELECT f(2)").unwrap_err().code(),
        1305
    );
    assert_eq!(
        client.query("SELECT 1").unwrap()[0].values(),
        [[Value::Int(1)]]
    );
}

#[test]
fn the_session_has_a_state_that_a_reset_clears() {
    let server = start();
    let mut client = connect(&server);
    client.query("SET @a = 'kept', autocommit = 0").unwrap();
    let done = client.query("USE other").unwrap();
    assert_eq!(done[0].changes, [r#"Schema([111, 116, 104, 101, 114])"#]);
    assert_eq!(
        client.query("SELECT @a, DATABASE()").unwrap()[0].values(),
        [[text("kept"), text("other")]]
    );
    let insert = client.query("INSERT INTO t VALUES (1)").unwrap();
    assert_eq!((insert[0].affected_rows, insert[0].last_insert_id), (1, 1));
    let status = client.conversation.status();
    assert!(status.contains(Status::IN_TRANSACTION) && !status.contains(Status::AUTOCOMMIT));
    client.query("COMMIT").unwrap();
    client.query("START TRANSACTION READ ONLY").unwrap();
    let both = Status::IN_TRANSACTION | Status::READ_ONLY_TRANSACTION;
    assert!(client.conversation.status().contains(both));

    let statement = client.prepare("SELECT ?").unwrap();
    client.send(|wire| {
        vec![
            command::reset_connection(wire),
            command::query(wire, b"SELECT @a", MAX_PACKET).unwrap(),
            command::ping(wire),
        ]
    });
    client.answer().unwrap();
    assert_eq!(client.answer().unwrap()[0].values(), [[Value::Null]]);
    client.answer().unwrap();
    assert!(client.conversation.status().contains(Status::AUTOCOMMIT));
    assert_eq!(client.execute(&statement, (1,)).unwrap_err().code(), 1243);
}

#[test]
fn what_it_does_not_know_is_an_error() {
    let server = start();
    let mut client = connect(&server);
    for (sql, code) in [
        ("nonsense", 1064),
        ("SELECT 1 +", 1064),
        ("SELECT ?", 1064),
        ("SELECT @@nonsense", 1193),
        ("SELECT nonsense(1)", 1305),
        ("KILL 999999", 1094),
    ] {
        assert_eq!(client.query(sql).unwrap_err().code(), code, "{sql}");
    }
    assert_eq!(client.prepare("nonsense").unwrap_err().code(), 1064);
}

#[test]
fn as_mariadb_it_leaves_out_and_runs_ahead_as_that_does() {
    let server = EmbeddedServer::start(Options::default().mariadb()).unwrap();
    let mut client = connect(&server);
    assert!(client.established.server.is_mariadb);
    let cached = Capabilities::MARIADB_CACHE_METADATA;
    assert!(client.established.capabilities.contains(cached));
    client.send(|wire| {
        vec![
            command::prepare(wire, b"SELECT ?, 'text'", MAX_PACKET).unwrap(),
            command::execute(wire, LAST_STATEMENT, &(5,), MAX_PACKET).unwrap(),
        ]
    });
    client.prepared().unwrap();
    assert_eq!(
        client.answer().unwrap()[0].values(),
        [[Value::Int(5), text("text")]]
    );
}
