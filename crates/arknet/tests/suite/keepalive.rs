//! Socket options: what a configuration says is what the kernel has.
#![cfg(target_os = "linux")]

use std::os::fd::OwnedFd;
use std::time::Duration;

use arknet::tcp::{Client, ClientConfig, Error, Keepalive, Server, ServerConfig};
use arknet::{Lanes, Session};
use socket2::SockRef;

use crate::harness::{LIMIT, wait};

/// A descriptor of this process's end of the connection between these addresses, as a second one of the same socket.
fn socket_between(local: std::net::SocketAddr, peer: std::net::SocketAddr) -> OwnedFd {
    let descriptors = std::fs::read_dir("/proc/self/fd").unwrap();
    for entry in descriptors {
        let number: i32 = entry
            .unwrap()
            .file_name()
            .to_str()
            .unwrap()
            .parse()
            .unwrap();
        // SAFETY: the descriptor is borrowed for this turn; one that was closed meanwhile is refused by the kernel.
        let borrowed = unsafe { std::os::fd::BorrowedFd::borrow_raw(number) };
        let socket = SockRef::from(&borrowed);
        let is = |address: std::io::Result<socket2::SockAddr>, wanted| {
            address.is_ok_and(|address| address.as_socket() == Some(wanted))
        };
        if is(socket.local_addr(), local) && is(socket.peer_addr(), peer) {
            return borrowed.try_clone_to_owned().unwrap();
        }
    }
    panic!("no socket between {local} and {peer}");
}

fn ignore(_: &mut Session, _: &[u8]) {}

/// The sockets of both ends of a connection with these configurations.
fn sockets(server: ServerConfig, client: ClientConfig) -> (Lanes, OwnedFd, OwnedFd) {
    let lanes = Lanes::shared(1).unwrap();
    let server = Server::start(&lanes, "127.0.0.1:0", server, |_| ignore).unwrap();
    let client = Client::start(&lanes, server.local_addr(), client, |_| ignore).unwrap();
    assert!(wait("connected", client.connected()));
    crate::harness::eventually("accepted", || !server.sessions().is_empty());
    let local = client.handle().local_addr().unwrap().ip().unwrap();
    let peer = client.handle().peer_addr().unwrap().ip().unwrap();
    (
        lanes,
        socket_between(peer, local),
        socket_between(local, peer),
    )
}

#[test]
fn keepalive_and_no_delay_are_on_by_default() {
    let (lanes, server, client) = sockets(ServerConfig::new(), ClientConfig::new());
    for descriptor in [server, client] {
        let socket = SockRef::from(&descriptor);
        assert!(socket.keepalive().unwrap() && socket.tcp_nodelay().unwrap());
        assert_eq!(
            socket.tcp_keepalive_time().unwrap(),
            Duration::from_secs(60)
        );
        assert_eq!(
            socket.tcp_keepalive_interval().unwrap(),
            Duration::from_secs(3)
        );
        assert_eq!(socket.tcp_keepalive_retries().unwrap(), 3);
    }
    wait("the lanes end", lanes.shutdown(LIMIT));
}

#[test]
fn what_is_configured_is_what_the_kernel_has() {
    let keepalive = Keepalive {
        idle: Duration::from_secs(7),
        interval: Duration::from_secs(2),
        probes: 5,
    };
    let server = ServerConfig::new()
        .keepalive(Some(keepalive))
        .no_delay(false)
        .socket_buffers(Some(20_000), Some(30_000));
    let client = ClientConfig::new().keepalive(None);
    let (lanes, server, client) = sockets(server, client);
    let socket = SockRef::from(&server);
    assert!(socket.keepalive().unwrap() && !socket.tcp_nodelay().unwrap());
    assert_eq!(socket.tcp_keepalive_time().unwrap(), keepalive.idle);
    assert_eq!(socket.tcp_keepalive_interval().unwrap(), keepalive.interval);
    assert_eq!(socket.tcp_keepalive_retries().unwrap(), keepalive.probes);
    // Linux doubles what it is told, for its own book-keeping.
    assert_eq!(socket.send_buffer_size().unwrap(), 40_000);
    assert_eq!(socket.recv_buffer_size().unwrap(), 60_000);
    assert!(!SockRef::from(&client).keepalive().unwrap(), "turned off");
    wait("the lanes end", lanes.shutdown(LIMIT));
}

#[test]
fn values_out_of_range_are_refused_before_any_socket_is_made() {
    let lanes = Lanes::shared(1).unwrap();
    let good = Keepalive::default();
    let seconds = Duration::from_secs;
    let times = "configuration: keepalive times are 1 to 32,767 seconds";
    let probes = "configuration: keepalive probes are 1 to 127";
    for (keepalive, text) in [
        (
            Keepalive {
                idle: Duration::ZERO,
                ..good
            },
            times,
        ),
        (
            Keepalive {
                idle: Duration::from_millis(999),
                ..good
            },
            times,
        ),
        (
            Keepalive {
                idle: seconds(32_768),
                ..good
            },
            times,
        ),
        (
            Keepalive {
                interval: Duration::ZERO,
                ..good
            },
            times,
        ),
        (
            Keepalive {
                interval: seconds(32_768),
                ..good
            },
            times,
        ),
        (Keepalive { probes: 0, ..good }, probes),
        (
            Keepalive {
                probes: 128,
                ..good
            },
            probes,
        ),
    ] {
        let config = ServerConfig::new().keepalive(Some(keepalive));
        let server = Server::start(&lanes, "127.0.0.1:0", config, |_| ignore);
        assert_eq!(server.unwrap_err().to_string(), text);
        let config = ClientConfig::new().keepalive(Some(keepalive));
        let client = Client::start(&lanes, "127.0.0.1:1", config, |_| ignore);
        assert_eq!(client.unwrap_err().to_string(), text);
    }
    let refused = [
        ServerConfig::new().send_queue(0, 1),
        ServerConfig::new().send_queue(1, 0),
        ServerConfig::new().max_connections(0),
    ];
    for config in refused {
        let server = Server::start(&lanes, "127.0.0.1:0", config, |_| ignore);
        assert!(matches!(server, Err(Error::Config(_))));
    }
    let config = ServerConfig::new()
        .framing(arknet::tcp::Framing::exact(10).unwrap())
        .max_message(9);
    let error = Server::start(&lanes, "127.0.0.1:0", config, |_| ignore).unwrap_err();
    let text = "framing: a message limit of 9 bytes is too small, this framing needs at least 10";
    assert_eq!(error.to_string(), text);
    wait("the lanes end", lanes.shutdown(LIMIT));
}
