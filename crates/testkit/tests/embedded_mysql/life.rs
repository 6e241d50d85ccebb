//! Its clients come and go, and nothing of it stays behind.

use std::io::Read;
use std::time::Duration;

use arknet_proto::mysql::command;
use arknet_testkit::mysql::{EmbeddedServer, Options};

use super::driver::MAX_PACKET;
use super::stream::Stream;
use super::{connect, start};

const SOON: Duration = Duration::from_secs(20);

#[test]
fn clients_are_counted_and_closed() {
    let server = start();
    let (first, second) = (connect(&server), connect(&server));
    let stats = server.stats();
    assert_eq!((stats.accepted, stats.open, stats.logins), (2, 2, 2));
    drop(first);
    server.wait_until(SOON, |stats| stats.open == 1).unwrap();
    assert_eq!(server.close_all(), 1);
    let mut rest = Vec::new();
    second.into_stream().read_to_end(&mut rest).unwrap();
    assert!(rest.is_empty());
    assert!(
        server
            .wait_until(Duration::ZERO, |stats| stats.open > 9)
            .is_err()
    );
}

#[test]
fn it_ends_with_whatever_its_clients_wait_for() {
    let server = start();
    let (mut sleeper, mut idle) = (connect(&server), connect(&server));
    sleeper.send(|wire| vec![command::query(wire, b"SELECT SLEEP(1000)", MAX_PACKET).unwrap()]);
    // One that does not read its million rows.
    let mut deaf = connect(&server);
    let rows = b"SELECT REPEAT('x', 1000) FROM seq_1_to_1000000";
    deaf.send(|wire| vec![command::query(wire, rows, MAX_PACKET).unwrap()]);
    server
        .wait_until(SOON, |stats| stats.count("SELECT") == 2)
        .unwrap();
    idle.query("DO 0").unwrap();
    let (addr, socket) = (server.addr(), server.socket());
    drop(server);
    assert!(!socket.exists());
    assert!(std::net::TcpStream::connect(addr).is_err());
}

#[test]
fn its_unix_socket_and_its_port_lead_to_the_same_server() {
    let server = EmbeddedServer::start(Options::default()).unwrap();
    let mut config = super::account("root", "");
    config.local = true;
    let by_unix = super::Driver::connect(Stream::unix(&server.socket()), config).unwrap();
    let by_tcp = connect(&server);
    assert_eq!(server.stats().open, 2);
    drop((by_unix, by_tcp));
}
