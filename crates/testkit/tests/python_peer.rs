//! The Python peer against itself and against plain sockets: it must be right before it judges us.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use arknet_testkit::certs::{Authority, Usage};
use arknet_testkit::process::{Peer, python_peer};
use arknet_testkit::proxy::{Direction, FaultProxy, Plan};
use arknet_testkit::{TempDir, skip};

const SOON: Duration = Duration::from_secs(20);

fn start(arguments: &[&str]) -> Option<Peer> {
    let mut command = python_peer()?;
    command.args(arguments).args(["--max-seconds", "30"]);
    Some(Peer::spawn(command).unwrap())
}

fn port(server: &Peer) -> u16 {
    server.stdout().next_line(SOON).unwrap().parse().unwrap()
}

/// Runs a client to its end and returns its success and what it said.
fn run_client(port: u16, arguments: &[&str]) -> (bool, String) {
    let port = port.to_string();
    let mut client = start(&[&["connect", "--port", &port], arguments].concat()).unwrap();
    let success = client.wait(SOON).unwrap().success();
    (success, client.stdout().text() + &client.stderr().text())
}

#[test]
fn echoes_in_both_framings_and_ends_by_itself() {
    for framing in ["raw", "length"] {
        let arguments = ["serve", "--framing", framing, "--connections", "1"];
        let Some(mut server) = start(&arguments) else {
            skip!("python3 is not installed")
        };
        let client = [
            "--framing",
            framing,
            "--window",
            "12",
            "--messages",
            "24",
            "--half-close",
        ];
        let (success, said) = run_client(port(&server), &client);
        assert!(
            success && said.contains("ok messages=24 bytes=526316"),
            "{said}"
        );
        assert!(server.wait(SOON).unwrap().success());
        server
            .stdout()
            .line_containing("served connections=1 failed=0", SOON)
            .unwrap();
    }
}

#[test]
fn speaks_the_length_prefix_of_the_specification() {
    let Some(server) = start(&["serve", "--framing", "length"]) else {
        skip!("python3 is not installed")
    };
    let port = port(&server);
    for (size, prefix) in [
        (0, &[0][..]),
        (1, &[1]),
        (253, &[253]),
        (254, &[254, 254, 0]),
        (65_535, &[254, 255, 255]),
        (65_536, &[255, 0, 0, 1, 0, 0, 0, 0, 0]),
    ] {
        let message = [prefix, &vec![7; size]].concat();
        let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        client.set_read_timeout(Some(SOON)).unwrap();
        client.write_all(&message).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut echo = Vec::new();
        client.read_to_end(&mut echo).unwrap();
        assert!(echo == message, "echo of {size} bytes differs");
    }
}

#[test]
fn refuses_prefixes_that_are_not_the_shortest_and_messages_above_the_limit() {
    let Some(server) = start(&["serve", "--framing", "length", "--limit", "1000"]) else {
        skip!("python3 is not installed")
    };
    let port = port(&server);
    for (prefix, complaint) in [
        (
            &[254, 253, 0][..],
            "prefix of 3 bytes for a message of 253 bytes",
        ),
        (
            &[255, 255, 255, 0, 0, 0, 0, 0, 0],
            "prefix of 9 bytes for a message of 65535 bytes",
        ),
        (
            &[254, 233, 3],
            "message of 1001 bytes is above the limit of 1000",
        ),
        (
            &[5, 1, 2],
            "stream ended inside a message, 3 of 5 bytes missing",
        ),
    ] {
        let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        client.write_all(prefix).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        server.stderr().line_containing(complaint, SOON).unwrap();
    }
}

#[test]
fn a_client_tells_a_wrong_echo() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let Some(mut client) = start(&["connect", "--port", &port, "--sizes", "4"]) else {
        skip!("python3 is not installed")
    };
    let mut server = listener.accept().unwrap().0;
    let mut message = [0; 4];
    server.read_exact(&mut message).unwrap();
    message[3] ^= 1;
    server.write_all(&message).unwrap();
    assert_eq!(client.wait(SOON).unwrap().code(), Some(1));
    client
        .stderr()
        .line_containing("echo differs", SOON)
        .unwrap();
}

#[test]
fn speaks_tls_with_client_certificates() {
    let dir = TempDir::new("arknet-peer").unwrap();
    let authority = Authority::new("Arknet Test").unwrap();
    let ca = text(&authority.write_to(&dir, "authority").unwrap());
    let server = authority
        .issue(&["localhost", "127.0.0.1"], Usage::Server)
        .unwrap();
    let server = server.write_to(&dir, "server").unwrap();
    let client = authority.issue(&["client"], Usage::Client).unwrap();
    let client = client.write_to(&dir, "client").unwrap();
    let (server_cert, server_key) = (text(&server.cert), text(&server.key));
    let (client_cert, client_key) = (text(&client.cert), text(&client.key));

    let tls = [
        "--cert",
        &server_cert,
        "--key",
        &server_key,
        "--cafile",
        &ca,
        "--alpn",
        "echo",
    ];
    let framing = ["serve", "--framing", "length"];
    let Some(server) = start(&[&framing[..], &tls].concat()) else {
        skip!("python3 is not installed")
    };
    let port = port(&server);
    let shown = [
        "--cafile",
        &ca,
        "--cert",
        &client_cert,
        "--key",
        &client_key,
        "--alpn",
        "echo",
    ];
    for version in ["1.2", "1.3"] {
        let more = ["--framing", "length", "--window", "12", "--tls", version];
        let (success, said) = run_client(port, &[&shown[..], &more].concat());
        assert!(success && said.contains("ok messages=100"), "{said}");
        assert!(said.contains(&format!("version=TLSv{version}")), "{said}");
        assert!(said.contains("alpn=echo peer=localhost"), "{said}");
        server
            .stderr()
            .line_containing("peer=client", SOON)
            .unwrap();
        server
            .stderr()
            .line_containing("connection ended in order", SOON)
            .unwrap();
    }

    let (success, said) = run_client(port, &["--cafile", &ca, "--framing", "length"]);
    assert!(
        !success,
        "a client without a certificate was served: {said}"
    );
    let named = ["--server-name", "other.test"];
    let (success, said) = run_client(port, &[&shown[..], &named].concat());
    assert!(
        !success && said.contains("CERTIFICATE_VERIFY_FAILED"),
        "{said}"
    );
}

#[test]
fn tells_a_cut_from_an_end_under_tls() {
    let dir = TempDir::new("arknet-peer").unwrap();
    let authority = Authority::new("Arknet Test").unwrap();
    let ca = text(&authority.write_to(&dir, "authority").unwrap());
    let files = authority.issue(&["127.0.0.1"], Usage::Server).unwrap();
    let files = files.write_to(&dir, "server").unwrap();
    let (cert, key) = (text(&files.cert), text(&files.key));
    let Some(server) = start(&["serve", "--cert", &cert, "--key", &key]) else {
        skip!("python3 is not installed")
    };
    let proxy = FaultProxy::start(([127, 0, 0, 1], port(&server)).into()).unwrap();
    proxy.set(Direction::ToServer, Plan::half_close_after(20_000));
    let (success, said) = run_client(proxy.addr().port(), &["--cafile", &ca, "--sizes", "1000"]);
    assert!(!success, "{said}");
    server
        .stderr()
        .line_containing("connection failed: SSLEOFError", SOON)
        .unwrap();
}

#[test]
fn ends_when_its_time_is_out() {
    let Some(mut command) = python_peer() else {
        skip!("python3 is not installed")
    };
    command.args(["serve", "--max-seconds", "1"]);
    let mut server = Peer::spawn(command).unwrap();
    assert_eq!(server.wait(SOON).unwrap().code(), Some(3));
    assert!(server.stderr().text().contains("out of time after 1 s"));
}

#[test]
fn refuses_addresses_of_other_machines() {
    let Some(mut server) = start(&["serve", "--host", "192.0.2.1"]) else {
        skip!("python3 is not installed")
    };
    assert_eq!(server.wait(SOON).unwrap().code(), Some(2));
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}
