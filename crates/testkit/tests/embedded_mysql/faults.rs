//! What it does wrong when it is told to.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use arknet_proto::mysql::answer::{Conversation, Event};
use arknet_proto::mysql::command;
use arknet_proto::mysql::handshake::HandshakeError;
use arknet_proto::mysql::value::Value;
use arknet_proto::mysql::{Limits, ProtocolError};
use arknet_testkit::mysql::{EmbeddedServer, Options, Rule};

use super::driver::{Driver, MAX_PACKET};
use super::stream::Stream;
use super::{account, connect, start};

const SOON: Duration = Duration::from_secs(20);

/// Logs in, sends a query, and gives all that comes until the server ends the connection to the engine.
fn broken(server: &EmbeddedServer, sql: &str) -> (usize, Result<(), ProtocolError>) {
    let client = connect(server);
    let established = client.established.clone();
    let mut stream = client.into_stream();
    let mut conversation = Conversation::after(&established, Limits::default());
    let mut wire = Vec::new();
    conversation.submit(command::query(&mut wire, sql.as_bytes(), MAX_PACKET).unwrap());
    stream.write_all(&wire).unwrap();
    let mut received = Vec::new();
    stream.read_to_end(&mut received).unwrap();
    let mut at = 0;
    let result = loop {
        match conversation.next(&received, &mut at) {
            Ok(Some(Event::Error(error))) => panic!("{error}"),
            Ok(Some(_)) => {}
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    (received.len(), result)
}

#[test]
fn an_error_takes_the_place_of_the_greeting() {
    let server = start();
    server.add(
        Rule::on("GREETING")
            .times(1)
            .error(1040, "08004", "Too many connections"),
    );
    match Driver::connect(Stream::tcp(server.addr()), account("root", "")).map(drop) {
        Err(HandshakeError::Server(error)) => assert_eq!(error.code(), 1040),
        other => panic!("{other:?}"),
    }
    drop(connect(&server));
}

#[test]
fn a_login_is_refused_for_any_reason() {
    let server = start();
    server.add(
        Rule::on("LOGIN")
            .times(1)
            .error(1049, "42000", "Unknown database"),
    );
    match Driver::connect(Stream::tcp(server.addr()), account("root", "")).map(drop) {
        Err(HandshakeError::Server(error)) => {
            assert_eq!((error.code(), error.state()), (1049, "42000"));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(server.stats().logins, 0);
}

#[test]
fn bytes_in_clear_come_before_tls() {
    let server = EmbeddedServer::start(Options::default().tls()).unwrap();
    server.add(Rule::on("TLS").before(*b"injected"));
    let mut stream = TcpStream::connect(server.addr()).unwrap();
    let mut greeting = [0; 4096];
    let len = stream.read(&mut greeting).unwrap();
    assert!(len > 4);
    // A request for TLS: its capabilities, and nothing of the client.
    let capabilities: u32 = 0x0008_aa00;
    let mut request = vec![32, 0, 0, 1];
    request.extend(capabilities.to_le_bytes());
    request.resize(4 + 32, 0);
    stream.write_all(&request).unwrap();
    let mut clear = [0; 8];
    stream.read_exact(&mut clear).unwrap();
    assert_eq!(&clear, b"injected");
}

#[test]
fn an_answer_is_cut_at_every_byte() {
    let server = start();
    let whole = {
        server.add(Rule::on("SELECT").close());
        let (len, result) = broken(&server, "SELECT 'text', 2");
        assert_eq!(result, Ok(()));
        len
    };
    for cut in 0..whole {
        server.clear_rules();
        server.add(Rule::on("SELECT").cut(cut));
        assert_eq!(broken(&server, "SELECT 'text', 2").0, cut);
    }
}

#[test]
fn packets_are_numbered_wrong_and_columns_announced_without_end() {
    let server = start();
    server.add(Rule::on("SELECT").times(1).misnumber(3).close());
    let (_, result) = broken(&server, "SELECT 1");
    assert!(
        matches!(result, Err(ProtocolError::OutOfSequence { .. })),
        "{result:?}"
    );
    server.add(Rule::on("SELECT").times(1).columns(u64::MAX >> 1).close());
    let (len, result) = broken(&server, "SELECT 1");
    assert_eq!(len, 4 + 9);
    assert!(result.is_err(), "{result:?}");
}

#[test]
fn a_rule_befalls_the_statement_that_it_is_for() {
    let server = start();
    let mut client = connect(&server);
    server.add(
        Rule::on("INSERT")
            .statement("twice")
            .error(1062, "23000", "Duplicate entry"),
    );
    server.add(Rule::on("EXECUTE").statement("?, 5").times(1).error(
        1615,
        "HY000",
        "Prepare again",
    ));
    client.query("INSERT INTO t VALUES ('once')").unwrap();
    let error = client.query("INSERT INTO t VALUES ('twice')").unwrap_err();
    assert_eq!((error.code(), error.state()), (1062, "23000"));
    let statement = client.prepare("SELECT ?, 5").unwrap();
    assert_eq!(client.execute(&statement, (1,)).unwrap_err().code(), 1615);
    let row = client.execute(&statement, (1,)).unwrap();
    assert_eq!(row[0].values(), [[Value::Int(1), Value::Int(5)]]);
    assert_eq!(server.stats().count("insert"), 2);
    assert_eq!(server.stats().count("EXECUTE"), 2);
}

#[test]
fn an_answer_comes_late_and_those_behind_it_too() {
    let server = start();
    let mut client = connect(&server);
    let delay = Duration::from_millis(60);
    server.add(Rule::on("SELECT").times(1).delay(delay));
    let began = Instant::now();
    client.send(|wire| {
        vec![
            command::query(wire, b"SELECT 1", MAX_PACKET).unwrap(),
            command::ping(wire),
        ]
    });
    assert_eq!(client.answer().unwrap()[0].values(), [[Value::Int(1)]]);
    assert!(began.elapsed() >= delay);
    client.answer().unwrap();
}

#[test]
fn a_swallowed_command_is_counted_and_not_answered() {
    let server = start();
    let mut client = connect(&server);
    server.add(Rule::on("COMMIT").swallow_command().close());
    client.query("BEGIN").unwrap();
    client.send(|wire| vec![command::query(wire, b"COMMIT", MAX_PACKET).unwrap()]);
    let mut rest = Vec::new();
    client.into_stream().read_to_end(&mut rest).unwrap();
    assert!(rest.is_empty());
    assert_eq!(server.stats().count("commit"), 1);
}

#[test]
fn a_statement_that_sleeps_is_killed_by_another_client() {
    let server = start();
    let (mut sleeper, mut killer) = (connect(&server), connect(&server));
    let id = sleeper.query("SELECT CONNECTION_ID()").unwrap()[0].rows[0]
        .as_row()
        .read::<u32>()
        .unwrap();
    sleeper.send(|wire| vec![command::query(wire, b"SELECT SLEEP(1000)", MAX_PACKET).unwrap()]);
    server
        .wait_until(SOON, |stats| stats.count("SELECT") == 2)
        .unwrap();
    killer.query(&format!("KILL QUERY {id}")).unwrap();
    assert_eq!(sleeper.answer().unwrap()[0].values(), [[Value::Int(1)]]);
    killer.query(&format!("KILL {id}")).unwrap();
    let mut rest = Vec::new();
    sleeper.into_stream().read_to_end(&mut rest).unwrap();
    server.wait_until(SOON, |stats| stats.open == 1).unwrap();
}
