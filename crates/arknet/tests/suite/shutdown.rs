//! Ending: in every state, from everywhere, within its deadline, with a report that adds up.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use arknet::tcp::{Client, ReconnectPolicy, Server};
use arknet::{CloseReason, LanesError, SendError, Session, ShutdownReport};

use crate::harness::{
    Cell, Host, LIMIT, Model, Role, Style, Transport, eventually, log, pattern, receive, wait,
};

in_every_cell![
    everything_accepted_is_handed_over_first,
    a_blocked_write_does_not_hold_a_client,
    a_blocked_write_does_not_hold_a_server,
    under_load_the_report_accounts_for_all,
    from_inside_of_a_session_it_only_begins,
    a_server_starts_again_on_its_address,
    what_is_asked_afterwards_is_answered,
];

over_tcp![
    a_client_that_connects_is_shut_down,
    a_client_that_shakes_hands_is_shut_down,
    a_server_that_shakes_hands_is_shut_down,
    a_client_that_waits_to_reconnect_is_shut_down
];

/// Far less than the deadlines of the endpoints themselves.
const SOON: Duration = Duration::from_secs(5);

fn everything_accepted_is_handed_over_first(cell: Cell) {
    const MESSAGES: usize = 40;
    let host = Host::new(cell);
    let (server, deaf, seen) = host.server(host.server_config(), Role::Deaf);
    let (client, log) = host.client(&server, host.client_config());
    log.opened();
    let session = seen.opened();
    for number in 0..MESSAGES {
        client.send(pattern(number, 50_000)).unwrap();
    }
    let shutdown = client.shutdown(LIMIT);
    deaf.read(&session);
    for number in 0..MESSAGES {
        assert!(
            seen.message() == pattern(number, 50_000),
            "message {number}"
        );
    }
    let report = wait("the client ends", shutdown);
    assert_eq!(
        (report.closed, report.forced, report.dropped_messages),
        (1, 0, 0)
    );
    assert!(matches!(log.ended(), CloseReason::Local));
    assert!(matches!(seen.ended(), CloseReason::Peer));
    let report = wait("the server ends", server.shutdown(LIMIT));
    assert_eq!(report, ShutdownReport::default(), "no session was left");
    host.finish();
}

const PIECE: usize = 2 * 1024 * 1024;

/// Two sends to a peer that does not read, and what completes of them.
fn block(
    send: impl Fn(Box<dyn FnOnce(&mut Session, Result<usize, SendError>) + Send>),
) -> std::sync::mpsc::Receiver<Result<usize, SendError>> {
    let (told, results) = channel();
    for _ in 0..2 {
        let told = told.clone();
        send(Box::new(move |_, result| told.send(result).unwrap()));
    }
    results
}

fn expect_cut(
    report: &ShutdownReport,
    results: &std::sync::mpsc::Receiver<Result<usize, SendError>>,
) {
    let lost = (0..2)
        .filter(|_| receive(results, "a send completes").is_err())
        .count() as u64;
    assert!(lost > 0);
    assert!(results.recv().is_err(), "each completes once");
    assert_eq!((report.closed, report.forced, report.stuck), (0, 1, 0));
    assert_eq!(report.dropped_messages, lost);
    assert_eq!(report.dropped_bytes, lost * PIECE as u64);
}

fn a_blocked_write_does_not_hold_a_client(cell: Cell) {
    let host = Host::new(cell);
    let buffers = Some(64 * 1024);
    let config = host.server_config().socket_buffers(None, buffers);
    let (server, _deaf, seen) = host.server(config, Role::Deaf);
    let config = host.client_config().socket_buffers(buffers, None);
    let (client, log) = host.client(&server, config);
    log.opened();
    seen.opened();
    let handle = client.handle();
    let results = block(|completion| handle.send_with(vec![7; PIECE], completion).unwrap());
    let began = Instant::now();
    let within = Duration::from_millis(200);
    let report = wait("the client ends", client.shutdown(within));
    assert!(began.elapsed() >= within && began.elapsed() < SOON);
    expect_cut(&report, &results);
    host.finish();
}

fn a_blocked_write_does_not_hold_a_server(cell: Cell) {
    let host = Host::new(cell);
    let buffers = Some(64 * 1024);
    let config = host.server_config().socket_buffers(buffers, None);
    let (server, _, seen) = host.server(config, Role::Record);
    let (probe, log) = log();
    let config = host.client_config().socket_buffers(None, buffers);
    let client = host.client_on(server.local_addr(), config, &probe, Role::Deaf);
    log.opened();
    let session = seen.opened();
    let results = block(|completion| session.send_with(vec![7; PIECE], completion).unwrap());
    let began = Instant::now();
    let within = Duration::from_millis(200);
    let report = wait("the server ends", server.shutdown(within));
    assert!(began.elapsed() >= within && began.elapsed() < SOON);
    expect_cut(&report, &results);
    probe.read(client.handle());
    assert!(log.ended().error().is_some(), "a cut stream is an error");
    host.finish();
}

fn under_load_the_report_accounts_for_all(cell: Cell) {
    const CLIENTS: usize = 6;
    let host = Host::new(cell);
    let (server, _, seen) = host.server(host.server_config(), Role::Record);
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| host.client(&server, host.client_config()))
        .collect();
    for (_, log) in &clients {
        log.opened();
        seen.opened();
    }
    let report = std::thread::scope(|scope| {
        for (client, _) in &clients {
            scope.spawn(|| {
                loop {
                    match client.send([1; 100].as_slice()) {
                        Ok(()) => {}
                        Err(error) if error.is_full() => std::thread::yield_now(),
                        Err(error) => return assert!(error.is_closed(), "{error:?}"),
                    }
                }
            });
        }
        for _ in 0..CLIENTS {
            seen.message();
        }
        wait("the server ends", server.shutdown(LIMIT / 2))
    });
    assert_eq!(report.closed + report.forced, CLIENTS, "{report:?}");
    assert_eq!(report.stuck, 0);
    assert!(server.is_empty());
    for (client, _) in &clients {
        wait("the client ends", client.handle().closed());
    }
    host.finish();
}

fn from_inside_of_a_session_it_only_begins(cell: Cell) {
    let host = Host::new(cell);
    let (server, _, seen) = host.server(host.server_config(), Role::Record);
    let (client, log) = host.client(&server, host.client_config());
    log.opened();
    let (told, answer) = channel();
    let ending = server.clone();
    let end = move |_: &mut Session| {
        let refused = ending.shutdown(LIMIT).wait();
        assert!(matches!(refused, Err(LanesError::InsideRuntime)));
        told.send(ending.shutdown(LIMIT)).unwrap();
    };
    seen.opened().post(end).unwrap();
    let report = wait("the server ends", receive(&answer, "the post runs"));
    assert_eq!((report.closed, report.forced), (1, 0), "{report:?}");
    assert!(matches!(log.ended(), CloseReason::Peer));
    assert!(!wait("the client ends", client.connected()));
    host.finish();
}

fn a_server_starts_again_on_its_address(cell: Cell) {
    let host = Host::new(cell);
    let (mut server, probe, _) = host.server(host.server_config(), Role::Echo);
    let address = server.local_addr().clone();
    for round in 0..3 {
        let (client, log) = host.client(&server, host.client_config());
        log.opened();
        client.send("hello").unwrap();
        assert_eq!(log.message(), b"hello", "round {round}");
        let report = wait("the server ends", server.shutdown(LIMIT));
        assert_eq!((report.closed, report.forced), (1, 0), "round {round}");
        server = host.server_on(&address, host.server_config(), &probe, Role::Echo);
        assert_eq!(server.local_addr(), &address);
    }
    host.finish();
}

fn what_is_asked_afterwards_is_answered(cell: Cell) {
    let host = Host::new(cell);
    let (server, client, _log) = host.echo();
    eventually("the session is known", || server.len() == 1);
    let session = server.sessions().remove(0);
    let (local, peer) = (client.handle().local_addr(), client.handle().peer_addr());
    assert_eq!(peer.as_ref(), Some(server.local_addr()));
    let first = wait("the server ends", server.shutdown(LIMIT));
    assert_eq!(
        wait("again", server.shutdown(LIMIT)),
        first,
        "one shutdown, one report"
    );
    wait("the client ends", client.shutdown(LIMIT));
    assert!(session.is_closed() && !session.is_open() && client.handle().is_closed());
    assert_eq!(
        (server.len(), server.accepted(), server.refused()),
        (0, 1, 0)
    );
    assert!(server.sessions().is_empty() && server.session(session.id()).is_none());
    assert!(server.broadcast("nobody").is_empty());
    assert_eq!(
        (client.handle().local_addr(), client.handle().peer_addr()),
        (local, peer)
    );
    assert_eq!(client.handle().queued_bytes(), 0);
    for sent in [session.send("late"), client.send("late")] {
        assert!(matches!(sent, Err(SendError::NotConnected)), "{sent:?}");
    }
    assert!(matches!(session.post(|_| {}), Err(SendError::NotConnected)));
    assert!(
        wait("a flush", client.handle().flush())
            .unwrap_err()
            .is_closed()
    );
    host.finish();
}

/// A listener whose queue is full, so that the next connection is neither accepted nor refused.
pub(crate) struct Full {
    listener: std::net::TcpListener,
    _queued: Vec<socket2::Socket>,
}

impl Full {
    pub(crate) fn new() -> Self {
        use socket2::{Domain, Socket, Type};
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        let any: std::net::SocketAddr = ([127, 0, 0, 1], 0).into();
        socket.bind(&any.into()).unwrap();
        socket.listen(0).unwrap();
        let address = socket.local_addr().unwrap();
        let connect = |_| {
            let queued = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
            queued.set_nonblocking(true).unwrap();
            // In progress is all that is wanted.
            let _ = queued.connect(&address);
            queued
        };
        Self {
            _queued: (0..8).map(connect).collect(),
            listener: socket.into(),
        }
    }

    pub(crate) fn address(&self) -> std::net::SocketAddr {
        self.listener.local_addr().unwrap()
    }
}

fn a_client_that_connects_is_shut_down(cell: Cell) {
    let host = Host::new(cell);
    let full = Full::new();
    let (probe, log) = log();
    let address = full.address();
    let client = host.client_on(address, host.client_config(), &probe, Role::Record);
    let began = Instant::now();
    let report = wait("the client ends", client.shutdown(LIMIT));
    assert!(began.elapsed() < SOON);
    assert_eq!((report.closed, report.forced), (1, 0), "{report:?}");
    assert!(matches!(log.ended(), CloseReason::Local));
    host.finish();
}

fn with_tls(cell: Cell) -> Host {
    Host::new(Cell {
        transport: Transport::Tcps,
        ..cell
    })
}

fn a_client_that_shakes_hands_is_shut_down(cell: Cell) {
    let host = with_tls(cell);
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (probe, log) = log();
    let address = silent.local_addr().unwrap();
    let client = host.client_on(address, host.client_config(), &probe, Role::Record);
    let (mut peer, _) = silent.accept().unwrap();
    // Its first flight is here, so it waits for an answer.
    std::io::Read::read_exact(&mut peer, &mut [0; 5]).unwrap();
    let began = Instant::now();
    let report = wait("the client ends", client.shutdown(LIMIT));
    assert!(began.elapsed() < SOON);
    assert_eq!((report.closed, report.forced), (1, 0), "{report:?}");
    assert!(matches!(log.ended(), CloseReason::Local));
    host.finish();
}

fn a_server_that_shakes_hands_is_shut_down(cell: Cell) {
    let host = with_tls(cell);
    let (server, _, seen) = host.server(host.server_config(), Role::Echo);
    let peers: Vec<_> = (0..3)
        .map(|_| std::net::TcpStream::connect(server.local_addr().ip().unwrap()).unwrap())
        .collect();
    eventually("three shake hands", || server.len() == 3);
    assert!(server.sessions().is_empty(), "none is open");
    let began = Instant::now();
    let report = wait("the server ends", server.shutdown(LIMIT));
    assert!(began.elapsed() < SOON);
    assert_eq!((report.closed, report.forced), (3, 0), "{report:?}");
    for _ in peers {
        assert!(matches!(seen.ended(), CloseReason::Local));
    }
    host.finish();
}

fn a_client_that_waits_to_reconnect_is_shut_down(cell: Cell) {
    let host = Host::new(cell);
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = closed.local_addr().unwrap();
    drop(closed);
    let (probe, log) = log();
    let policy = ReconnectPolicy::fixed(Duration::from_secs(3600));
    let config = host.client_config().reconnect(policy);
    let client = host.client_on(address, config, &probe, Role::Record);
    let reason = log.ended();
    let text = format!("connect to {address}: Connection refused (os error 111)");
    assert_eq!(reason.to_string(), text);
    let began = Instant::now();
    wait("the client ends", client.shutdown(LIMIT));
    assert!(began.elapsed() < SOON);
    assert!(!wait("no connection", client.connected()));
    host.finish();
}

fn one_cell(style: Style) -> Host {
    Host::new(Cell {
        transport: Transport::Tcp,
        style,
        model: Model::Shared4,
    })
}

#[test]
fn a_shutdown_that_nobody_waits_for_goes_on() {
    let host = one_cell(Style::Tasks);
    let (server, _client, log) = host.echo();
    drop(server.shutdown(LIMIT));
    assert!(matches!(log.ended(), CloseReason::Peer));
    eventually("the sessions are gone", || server.is_empty());
    let address = server.local_addr();
    eventually("the address is free", || {
        Server::serve(&host.lanes, address, host.server_config(), |_| async {}).is_ok()
    });
    host.finish();
}

#[test]
fn a_task_that_ignores_its_end_is_cut_at_the_deadline() {
    let host = one_cell(Style::Tasks);
    let (entered, running) = channel();
    let serve = move |connection| {
        let entered = entered.clone();
        async move {
            let _connection: arknet::Connection = connection;
            entered.send(()).unwrap();
            std::future::pending::<()>().await;
        }
    };
    let server = Server::serve(&host.lanes, host.address(), host.server_config(), serve).unwrap();
    let (_client, _log) = host.client(&server, host.client_config());
    receive(&running, "the task runs");
    let report = wait(
        "the server ends",
        server.shutdown(Duration::from_millis(100)),
    );
    assert_eq!((report.closed + report.forced, report.stuck), (1, 0));
    host.finish();
}

#[test]
fn the_lanes_end_their_servers_clients_and_timers() {
    let host = one_cell(Style::Callbacks);
    let (server, client, log) = host.echo();
    server.set_interval("beat", Duration::from_millis(1), |_| {});
    server.set_timer("late", Duration::from_secs(3600), |_| {});
    let lanes = host.lanes.clone();
    host.finish();
    let _ = log.ended();
    assert!(client.handle().is_closed() && server.is_empty());
    assert!(
        lanes.block_on(async {}).is_ok(),
        "asking lanes that have ended is harmless"
    );
    let refused = Client::start(
        &lanes,
        server.local_addr(),
        arknet::tcp::ClientConfig::new(),
        |_| |_: &mut Session, _: &[u8]| {},
    )
    .unwrap();
    assert!(!wait("no connection", refused.connected()));
}
