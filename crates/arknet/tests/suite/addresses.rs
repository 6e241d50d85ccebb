//! Where to listen and to connect: texts, names, ports, files, and what a failed start says.

use std::net::SocketAddr;

use arknet::tcp::{Address, ClientConfig, Error, ErrorKind, Server, ServerConfig, connect};
use arknet::{Connection, Lanes, PeerAddress};
use arknet_testkit::TempDir;

use crate::harness::{LIMIT, wait};

async fn echo(mut connection: Connection) {
    while let Ok(Some(message)) = connection.recv().await {
        if connection.send(message).await.is_err() {
            return;
        }
    }
}

fn start(lanes: &Lanes, address: impl arknet::tcp::ToAddress) -> Result<Server, Error> {
    Server::serve(lanes, address, ServerConfig::new(), echo)
}

/// Connects and exchanges a message; returns the address of the peer.
pub(crate) fn exchange(lanes: &Lanes, address: impl arknet::tcp::ToAddress) -> PeerAddress {
    wait("an exchange", async {
        let mut connection = connect(lanes, address, ClientConfig::new()).await.unwrap();
        connection.send("hello").await.unwrap();
        assert_eq!(connection.recv().await.unwrap().unwrap(), "hello");
        let peer = connection.peer_addr().unwrap();
        connection.close().await;
        peer
    })
}

#[test]
fn an_address_may_be_written_in_many_ways() {
    let lanes = Lanes::shared(1).unwrap();
    let server = start(&lanes, "127.0.0.1:0").unwrap();
    let bound: SocketAddr = server.local_addr().ip().unwrap();
    assert_ne!(
        bound.port(),
        0,
        "the port that the system chose is read back"
    );
    let text = bound.to_string();
    let peers = [
        exchange(&lanes, text.as_str()),
        exchange(&lanes, &text),
        exchange(&lanes, text.clone()),
        exchange(&lanes, bound),
        exchange(&lanes, ("127.0.0.1", bound.port())),
        exchange(&lanes, Address::Ip(bound)),
        exchange(&lanes, server.local_addr()),
        exchange(&lanes, ("localhost", bound.port())),
        exchange(&lanes, format!("localhost:{}", bound.port())),
    ];
    for peer in peers {
        assert_eq!(peer, PeerAddress::Ip(bound));
    }
    wait("the lanes end", lanes.shutdown(LIMIT));
}

#[test]
fn texts_that_are_no_address_are_refused() {
    let lanes = Lanes::shared(1).unwrap();
    for (text, reason) in [
        ("localhost", "there is no port"),
        (
            "localhost:http",
            "the port is not a number from 0 to 65,535",
        ),
        (
            "127.0.0.1:65536",
            "the port is not a number from 0 to 65,535",
        ),
        ("::1:80", "an IPv6 address is written in brackets"),
        ("unix:", "the path is empty"),
    ] {
        let error = start(&lanes, text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Address);
        assert_eq!(
            error.to_string(),
            format!("{text:?} is not an address: {reason}")
        );
        let error = wait("an error", connect(&lanes, text, ClientConfig::new())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Address);
    }
    wait("the lanes end", lanes.shutdown(LIMIT));
}

#[test]
fn a_start_that_fails_says_what_was_tried() {
    let lanes = Lanes::shared(1).unwrap();
    let first = start(&lanes, "127.0.0.1:0").unwrap();
    let address = first.local_addr();
    let error = start(&lanes, address).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Bind);
    let text = format!(
        "bind {address}: {}",
        std::io::Error::from_raw_os_error(libc_in_use())
    );
    assert_eq!(error.to_string(), text);
    assert_eq!(
        exchange(&lanes, address),
        *address,
        "the first is not disturbed"
    );
    // TEST-NET-1 is no address of this machine (RFC 5737).
    let error = start(&lanes, "192.0.2.1:0").unwrap_err();
    assert!(
        error.to_string().starts_with("bind 192.0.2.1:0: "),
        "{error}"
    );
    wait("the lanes end", lanes.shutdown(LIMIT));
}

/// The system's number for an address in use.
fn libc_in_use() -> i32 {
    let first = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let second = std::net::TcpListener::bind(first.local_addr().unwrap());
    second.unwrap_err().raw_os_error().unwrap()
}

#[test]
fn a_name_without_an_address_is_an_error_of_its_own() {
    let lanes = Lanes::shared(1).unwrap();
    // The domain is reserved for names that do not exist (RFC 6761, section 6.4).
    let name = "nowhere.invalid";
    let error = start(&lanes, (name, 0)).unwrap_err();
    assert!(
        error.to_string().starts_with("resolve nowhere.invalid: "),
        "{error}"
    );
    let error = wait("an error", connect(&lanes, (name, 1), ClientConfig::new())).unwrap_err();
    assert!(
        matches!(&*error, Error::Resolve { host, .. } if host == name),
        "{error}"
    );
    wait("the lanes end", lanes.shutdown(LIMIT));
}

#[test]
fn a_connect_that_is_refused_says_where() {
    let lanes = Lanes::shared(1).unwrap();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = closed.local_addr().unwrap();
    drop(closed);
    let error = wait("an error", connect(&lanes, address, ClientConfig::new())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connect);
    assert!(
        error
            .to_string()
            .starts_with(&format!("connect to {address}: ")),
        "{error}"
    );
    wait("the lanes end", lanes.shutdown(LIMIT));
}

#[cfg(unix)]
mod unix {
    use super::*;

    #[test]
    fn a_socket_file_is_made_and_removed() {
        let lanes = Lanes::shared(1).unwrap();
        let folder = TempDir::new("ak").unwrap();
        let path = folder.join("socket");
        let server = start(&lanes, format!("unix:{}", path.display())).unwrap();
        assert_eq!(server.local_addr(), &PeerAddress::Unix(Some(path.clone())));
        assert!(path.exists());
        let peer = exchange(&lanes, server.local_addr());
        assert_eq!(peer, PeerAddress::Unix(Some(path.clone())));
        wait("the server ends", server.shutdown(LIMIT));
        assert!(!path.exists(), "removed with its server");
        wait("the lanes end", lanes.shutdown(LIMIT));
    }

    #[test]
    fn a_file_left_behind_is_replaced_and_one_in_use_is_not() {
        let lanes = Lanes::shared(1).unwrap();
        let folder = TempDir::new("ak").unwrap();
        let address = Address::Unix(folder.join("socket"));
        drop(std::os::unix::net::UnixListener::bind(folder.join("socket")).unwrap());
        assert!(folder.join("socket").exists(), "nobody listens on it");
        let server = start(&lanes, &address).unwrap();
        exchange(&lanes, server.local_addr());
        let error = start(&lanes, &address).unwrap_err();
        assert!(
            error.to_string().starts_with(&format!("bind {address}: ")),
            "{error}"
        );
        exchange(&lanes, server.local_addr());
        wait("the lanes end", lanes.shutdown(LIMIT));
    }

    #[test]
    fn a_file_that_is_no_socket_is_not_removed() {
        let lanes = Lanes::shared(1).unwrap();
        let folder = TempDir::new("ak").unwrap();
        let path = folder.join("notes");
        std::fs::write(&path, "keep").unwrap();
        let error = start(&lanes, Address::Unix(path.clone())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Bind);
        assert_eq!(std::fs::read(&path).unwrap(), b"keep");
        wait("the lanes end", lanes.shutdown(LIMIT));
    }

    #[test]
    fn tls_over_a_socket_file_needs_a_name() {
        let lanes = Lanes::shared(1).unwrap();
        let (_, tls) = crate::harness::certificates();
        let config = ClientConfig::new().tls(tls);
        let connected = wait("an error", connect(&lanes, "unix:/nowhere", config));
        assert!(matches!(&*connected.unwrap_err(), Error::Config(_)));
        wait("the lanes end", lanes.shutdown(LIMIT));
    }
}
