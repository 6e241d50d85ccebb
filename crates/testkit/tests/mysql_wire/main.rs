//! The engines of MySQL's protocol against real servers, with nothing between them and the socket.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod accounts;
#[allow(
    dead_code,
    reason = "the tests with the embedded server use more of it"
)]
mod driver;
mod servers;
mod stream;
mod types;

use arknet_proto::mysql::answer::Event;
use arknet_proto::mysql::command::{self, LAST_STATEMENT, Param};
use arknet_proto::mysql::handshake::Compression;
use arknet_proto::mysql::value::Value;
use arknet_proto::mysql::{Capabilities, Status};
use arknet_testkit::need;
use arknet_testkit::servers::Absent;
use arknet_testkit::servers::mysql::{MySqlServer, Options, Product};

use driver::MAX_PACKET;
use servers::{connect, connect_as, root};

fn start(product: Product) -> Result<MySqlServer, Absent> {
    MySqlServer::start(Options::new(product).argument(match product {
        // A row may take a tenth of the log.
        Product::MySql => "--innodb-redo-log-capacity=64M",
        _ => "--innodb-log-file-size=64M",
    }))
}

/// One server for many stories, since it takes a second to start.
#[test]
fn mariadb_is_understood() {
    let server = need!(start(Product::MariaDb));
    stories(&server);
    types::text_equals_binary(&mut connect(&server));
    types::parameters_come_back(&mut connect(&server));
    types::formatted_equals_bound(&mut connect(&server));
    several_results(&server);
    prepared_in_one_flight(&server);
    definitions_change(&server);
    local_infile(&server);
    session_changes(&server);
}

/// Apart, since they move a hundred megabytes.
#[test]
fn mariadb_takes_large_packets() {
    let server = need!(start(Product::MariaDb));
    large_packets(&server);
    compressed(&server);
}

#[test]
fn mysql_takes_large_packets() {
    let server = need!(start(Product::MySql));
    large_packets(&server);
    compressed(&server);
}

#[test]
fn mariadb_11_is_understood() {
    let server = need!(start(Product::MariaDb11));
    stories(&server);
    types::text_equals_binary(&mut connect(&server));
    types::vectors(&mut connect(&server));
    several_results(&server);
    prepared_in_one_flight(&server);
    definitions_change(&server);
}

#[test]
fn mysql_is_understood() {
    let server = need!(start(Product::MySql));
    stories(&server);
    types::text_equals_binary(&mut connect(&server));
    types::parameters_come_back(&mut connect(&server));
    types::formatted_equals_bound(&mut connect(&server));
    types::vectors(&mut connect(&server));
    several_results(&server);
    definitions_change(&server);
    local_infile(&server);
    session_changes(&server);
}

fn stories(server: &MySqlServer) {
    let mut client = connect(server);
    let agreed = client.established.capabilities;
    for flag in [
        Capabilities::DEPRECATE_EOF,
        Capabilities::SESSION_TRACK,
        Capabilities::CONNECT_ATTRS,
    ] {
        assert!(agreed.contains(flag), "{agreed:?}");
    }
    let own = Capabilities::MARIADB_CACHE_METADATA | Capabilities::MARIADB_EXTENDED_METADATA;
    assert_eq!(agreed.contains(own), client.established.server.is_mariadb);
    assert!(!agreed.contains(Capabilities::LOCAL_FILES));

    let results = client.query("SELECT 1, 'two', NULL").unwrap();
    let row = vec![Value::Int(1), Value::Text("two".into()), Value::Null];
    assert_eq!(results[0].values(), std::slice::from_ref(&row));
    let again = client.query("SELECT 1, 'two', NULL").unwrap();
    let same = |set: &driver::ResultSet| set.columns.clone().unwrap();
    assert!(
        std::sync::Arc::ptr_eq(&same(&results[0]), &same(&again[0])),
        "the same columns"
    );

    let error = client.query("SELECT nonsense").unwrap_err();
    assert_eq!((error.code(), error.state()), (1054, "42S22"));
    client
        .query("CREATE TABLE story (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20))")
        .unwrap();
    let insert = client
        .prepare("INSERT INTO story (name) VALUES (?), (?)")
        .unwrap();
    assert_eq!(insert.params().len(), 2);
    let done = client.execute(&insert, ("a", None::<String>)).unwrap();
    assert_eq!((done[0].affected_rows, done[0].last_insert_id), (2, 1));
    let done = client.query("UPDATE story SET name = 'b'").unwrap();
    assert_eq!(done[0].info, "Rows matched: 2  Changed: 2  Warnings: 0");

    let begin = client.query("START TRANSACTION").unwrap();
    assert_eq!(begin[0].warnings, 0);
    assert!(
        client
            .conversation
            .status()
            .contains(Status::IN_TRANSACTION)
    );
    client.query("ROLLBACK").unwrap();
    assert!(
        !client
            .conversation
            .status()
            .contains(Status::IN_TRANSACTION)
    );

    // Twenty in one flight.
    client.send(|wire| {
        (0..20)
            .map(|n| command::query(wire, format!("SELECT {n}").as_bytes(), MAX_PACKET).unwrap())
            .collect()
    });
    for n in 0..20 {
        assert_eq!(client.answer().unwrap()[0].values(), [[Value::Int(n)]]);
    }

    client.send(|wire| {
        vec![
            command::reset_connection(wire),
            command::ping(wire),
            command::init_db(wire, "mysql"),
        ]
    });
    for _ in 0..3 {
        client.answer().unwrap();
    }
    assert_eq!(
        client.query("SELECT DATABASE()").unwrap()[0].values(),
        [[Value::Text("mysql".into())]]
    );
    let gone = client.execute(&insert, ("a", "b")).unwrap_err();
    assert_eq!(gone.code(), 1243, "a reset forgets what was prepared");
}

fn several_results(server: &MySqlServer) {
    let mut config = root();
    config.options.multi_statements = true;
    let mut client = connect_as(server, config);
    let results = client
        .query("SELECT 1; DO 0; SELECT 'a' UNION SELECT 'b'")
        .unwrap();
    assert_eq!(results.len(), 3);
    assert_eq!(results[2].rows.len(), 2);
    let error = client
        .query("SELECT 1; SELECT * FROM nonexist; SELECT 3")
        .unwrap_err();
    assert_eq!(error.code(), 1146);
    assert_eq!(
        client.query("SELECT 4").unwrap()[0].values(),
        [[Value::Int(4)]]
    );

    client
        .query(
            "CREATE PROCEDURE pr(IN a INT, OUT b INT, INOUT d VARCHAR(10)) BEGIN \
             SELECT a, 'rs1'; SELECT a + 1, 7; SET b = a * 2; SET d = CONCAT(d, '!'); END",
        )
        .unwrap();
    let call = client.prepare("CALL pr(?, ?, ?)").unwrap();
    for _ in 0..3 {
        let results = client.execute(&call, (5, 0, "x")).unwrap();
        assert_eq!(results.len(), 4);
        assert_eq!(
            results[0].values(),
            [[Value::Int(5), Value::Text("rs1".into())]]
        );
        assert_eq!(
            results[1].rows[0].as_row().read::<(i64, i64)>().unwrap(),
            (6, 7)
        );
        assert!(results[2].is_out_parameters);
        assert_eq!(
            results[2].rows[0].as_row().read::<(i32, &str)>().unwrap(),
            (10, "x!")
        );
        assert!(!results[3].is_out_parameters);
    }
}

fn prepared_in_one_flight(server: &MySqlServer) {
    let mut client = connect(server);
    for n in 0..3_i64 {
        client.send(|wire| {
            let sql = format!("SELECT ? + {n}, 'text'");
            vec![
                command::prepare(wire, sql.as_bytes(), MAX_PACKET).unwrap(),
                command::execute(wire, LAST_STATEMENT, &(n,), MAX_PACKET).unwrap(),
            ]
        });
        let prepared = client.prepared().unwrap();
        let results = client.answer().unwrap();
        assert_eq!(
            results[0].rows[0].as_row().read::<(i64, &str)>().unwrap(),
            (2 * n, "text")
        );
        client.send(|wire| vec![command::close_statement(wire, prepared.id())]);
    }
    client.send(|wire| {
        vec![
            command::prepare(wire, b"SELECT nonsense", MAX_PACKET).unwrap(),
            command::execute(wire, LAST_STATEMENT, &(), MAX_PACKET).unwrap(),
        ]
    });
    assert_eq!(client.prepared().unwrap_err().code(), 1054);
    assert_eq!(client.answer().unwrap_err().code(), 1243);
    let count = client
        .query("SHOW SESSION STATUS LIKE 'Com_stmt_close'")
        .unwrap();
    assert_eq!(count[0].values()[0][1], Value::Text("3".into()));
}

/// MariaDB leaves definitions out that have not changed, and sends them when they do.
fn definitions_change(server: &MySqlServer) {
    let mut client = connect(server);
    client.query("CREATE TABLE changing (a INT)").unwrap();
    client.query("INSERT INTO changing VALUES (1)").unwrap();
    let select = client.prepare("SELECT * FROM changing").unwrap();
    let other = client.prepare("SELECT 'x'").unwrap();
    let read =
        |client: &mut driver::Driver, statement| client.execute(statement, ()).unwrap()[0].values();
    for _ in 0..3 {
        assert_eq!(read(&mut client, &select), [[Value::Int(1)]]);
        assert_eq!(read(&mut client, &other), [[Value::Text("x".into())]]);
    }
    client
        .query("ALTER TABLE changing MODIFY a VARCHAR(10)")
        .unwrap();
    // Both in one flight: the second is read by what the first brought.
    client.send(|wire| {
        let execute = |wire: &mut Vec<u8>| select.execute(wire, &(), MAX_PACKET).unwrap();
        vec![execute(wire), execute(wire)]
    });
    for _ in 0..2 {
        assert_eq!(
            client.answer().unwrap()[0].values(),
            [[Value::Text("1".into())]]
        );
    }
    client
        .query("ALTER TABLE changing ADD b INT DEFAULT 7")
        .unwrap();
    assert_eq!(
        read(&mut client, &select),
        [[Value::Text("1".into()), Value::Int(7)]]
    );
}

fn large_packets(server: &MySqlServer) {
    let mut client = connect(server);
    let echo = client.prepare("SELECT LENGTH(?), ?").unwrap();
    for len in [
        0xff_fffe - 30,
        0xff_fffe,
        0xff_ffff,
        0x100_0000,
        2 * 0xff_ffff,
    ] {
        // As a row: the packet is four bytes of length and the text.
        let sql = format!("SELECT REPEAT('x', {})", len - 4);
        let results = client.query(&sql).unwrap();
        let text: &[u8] = results[0].rows[0].as_row().read().unwrap();
        assert!(text == "x".repeat(len - 4).as_bytes());
        // As a command, which is all that a packet holds.
        let comment = "x".repeat(len - 1 - "SELECT 1 -- ".len());
        let results = client.query(&format!("SELECT 1 -- {comment}")).unwrap();
        assert_eq!(results[0].values(), [[Value::Int(1)]]);
    }
    let text = "y".repeat(0x100_0005);
    let results = client.execute(&echo, (&text, "")).unwrap();
    assert_eq!(
        results[0].rows[0].as_row().get::<usize>(0).unwrap(),
        text.len()
    );
    // In pieces, ahead of the execute.
    client.send(|wire| {
        let piece = |wire: &mut Vec<u8>, piece: &[u8]| {
            command::long_data(wire, echo.id(), 0, piece, MAX_PACKET).unwrap()
        };
        vec![
            piece(wire, b"abc"),
            piece(wire, b"def"),
            echo.execute(wire, &(Param::LongText, "abcdef"), MAX_PACKET)
                .unwrap(),
        ]
    });
    let results = client.answer().unwrap();
    assert_eq!(
        results[0].rows[0].as_row().read::<(i64, &str)>().unwrap().0,
        6
    );
}

fn local_infile(server: &MySqlServer) {
    let mut config = root();
    config.options.local_infile = true;
    let mut client = connect_as(server, config);
    client
        .query("CREATE TABLE loaded (a INT, b VARCHAR(10))")
        .unwrap();
    client.send(|wire| {
        vec![
            command::query(
                wire,
                b"LOAD DATA LOCAL INFILE 'any name' INTO TABLE loaded",
                MAX_PACKET,
            )
            .unwrap(),
        ]
    });
    let mut asked = Vec::new();
    let mut affected = 0;
    while !client.conversation.is_idle() {
        let mut answer = false;
        client.receive_one(|event| match event {
            Event::LocalInfile(name) => {
                asked.push(name.to_vec());
                answer = true;
            }
            Event::Ok(ok) => affected = ok.affected_rows,
            other => panic!("{other:?}"),
        });
        if answer {
            client.write_raw(|wire, conversation| {
                let mut file = conversation.infile();
                file.piece(wire, b"1\tone\n2\ttw");
                file.piece(wire, b"");
                file.piece(wire, b"o\n");
                file.finish(wire);
            });
        }
    }
    assert_eq!((asked, affected), (vec![b"any name".to_vec()], 2));
    let rows = client.query("SELECT * FROM loaded ORDER BY a").unwrap();
    assert_eq!(
        rows[0].rows[1].as_row().read::<(i32, &str)>().unwrap(),
        (2, "two")
    );
}

fn compressed(server: &MySqlServer) {
    let mut config = root();
    config.compression = Compression::Zlib;
    let mut client = connect_as(server, config);
    assert!(
        client
            .established
            .capabilities
            .contains(Capabilities::COMPRESS)
    );
    let status = client.query("SHOW STATUS LIKE 'Compression'").unwrap();
    assert_eq!(status[0].values()[0][1], Value::Text("ON".into()));
    for _ in 0..3 {
        let results = client
            .query(
                "WITH RECURSIVE s AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM s WHERE n < 900) \
                SELECT n, REPEAT('abc', 100) FROM s",
            )
            .unwrap();
        assert_eq!(results[0].rows.len(), 900);
        let last = results[0].rows[899].as_row();
        assert_eq!(
            last.read::<(u64, &str)>().unwrap(),
            (900, "abc".repeat(100).as_str())
        );
    }
    let long = "z".repeat(0x100_0000);
    let results = client.query(&format!("SELECT '{long}'")).unwrap();
    assert_eq!(
        results[0].rows[0].as_row().read::<&str>().unwrap().len(),
        long.len()
    );
    // What does not get smaller.
    let noise: String = (0..20_000_u32)
        .map(|n| char::from(b'!' + (n.wrapping_mul(2_654_435_761) >> 25) as u8 % 90))
        .filter(|c| *c != '\'' && *c != '\\')
        .collect();
    let results = client.query(&format!("SELECT '{noise}'")).unwrap();
    assert_eq!(results[0].rows[0].as_row().read::<&str>().unwrap(), noise);
}

fn session_changes(server: &MySqlServer) {
    let mut client = connect(server);
    client
        .query("SET session_track_system_variables = 'autocommit', session_track_schema = ON")
        .unwrap();
    let done = client.query("SET autocommit = 0").unwrap();
    assert!(
        done[0]
            .changes
            .iter()
            .any(|change| change.starts_with("Variable")),
        "{:?}",
        done[0].changes
    );
    let done = client.query("USE mysql").unwrap();
    assert_eq!(done[0].changes, [r#"Schema([109, 121, 115, 113, 108])"#]);
}
