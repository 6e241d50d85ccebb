//! Connecting again: what was sent on one connection is never sent on the next.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use arknet::tcp::{Address, Client, ReconnectPolicy};
use arknet::{CloseReason, Connection, Error, ErrorKind, Handler, SendError, Session};

use crate::harness::{Cell, Host, LIMIT, Log, Role, eventually, log, pattern, receive, wait};

in_every_cell![
    a_client_comes_back_after_its_server,
    sends_that_wait_are_lost_with_their_connection,
    a_first_connect_that_fails_is_tried_again,
    without_a_policy_a_loss_is_the_end,
];

in_every_cell_of![Tasks: a_connection_that_ends_elsewhere_is_made_again];

// An abort is seen as one over TCP only: a Unix domain socket has no reset to send.
mod a_connection_used_elsewhere {
    in_every_cell!(@models super::a_connection_used_elsewhere_belongs_to_one_generation, Tcp, Tasks);
}

const POLICY: ReconnectPolicy = ReconnectPolicy::fixed(Duration::from_millis(20));

fn a_client_comes_back_after_its_server(cell: Cell) {
    let host = Host::new(cell);
    let (probe, _) = log();
    let mut server = host.server_on(host.address(), host.server_config(), &probe, Role::Echo);
    let address = server.local_addr().clone();
    let (client, log) = host.client(&server, host.client_config().reconnect(POLICY));
    for generation in 1..=4 {
        let handle = log.opened();
        assert_eq!(
            handle.id(),
            client.handle().id(),
            "one session in all generations"
        );
        assert_eq!(handle.generation(), generation);
        client.send("hello").unwrap();
        assert_eq!(log.message(), b"hello");
        wait("the server ends", server.shutdown(LIMIT));
        let reason = a_connection_ended(&log);
        assert!(matches!(reason, CloseReason::Peer), "{reason:?}");
        server = host.server_on(&address, host.server_config(), &probe, Role::Echo);
    }
    host.finish();
}

/// Why a connection ended. An attempt to connect before the server is back says that it failed, too.
fn a_connection_ended(log: &Log) -> CloseReason {
    loop {
        let reason = log.ended();
        let failed = reason
            .error()
            .is_some_and(|error| error.kind() == ErrorKind::Connect);
        if !failed {
            return reason;
        }
    }
}

fn sends_that_wait_are_lost_with_their_connection(cell: Cell) {
    const SENDS: usize = 8;
    let host = Host::new(cell);
    let (probe, _seen) = log();
    let small = Some(32 * 1024);
    let config = host.server_config().socket_buffers(None, small);
    let server = host.server_on(host.address(), config, &probe, Role::Deaf);
    let address = server.local_addr().clone();
    let config = host.client_config().reconnect(POLICY);
    let (client, log) = host.client(&server, config.socket_buffers(small, None));
    log.opened();
    let (told, results) = channel();
    let send = |message: Vec<u8>| {
        let told = told.clone();
        client
            .handle()
            .send_with(message, move |_, result| told.send(result).unwrap())
            .unwrap();
    };
    for number in 0..SENDS {
        send(pattern(number, 256 * 1024));
    }
    // One more waits in the mailbox while the connection is lost.
    let (entered, held) = channel();
    let (release, released) = channel::<()>();
    let block = move |session: &mut Session| {
        entered.send(()).unwrap();
        released.recv_timeout(LIMIT).unwrap();
        session.handle().send("posted in generation 1").unwrap();
    };
    client.handle().post(block).unwrap();
    receive(&held, "the lane is held");
    send(b"mailed in generation 1".to_vec());
    release.send(()).unwrap();
    let cut = wait("the server ends", server.shutdown(Duration::ZERO));
    assert_eq!(cut.forced, 1, "{cut:?}");
    let mut lost = 0;
    for _ in 0..=SENDS {
        match receive(&results, "a send completes") {
            Ok(_) => assert_eq!(lost, 0, "in order"),
            Err(SendError::ConnectionLost { generation: 1 }) => lost += 1,
            Err(error) => panic!("{error:?}"),
        }
    }
    assert!(lost > 1);
    let (probe, seen) = crate::harness::log();
    let _server = host.server_on(&address, host.server_config(), &probe, Role::Record);
    log.opened();
    client.send("fresh").unwrap();
    assert_eq!(seen.message(), b"fresh");
    host.finish();
    assert!(seen.has_message().is_none() && results.try_recv().is_err());
}

/// An address where nobody listens yet.
fn unused(host: &Host) -> Address {
    match host.address() {
        Address::Ip(any) => {
            let closed = std::net::TcpListener::bind(any).unwrap();
            Address::Ip(closed.local_addr().unwrap())
        }
        other => other,
    }
}

fn a_first_connect_that_fails_is_tried_again(cell: Cell) {
    let host = Host::new(cell);
    let address = unused(&host);
    let (probe, log) = log();
    let config = host.client_config().reconnect(POLICY);
    let client = host.client_on(&address, config, &probe, Role::Record);
    for _ in 0..3 {
        let reason = log.ended();
        let error = reason.error().unwrap();
        assert_eq!(error.kind(), ErrorKind::Connect);
        assert!(
            error
                .to_string()
                .starts_with(&format!("connect to {address}: ")),
            "{error}"
        );
    }
    assert!(matches!(client.send("early"), Err(SendError::NotConnected)));
    let (server_probe, _seen) = crate::harness::log();
    let _server = host.server_on(&address, host.server_config(), &server_probe, Role::Echo);
    assert!(wait("connected", client.connected()));
    assert_eq!(log.opened().generation(), 1, "failures are no generations");
    client.send("hello").unwrap();
    assert_eq!(log.message(), b"hello");
    host.finish();
}

fn without_a_policy_a_loss_is_the_end(cell: Cell) {
    let host = Host::new(cell);
    let (server, client, log) = host.echo();
    wait("the server ends", server.shutdown(LIMIT));
    assert!(matches!(log.ended(), CloseReason::Peer));
    assert!(!wait("the end", client.connected()));
    wait("the end", client.handle().closed());
    host.finish();
}

/// A client whose connections are used by the test's thread.
fn elsewhere(host: &Host, server: &arknet::tcp::Server) -> (Client, Receiver<Connection>) {
    let (moved, connections) = channel::<Connection>();
    let run = move |connection| {
        moved.send(connection).unwrap();
        async {}
    };
    let config = host.client_config().reconnect(POLICY);
    let client = Client::run(&host.lanes, server.local_addr(), config, run).unwrap();
    (client, connections)
}

fn echoes(connection: &mut Connection, message: &'static str) {
    wait("a send", connection.send(message)).unwrap();
    let echo = wait("an echo", connection.recv()).unwrap();
    assert_eq!(echo.unwrap(), message);
}

fn a_connection_that_ends_elsewhere_is_made_again(cell: Cell) {
    let host = Host::new(cell);
    let (probe, _) = log();
    let mut server = host.server_on(host.address(), host.server_config(), &probe, Role::Echo);
    let (client, connections) = elsewhere(&host, &server);
    for _ in 0..3 {
        let mut connection = receive(&connections, "a connection");
        echoes(&mut connection, "hello");
        let ending = server.shutdown(LIMIT);
        assert!(wait("the end", connection.recv()).unwrap().is_none());
        drop(connection);
        wait("the server ends", ending);
        let address = server.local_addr().clone();
        server = host.server_on(&address, host.server_config(), &probe, Role::Echo);
    }
    drop(receive(&connections, "a connection"));
    wait("the client ends", client.handle().closed());
    host.finish();
}

fn a_connection_used_elsewhere_belongs_to_one_generation(cell: Cell) {
    let host = Host::new(cell);
    let (server, _, seen) = host.server(host.server_config(), Role::Echo);
    let (client, connections) = elsewhere(&host, &server);
    let mut first = receive(&connections, "the first connection");
    echoes(&mut first, "one");
    wait("a send", first.send("unread")).unwrap();
    eventually("it is here", || first.handle().received_messages() == 2);
    seen.opened().abort();
    let mut second = receive(&connections, "the second connection");
    echoes(&mut second, "two");
    assert!(
        wait("a refusal", first.send("stale"))
            .unwrap_err()
            .is_closed()
    );
    assert!(first.try_send("stale").unwrap_err().is_closed());
    assert!(wait("a refusal", first.flush()).unwrap_err().is_closed());
    assert!(!first.is_open() && second.is_open());
    assert_eq!(
        wait("what had arrived", first.recv()).unwrap().unwrap(),
        "unread"
    );
    assert!(wait("the end", first.recv()).is_err());
    first.abort();
    echoes(&mut second, "three");
    drop(second);
    wait("the client ends", client.handle().closed());
    host.finish();
}

struct Failing(std::sync::mpsc::Sender<Arc<Error>>);

impl Handler for Failing {
    fn on_message(&mut self, _: &mut Session, _: &[u8]) {}

    fn on_connect_failed(&mut self, _: &mut Session, error: &Arc<Error>) {
        self.0.send(error.clone()).unwrap();
    }
}

#[test]
fn a_handler_hears_of_each_attempt_that_the_policy_allows() {
    let lanes = arknet::Lanes::shared(1).unwrap();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address: SocketAddr = closed.local_addr().unwrap();
    drop(closed);
    let (told, failures) = channel();
    let policy = ReconnectPolicy::fixed(Duration::from_millis(1)).attempts(3);
    let config = arknet::tcp::ClientConfig::new().reconnect(policy);
    let client = Client::start(&lanes, address, config, move |_| Failing(told.clone())).unwrap();
    assert!(!wait("the client gives up", client.connected()));
    drop(client);
    let errors: Vec<_> = failures.iter().collect();
    assert_eq!(errors.len(), 4, "the first attempt and three more");
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::Connect);
    }
}

/// Holds its lane for a while between one connection and the next.
struct Slow(std::sync::mpsc::Sender<u64>);

impl Handler for Slow {
    fn on_open(&mut self, session: &mut Session) {
        self.0.send(session.generation()).unwrap();
    }

    fn on_message(&mut self, _: &mut Session, _: &[u8]) {}

    fn on_close(&mut self, _: &mut Session, _: &CloseReason) {
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_client_that_connects_again_has_not_ended() {
    let lanes = arknet::Lanes::sharded(1).unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (told, opened) = channel();
    let config = arknet::tcp::ClientConfig::new().reconnect(POLICY);
    let address = listener.local_addr().unwrap();
    let client = Client::start(&lanes, address, config, move |_| Slow(told.clone())).unwrap();
    let (first, _) = listener.accept().unwrap();
    assert_eq!(receive(&opened, "the first"), 1);
    let handle = client.handle().clone();
    let (told, ended) = channel();
    let waiter = std::thread::spawn(move || {
        wait("the end", handle.closed());
        told.send(()).unwrap();
    });
    drop(first);
    let _second = listener.accept().unwrap();
    assert_eq!(receive(&opened, "the second"), 2);
    assert!(ended.try_recv().is_err(), "it has come back");
    client.handle().abort();
    receive(&ended, "the end");
    waiter.join().unwrap();
}
