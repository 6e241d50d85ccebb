//! The launcher of real Redis servers: what a test asks for is what it gets, and nothing stays behind.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use arknet_testkit::need;
use arknet_testkit::process::{Peer, which};
use arknet_testkit::servers::redis::{Options, Product, RedisServer, Transport};

const SOON: Duration = Duration::from_secs(10);

/// Sends an inline command and reads the first line of the reply.
fn ask(mut stream: impl Read + Write, command: &str) -> String {
    stream
        .write_all(format!("{command}\r\n").as_bytes())
        .unwrap();
    let mut line = Vec::new();
    let mut byte = [0];
    while !line.ends_with(b"\r\n") {
        stream.read_exact(&mut byte).unwrap();
        line.push(byte[0]);
    }
    String::from_utf8(line).unwrap().trim_end().to_owned()
}

#[test]
fn a_server_answers_on_tcp_and_on_its_unix_socket() {
    let server = need!(RedisServer::start(Options::default()));
    assert_eq!(
        ask(TcpStream::connect(server.addr()).unwrap(), "PING"),
        "+PONG"
    );
    assert_eq!(
        ask(UnixStream::connect(server.socket()).unwrap(), "PING"),
        "+PONG"
    );
    assert_eq!(
        server.url(Transport::Tcp),
        format!("redis://{}", server.addr())
    );
    assert!(!server.version().is_empty());
}

#[test]
fn valkey_answers_where_it_can_be_had() {
    let server = need!(RedisServer::start(
        Options::default().product(Product::Valkey)
    ));
    assert!(
        server
            .cli(&["INFO", "server"])
            .text()
            .contains("valkey_version:")
    );
}

#[test]
fn its_certificate_is_good_and_it_demands_the_clients_where_told() {
    let open = need!(RedisServer::start(Options::default()));
    let strict = need!(RedisServer::start(
        Options::default().demand_client_certificates()
    ));
    if which("openssl").is_none() {
        arknet_testkit::skip!("openssl is not installed");
    }
    assert!(pings_over_tls(&open, false));
    assert!(pings_over_tls(&open, true));
    assert!(!pings_over_tls(&strict, false));
    assert!(pings_over_tls(&strict, true));
}

fn pings_over_tls(server: &RedisServer, with_certificate: bool) -> bool {
    let mut command = Command::new("openssl");
    command.args([
        "s_client",
        "-quiet",
        "-verify_return_error",
        "-verify_ip",
        "127.0.0.1",
    ]);
    command.arg("-CAfile").arg(server.authority_file());
    command.arg("-connect").arg(server.tls_addr().to_string());
    if with_certificate {
        command.arg("-cert").arg(&server.client_files().cert);
        command.arg("-key").arg(&server.client_files().key);
    }
    let mut peer = Peer::spawn(command).unwrap();
    // Refused, it may have ended before this.
    let _ = peer.write(b"PING\r\n");
    peer.stdout().line_containing("+PONG", SOON).is_ok()
}

#[test]
fn users_and_passwords_are_those_of_the_options() {
    let odd = "p@ss:/?#% \"\\é";
    let options = Options::default()
        .password("root")
        .user("app", odd)
        .user_with("reader", "r", &["~*", "+get"]);
    let server = need!(RedisServer::start(options));
    // The control connection has authenticated.
    assert_eq!(server.cli(&["ACL", "WHOAMI"]).text(), "default");
    assert_eq!(
        ask(TcpStream::connect(server.addr()).unwrap(), "PING"),
        "-NOAUTH Authentication required."
    );
    assert_eq!(server.cli(&["AUTH", "app", odd]).text(), "OK");
    assert_eq!(server.cli(&["AUTH", "reader", "r"]).text(), "OK");
    let refused = server.cli(&["SET", "k", "v"]);
    assert!(
        refused.error().unwrap().starts_with("NOPERM"),
        "{refused:?}"
    );
    assert_eq!(
        server.url_as(Transport::Tcp, "app", odd),
        format!(
            "redis://app:p%40ss%3A%2F%3F%23%25%20%22%5C%C3%A9@{}",
            server.addr()
        )
    );
}

#[test]
fn clients_are_listed_and_killed() {
    let server = need!(RedisServer::start(Options::default()));
    assert_eq!(server.client_list(), []);
    let mut client = TcpStream::connect(server.addr()).unwrap();
    client.set_read_timeout(Some(SOON)).unwrap();
    assert_eq!(ask(&client, "CLIENT SETNAME it"), "+OK");
    assert_eq!(ask(&client, "SELECT 5"), "+OK");
    let listed = server.client_list();
    assert_eq!(
        (listed.len(), listed[0].name(), listed[0].database()),
        (1, "it", 5)
    );

    assert_eq!(server.kill_clients(), 1);
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
    assert_eq!(server.client_list(), []);
}

#[test]
fn a_stopped_server_refuses_and_comes_back_empty_on_the_same_ports() {
    let server = need!(RedisServer::start(Options::default()));
    let (addr, socket) = (server.addr(), server.socket());
    server.cli(&["SET", "k", "v"]);
    server.stop();
    assert!(TcpStream::connect(addr).is_err());
    server.restart();
    assert_eq!(ask(TcpStream::connect(addr).unwrap(), "PING"), "+PONG");
    assert_eq!(ask(UnixStream::connect(socket).unwrap(), "EXISTS k"), ":0");
}

#[test]
fn a_frozen_server_keeps_connections_and_answers_when_thawed() {
    let server = need!(RedisServer::start(Options::default()));
    let mut client = TcpStream::connect(server.addr()).unwrap();
    assert_eq!(ask(&client, "PING"), "+PONG");
    server.freeze();
    client
        .set_read_timeout(Some(Duration::from_millis(50)))
        .unwrap();
    client.write_all(b"PING\r\n").unwrap();
    assert!(client.read(&mut [0]).is_err());
    server.thaw();
    client.set_read_timeout(Some(SOON)).unwrap();
    let mut reply = [0; 7];
    client.read_exact(&mut reply).unwrap();
    assert_eq!(&reply, b"+PONG\r\n");
}

#[test]
fn a_paused_server_answers_after_the_pause() {
    let server = need!(RedisServer::start(Options::default()));
    let pause = Duration::from_millis(60);
    let began = std::time::Instant::now();
    server.pause(pause);
    assert_eq!(
        ask(TcpStream::connect(server.addr()).unwrap(), "PING"),
        "+PONG"
    );
    // The server counts in milliseconds of a clock that it looks at now and then.
    assert!(
        began.elapsed() >= pause - Duration::from_millis(5),
        "{:?}",
        began.elapsed()
    );
}

#[test]
fn tests_of_a_process_share_a_server_while_one_holds_it() {
    let first = need!(RedisServer::shared(Product::Redis, Transport::Tcp));
    let again = need!(RedisServer::shared(Product::Redis, Transport::Unix));
    let mutual = need!(RedisServer::shared(Product::Redis, Transport::Mtls));
    assert!(Arc::ptr_eq(&first, &again));
    assert!(!Arc::ptr_eq(&first, &mutual));
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_outlives_the_thread_that_asked_for_it_and_leaves_nothing_behind() {
    let server = std::thread::spawn(|| RedisServer::start(Options::default()))
        .join()
        .unwrap();
    let server = need!(server);
    let folder = server.socket().parent().unwrap().to_owned();
    let id: u32 = server
        .cli(&["INFO", "server"])
        .text()
        .lines()
        .find_map(|line| line.strip_prefix("process_id:"))
        .unwrap()
        .parse()
        .unwrap();
    let process = std::path::PathBuf::from(format!("/proc/{id}"));
    assert!(process.exists());
    drop(server);
    assert!(!process.exists());
    assert!(!folder.exists());
}

#[test]
fn a_server_that_cannot_start_says_why() {
    let options = Options::default().line("no-such-directive yes");
    let started = std::panic::catch_unwind(|| RedisServer::start(options).map(drop));
    let Err(panic) = started else {
        need!(started.unwrap());
        panic!("it started with a directive that is none");
    };
    let said = panic.downcast_ref::<String>().unwrap();
    assert!(said.contains("no-such-directive"), "{said}");
}
