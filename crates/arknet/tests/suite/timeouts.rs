//! Time limits: silence, connecting, shaking hands, closing.

use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use arknet::CloseReason;
use arknet::tcp::{ErrorKind, connect};

use crate::harness::{Cell, Host, LIMIT, Role, Transport, log, wait};

in_every_cell![a_silent_peer_is_closed, a_close_ends_at_its_timeout];

over_tcp![
    a_peer_that_speaks_is_not_silent,
    a_server_does_not_wait_for_a_handshake_for_ever,
    a_client_does_not_wait_for_a_handshake_for_ever,
    connecting_ends_at_its_timeout,
];

const SHORT: Duration = Duration::from_millis(80);

fn a_silent_peer_is_closed(cell: Cell) {
    let host = Host::new(cell);
    let config = host.server_config().idle_timeout(SHORT);
    let (server, _, seen) = host.server(config, Role::Record);
    let (client, log) = host.client(&server, host.client_config());
    log.opened();
    let session = seen.opened();
    let reason = seen.ended();
    let error = reason.error().unwrap();
    assert!(
        error.is_timeout() && error.to_string().ends_with("was silent for 80ms"),
        "{error}"
    );
    wait("the client ends", client.handle().closed());
    assert!(session.is_closed());
    // It can be changed and turned off by the session.
    let config = host.server_config().idle_timeout(Duration::from_secs(3600));
    let (server, _, seen) = host.server(config, Role::Record);
    let (_client, log) = host.client(&server, host.client_config());
    log.opened();
    let change = |session: &mut arknet::Session| {
        session.set_idle_timeout(None);
        session.set_idle_timeout(Some(SHORT));
    };
    seen.opened().post(change).unwrap();
    assert!(seen.ended().error().unwrap().is_timeout());
    host.finish();
}

fn a_peer_that_speaks_is_not_silent(cell: Cell) {
    let host = Host::new(cell);
    let config = host.server_config().idle_timeout(SHORT);
    let (server, _, seen) = host.server(config, Role::Record);
    let (client, log) = host.client(&server, host.client_config());
    log.opened();
    let began = Instant::now();
    let beat = |session: &mut arknet::Session| {
        session.set_interval_with(1, SHORT / 8, |session| drop(session.send("")));
    };
    client.handle().post(beat).unwrap();
    // A machine that stalls for as long as the timeout would make the client silent indeed.
    let mut last = began;
    while began.elapsed() < SHORT * 4 {
        assert_eq!(seen.message(), b"");
        let stalled = last.elapsed() > SHORT / 2;
        last = Instant::now();
        assert!(stalled || seen.has_ended().is_none());
        if stalled {
            return;
        }
    }
    client
        .handle()
        .post(|session| assert!(session.cancel_timer(1)))
        .unwrap();
    assert!(seen.ended().error().unwrap().is_timeout());
    host.finish();
}

/// A peer that does not end its stream holds a graceful close no longer than the close timeout.
fn a_close_ends_at_its_timeout(cell: Cell) {
    let host = Host::new(cell);
    let (server, deaf, seen) = host.server(host.server_config(), Role::Deaf);
    let (client, log) = host.client(&server, host.client_config().close_timeout(SHORT));
    log.opened();
    seen.opened();
    let began = Instant::now();
    client.handle().close();
    assert!(matches!(log.ended(), CloseReason::Local));
    assert!(began.elapsed() >= SHORT && began.elapsed() < LIMIT / 2);
    drop(deaf);
    host.finish();
}

fn with_tls(cell: Cell) -> Host {
    Host::new(Cell {
        transport: Transport::Tcps,
        ..cell
    })
}

fn a_server_does_not_wait_for_a_handshake_for_ever(cell: Cell) {
    let host = with_tls(cell);
    let config = host.server_config().handshake_timeout(SHORT);
    let (server, _, seen) = host.server(config, Role::Echo);
    let began = Instant::now();
    let mut silent = TcpStream::connect(server.local_addr().ip().unwrap()).unwrap();
    let reason = seen.ended();
    assert!(began.elapsed() >= SHORT);
    let error = reason.error().unwrap();
    let text = format!(
        "tls with {}: handshake not done within 80ms",
        silent.local_addr().unwrap()
    );
    assert_eq!(error.to_string(), text);
    silent.set_read_timeout(Some(LIMIT)).unwrap();
    assert!(matches!(silent.read(&mut [0]), Ok(0) | Err(_)));
    assert_eq!(server.accepted(), 1);
    let (_client, log) = host.client(&server, host.client_config());
    log.opened();
    host.finish();
}

fn a_client_does_not_wait_for_a_handshake_for_ever(cell: Cell) {
    let host = with_tls(cell);
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let text = format!("connect to {address}: not connected within 80ms");
    let (probe, log) = log();
    let config = || host.client_config().connect_timeout(SHORT);
    let client = host.client_on(address, config(), &probe, Role::Record);
    assert_eq!(log.ended().to_string(), text);
    assert!(!wait("the end", client.connected()));
    let error = wait("an error", connect(&host.lanes, address, config())).unwrap_err();
    assert_eq!(
        (error.to_string(), error.kind()),
        (text, ErrorKind::Timeout)
    );
    host.finish();
}

/// On a listener whose queue is full, connections are neither made nor refused.
fn connecting_ends_at_its_timeout(cell: Cell) {
    let host = Host::new(cell);
    let full = crate::shutdown::Full::new();
    let address = full.address();
    let began = Instant::now();
    let config = host.client_config().connect_timeout(SHORT);
    let error = wait("an error", connect(&host.lanes, address, config)).unwrap_err();
    assert!(began.elapsed() >= SHORT && error.is_timeout(), "{error}");
    host.finish();
}

/// Hears of each attempt that fails.
struct Attempts(std::sync::mpsc::Sender<ErrorKind>);

impl arknet::Handler for Attempts {
    fn on_message(&mut self, _: &mut arknet::Session, _: &[u8]) {}

    fn on_connect_failed(
        &mut self,
        _: &mut arknet::Session,
        error: &std::sync::Arc<arknet::Error>,
    ) {
        self.0.send(error.kind()).unwrap();
    }
}

/// The clock of an attempt that failed early goes off in the middle of the next one, which stalls.
#[test]
fn an_attempt_that_follows_a_failed_one_ends_at_its_own_timeout() {
    let lanes = arknet::Lanes::sharded(1).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (told, attempts) = std::sync::mpsc::channel();
    let policy = arknet::tcp::ReconnectPolicy::fixed(Duration::from_millis(5));
    let config = arknet::tcp::ClientConfig::new()
        .tls(crate::harness::certificates().1)
        .connect_timeout(SHORT)
        .reconnect(policy);
    let start = move |_: &arknet::Session| Attempts(told.clone());
    let client = arknet::tcp::Client::start(&lanes, address, config, start).unwrap();
    drop(listener.accept().unwrap());
    let first = crate::harness::receive(&attempts, "the first attempt fails");
    assert_ne!(first, ErrorKind::Timeout);
    let second = crate::harness::receive(&attempts, "the second attempt ends");
    assert_eq!(second, ErrorKind::Timeout);
    client.handle().abort();
}
