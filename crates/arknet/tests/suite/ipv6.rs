//! IPv6 through the same calls, and both families together.

use std::net::{Ipv6Addr, SocketAddr, TcpListener, TcpStream};

use arknet::tcp::{Server, ServerConfig};
use arknet::{Lanes, PeerAddress};

use crate::addresses::exchange;
use crate::harness::{LIMIT, Role, wait};

/// Whether this machine has IPv6 at all.
#[allow(clippy::print_stdout, reason = "a skip is loud")]
fn has_ipv6() -> bool {
    let has = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok();
    if !has {
        println!("SKIPPED: this machine has no IPv6");
    }
    has
}

fn start(lanes: &Lanes, address: &str, config: ServerConfig) -> Server {
    let echo = |mut connection: arknet::Connection| async move {
        while let Ok(Some(message)) = connection.recv().await {
            connection.send(message).await.unwrap();
        }
    };
    Server::serve(lanes, address, config, echo).unwrap()
}

#[test]
fn brackets_and_a_port_are_an_address() {
    if !has_ipv6() {
        return;
    }
    let lanes = Lanes::shared(1).unwrap();
    let server = start(&lanes, "[::1]:0", ServerConfig::new());
    let bound = server.local_addr().clone();
    assert_eq!(bound.ip().unwrap().ip(), Ipv6Addr::LOCALHOST);
    assert!(bound.to_string().starts_with("[::1]:"), "{bound}");
    let port = bound.ip().unwrap().port();
    assert_eq!(exchange(&lanes, bound.to_string()), bound);
    assert_eq!(exchange(&lanes, ("::1", port)), bound);
    assert_eq!(exchange(&lanes, &bound), bound);
    wait("the lanes end", lanes.shutdown(LIMIT));
}

#[test]
fn one_family_is_taken_unless_both_are_asked_for() {
    if !has_ipv6() {
        return;
    }
    let lanes = Lanes::shared(1).unwrap();
    for (only, takes_both) in [(None, false), (Some(true), false), (Some(false), true)] {
        let config = match only {
            None => ServerConfig::new(),
            Some(only) => ServerConfig::new().v6_only(only),
        };
        let server = start(&lanes, "[::]:0", config);
        let port = server.local_addr().ip().unwrap().port();
        exchange(&lanes, ("::1", port));
        let over_4: SocketAddr = ([127, 0, 0, 1], port).into();
        assert_eq!(
            TcpStream::connect(over_4).is_ok(),
            takes_both,
            "v6_only {only:?}"
        );
        if takes_both {
            exchange(&lanes, over_4);
        }
    }
    wait("the lanes end", lanes.shutdown(LIMIT));
}

/// `localhost` has both addresses on most machines; whichever the server has is found.
#[allow(clippy::print_stdout, reason = "a skip is loud")]
#[test]
fn a_name_is_tried_in_both_families() {
    if !has_ipv6() {
        return;
    }
    let lanes = Lanes::shared(1).unwrap();
    use std::net::ToSocketAddrs;
    let names: Vec<SocketAddr> = ("localhost", 1).to_socket_addrs().unwrap().collect();
    for address in ["[::1]:0", "127.0.0.1:0"] {
        let server = start(&lanes, address, ServerConfig::new());
        let bound = server.local_addr().ip().unwrap();
        if names.iter().any(|name| name.ip() == bound.ip()) {
            let peer = exchange(&lanes, ("localhost", bound.port()));
            assert_eq!(peer, PeerAddress::Ip(bound));
        } else {
            println!("SKIPPED: localhost is not {}", bound.ip());
        }
    }
    wait("the lanes end", lanes.shutdown(LIMIT));
}

over_tcp![a_cell_echoes_over_ipv6];

fn a_cell_echoes_over_ipv6(cell: crate::harness::Cell) {
    if !has_ipv6() {
        return;
    }
    let host = crate::harness::Host::new(cell);
    let (probe, seen) = crate::harness::log();
    let server = host.server_on("[::1]:0", host.server_config(), &probe, Role::Echo);
    let (client, log) = host.client(&server, host.client_config());
    log.opened();
    let session = seen.opened();
    assert_eq!(session.peer_addr(), client.handle().local_addr());
    client.send("hello").unwrap();
    assert_eq!(log.message(), b"hello");
    host.finish();
}
