//! The server's own life: doors, limits, what it sees of its clients, what it leaves behind.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Duration;

use arknet_proto::redis::server::RequestLimits;
use arknet_testkit::process::{Peer, which};
use arknet_testkit::redis::{EmbeddedServer, Options};
use arknet_testkit::{TempDir, skip};

use crate::talk::{Client, encode};

const SOON: Duration = Duration::from_secs(10);

#[test]
fn the_unix_socket_leads_to_the_same_keys() {
    let server = EmbeddedServer::start(Options::default()).unwrap();
    assert_eq!(Client::connect(server.addr()).ask("SET k v"), "+OK\\r\\n");
    let mut client = UnixStream::connect(server.socket()).unwrap();
    client.write_all(b"GET k\r\nQUIT\r\n").unwrap();
    let mut received = String::new();
    client.read_to_string(&mut received).unwrap();
    assert_eq!(received, "$1\r\nv\r\n+OK\r\n");
}

#[test]
fn tls_asks_for_certificates_where_told_and_tells_the_name_it_was_called_by() {
    if which("openssl").is_none() {
        skip!("openssl is not installed");
    }
    let open = EmbeddedServer::start(Options::default().tls()).unwrap();
    let strict = EmbeddedServer::start(Options::default().demand_client_certificates()).unwrap();
    assert!(pings_over_tls(&open, false));
    assert!(pings_over_tls(&strict, true));
    assert!(!pings_over_tls(&strict, false));
    assert_eq!(open.stats().server_names, [Some("localhost".to_owned())]);
}

fn pings_over_tls(server: &EmbeddedServer, with_certificate: bool) -> bool {
    let dir = TempDir::new("arknet-embedded-tls").unwrap();
    let authority = server.authority().write_to(&dir, "authority").unwrap();
    let files = server.client_identity().write_to(&dir, "client").unwrap();
    let mut command = Command::new("openssl");
    command.args([
        "s_client",
        "-quiet",
        "-verify_return_error",
        "-servername",
        "localhost",
    ]);
    command.arg("-CAfile").arg(authority);
    command
        .arg("-connect")
        .arg(server.tls_addr().unwrap().to_string());
    if with_certificate {
        command
            .arg("-cert")
            .arg(files.cert)
            .arg("-key")
            .arg(files.key);
    }
    let mut peer = Peer::spawn(command).unwrap();
    // Refused, it may have ended before this.
    let _ = peer.write(b"PING\r\n");
    peer.stdout().line_containing("+PONG", SOON).is_ok()
}

#[test]
fn a_large_reply_passes_whole_and_in_order() {
    let server = EmbeddedServer::start(Options::default()).unwrap();
    let mut client = Client::connect(server.addr());
    let value = "x".repeat(3_000_000);
    assert_eq!(client.ask(&format!("SET k {value}")), "+OK\\r\\n");
    client.send([encode("GET k"), encode("GET k"), encode("PING")].concat());
    let expected = format!("$3000000\\r\\n{value}\\r\\n");
    assert!(client.frame() == expected && client.frame() == expected);
    assert_eq!(client.frame(), "+PONG\\r\\n");
}

#[test]
fn memory_clients_and_requests_are_bounded() {
    let limits = RequestLimits {
        max_argument_bytes: 1_000,
        ..RequestLimits::default()
    };
    let options = Options::default()
        .max_memory(5_000)
        .max_clients(1)
        .limits(limits);
    let server = EmbeddedServer::start(options).unwrap();
    let mut client = Client::connect(server.addr());
    for key in 0..5 {
        assert_eq!(
            client.ask(&format!("SET key:{key} {}", "x".repeat(1_000))),
            "+OK\\r\\n"
        );
    }
    assert!(client.ask("SET one more").starts_with("-OOM "));
    let mut second = Client::connect(server.addr());
    assert_eq!(second.rest(), "-ERR max number of clients reached\\r\\n");
    client.send("*1\r\n$1001\r\n");
    assert_eq!(
        client.rest(),
        "-ERR Protocol error: invalid bulk length\\r\\n"
    );
}

#[test]
fn what_a_client_is_shows_in_the_list() {
    let server = EmbeddedServer::start(Options::default().user("app", "pass")).unwrap();
    let mut client = Client::connect(server.addr());
    assert!(
        client
            .ask("HELLO 3 AUTH app pass SETNAME it")
            .starts_with('%')
    );
    for command in [
        "SELECT 3",
        "WATCH a",
        "CLIENT TRACKING ON",
        "MULTI",
        "GET k",
    ] {
        client.ask(command);
    }
    let listed = server.client_list();
    assert_eq!(listed.len(), 1);
    let it = &listed[0];
    assert_eq!(
        (it.name(), it.user(), it.database(), it.resp()),
        ("it", "app", 3, 3)
    );
    assert_eq!(
        (it.field("multi"), it.field("watch"), it.field("flags")),
        ("1", "1", "xt")
    );

    let mut other = Client::connect(server.addr());
    assert!(other.ask("CLIENT LIST").contains("name=it "));
    assert_eq!(other.ask("CLIENT KILL USER app"), ":1\\r\\n");
    server.wait_until(SOON, |stats| stats.open == 1).unwrap();

    client = Client::connect(server.addr());
    assert!(
        client
            .ask("CLIENT INFO")
            .contains("db=0 sub=0 psub=0 ssub=0 multi=-1 watch=0")
    );
}

#[test]
fn a_waiting_client_is_freed_by_another() {
    let server = EmbeddedServer::start(Options::default()).unwrap();
    let (mut waiting, mut other) = (
        Client::connect(server.addr()),
        Client::connect(server.addr()),
    );
    waiting.send(encode("BLPOP q 0"));
    server.wait_until(SOON, |stats| stats.blocked == 1).unwrap();
    let id = server.client_list()[0].id();
    assert_eq!(other.ask(&format!("CLIENT UNBLOCK {id} ERROR")), ":1\\r\\n");
    assert!(waiting.frame().starts_with("-UNBLOCKED "));
    // One that goes while it waits takes nothing with it.
    waiting.send(encode("BLPOP q 0"));
    server.wait_until(SOON, |stats| stats.blocked == 1).unwrap();
    drop(waiting);
    server.wait_until(SOON, |stats| stats.open == 1).unwrap();
    assert_eq!(other.ask("RPUSH q x"), ":1\\r\\n");
    assert_eq!(other.ask("LLEN q"), ":1\\r\\n");
}

#[test]
fn dropping_it_closes_every_connection_and_leaves_no_file() {
    let server = EmbeddedServer::start(Options::default()).unwrap();
    let mut client = Client::connect(server.addr());
    assert_eq!(client.ask("PING"), "+PONG\\r\\n");
    let (addr, socket) = (server.addr(), server.socket());
    assert!(socket.exists());
    drop(server);
    assert_eq!(client.rest(), "");
    assert!(!socket.exists() && !socket.parent().unwrap().exists());
    assert!(TcpStream::connect(addr).is_err());
}

#[test]
fn many_clients_pipeline_at_once() {
    let server = EmbeddedServer::start(Options::default()).unwrap();
    let addr = server.addr();
    let workers: Vec<_> = (0..8)
        .map(|_| {
            std::thread::spawn(move || {
                let mut client = Client::connect(addr);
                let burst = encode("INCR n").repeat(500);
                for _ in 0..4 {
                    client.send(&burst);
                    (0..500).for_each(|_| assert!(client.frame().starts_with(':')));
                }
            })
        })
        .collect();
    workers
        .into_iter()
        .for_each(|worker| worker.join().unwrap());
    assert_eq!(Client::connect(addr).ask("GET n"), "$5\\r\\n16000\\r\\n");
}
