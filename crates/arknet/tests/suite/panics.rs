//! What panics closes its own connection, with an error that says so, and touches no other.

use std::sync::mpsc::channel;
use std::time::Duration;

use arknet::tcp::{Client, Server};
use arknet::{Blame, CloseReason, Error, Handler, Session, TimerKey};

use crate::harness::{Cell, Host, Log, Model, Probe, Role, Style, Transport, log, receive, wait};

in_every_cell![
    a_panic_in_a_posted_function,
    a_panic_in_a_timer_function,
    a_panic_in_a_completion,
];

in_every_cell_of![Callbacks: a_panic_in_each_callback];

in_every_cell_of![Tasks: a_panic_in_a_task];

const TEXT: &str = "out of the application";

/// A session beside the one that panics.
struct Bystander {
    client: Client,
    log: Log,
}

impl Bystander {
    fn new(host: &Host, server: &Server) -> Self {
        let (client, log) = host.client(server, host.client_config());
        log.opened();
        let bystander = Self { client, log };
        bystander.is_well();
        bystander
    }

    fn is_well(&self) {
        self.client.send("well?").unwrap();
        assert_eq!(self.log.message(), b"well?");
    }
}

fn expect_panic(reason: &CloseReason) {
    let error = reason.error().unwrap_or_else(|| panic!("{reason}"));
    assert!(
        matches!(error, Error::Panic { message, .. } if message == TEXT),
        "{error}"
    );
    assert_eq!(error.blame(), Blame::Bug);
}

/// Makes a server's session panic by `how`.
fn panics(cell: Cell, how: impl FnOnce(&mut Session) + Send + 'static) {
    let host = Host::new(cell);
    let (server, _, seen) = host.server(host.server_config(), Role::Echo);
    let bystander = Bystander::new(&host, &server);
    seen.opened();
    let (client, log) = host.client(&server, host.client_config());
    log.opened();
    let session = seen.opened();
    session.post(how).unwrap();
    let (id, reason) = seen.ended_of();
    assert_eq!(id, session.id());
    expect_panic(&reason);
    wait("the client ends", client.handle().closed());
    bystander.is_well();
    assert!(seen.has_ended().is_none());
    host.finish();
}

fn a_panic_in_a_posted_function(cell: Cell) {
    panics(cell, |_| panic!("{TEXT}"));
}

fn a_panic_in_a_timer_function(cell: Cell) {
    panics(cell, |session| {
        session.set_timer_with("bad", Duration::from_millis(1), |_| panic!("{TEXT}"));
    });
}

fn a_panic_in_a_completion(cell: Cell) {
    panics(cell, |session| {
        session
            .send_with("last words", |_, _| panic!("{TEXT}"))
            .unwrap();
    });
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Where {
    Factory,
    Open,
    Message,
    Timer,
    End,
    Close,
}

struct Bad {
    place: Where,
    armed: bool,
    closed: std::sync::mpsc::Sender<String>,
}

impl Bad {
    fn at(&self, place: Where) {
        assert!(!self.armed || self.place != place, "{TEXT}");
    }
}

impl Handler for Bad {
    fn on_open(&mut self, session: &mut Session) {
        self.at(Where::Open);
        session.set_timer(1, Duration::from_millis(1));
    }

    fn on_message(&mut self, session: &mut Session, message: &[u8]) {
        self.at(Where::Message);
        session.send(message).unwrap();
    }

    fn on_timer(&mut self, _: &mut Session, _: TimerKey) {
        self.at(Where::Timer);
    }

    fn on_end(&mut self, session: &mut Session) {
        self.at(Where::End);
        session.finish();
    }

    fn on_close(&mut self, _: &mut Session, reason: &CloseReason) {
        if self.armed {
            self.closed.send(reason.to_string()).unwrap();
        }
        self.at(Where::Close);
    }
}

fn a_panic_in_each_callback(cell: Cell) {
    use Where::{Close, End, Factory, Message, Open, Timer};
    let host = Host::new(cell);
    for place in [Factory, Open, Message, Timer, End, Close] {
        let (probe, seen) = log();
        let (closed, told) = channel();
        let server = bad_server(&host, &probe, place, closed);
        let bystander = Bystander::new(&host, &server);
        let (client, client_log) = host.client(&server, host.client_config());
        client_log.opened();
        match place {
            Message => client.send("hello").unwrap(),
            End | Close => client.handle().close(),
            Factory | Open | Timer => {}
        }
        let reason = seen.ended();
        match place {
            // It had ended already when it panicked.
            Close => assert!(matches!(reason, CloseReason::Peer), "{reason}"),
            _ => expect_panic(&reason),
        }
        if place != Factory {
            assert_eq!(receive(&told, "on_close runs"), reason.to_string());
            assert!(told.try_recv().is_err(), "on_close runs once");
        }
        wait("the client ends", client.handle().closed());
        bystander.is_well();
        bystander.client.handle().close();
        wait("the bystander ends", bystander.client.handle().closed());
    }
    host.finish();
}

/// A server whose second session is bad.
fn bad_server(
    host: &Host,
    probe: &Probe,
    place: Where,
    closed: std::sync::mpsc::Sender<String>,
) -> Server {
    let sessions = std::sync::atomic::AtomicUsize::new(0);
    let config = host.server_config().on_event({
        let probe = probe.clone();
        move |event| probe.event(event)
    });
    let handler = move |_: &Session| {
        let armed = sessions.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 1;
        assert!(!armed || place != Where::Factory, "{TEXT}");
        Bad {
            place,
            armed,
            closed: closed.clone(),
        }
    };
    Server::start(&host.lanes, host.address(), config, handler).unwrap()
}

fn a_panic_in_a_task(cell: Cell) {
    let host = Host::new(cell);
    let (probe, seen) = log();
    let config = host
        .server_config()
        .on_event(move |event| probe.event(event));
    let serve = |mut connection: arknet::Connection| async move {
        while let Ok(Some(message)) = connection.recv().await {
            assert!(message != "panic", "{TEXT}");
            connection.send(message).await.unwrap();
        }
    };
    let server = Server::serve(&host.lanes, host.address(), config, serve).unwrap();
    let bystander = Bystander::new(&host, &server);
    let (client, log) = host.client(&server, host.client_config());
    log.opened();
    client.send("panic").unwrap();
    expect_panic(&seen.ended());
    wait("the client ends", client.handle().closed());
    bystander.is_well();
    host.finish();
}

#[test]
fn a_panic_on_the_lanes_is_not_the_pollers() {
    let host = Host::new(Cell {
        transport: Transport::Tcp,
        style: Style::Callbacks,
        model: Model::Manual,
    });
    let (server, client, log) = host.echo();
    host.lanes.post(|| panic!("{TEXT}"));
    server.set_timer("bad", Duration::from_millis(1), |_| panic!("{TEXT}"));
    let (ran, has_run) = channel();
    server.set_timer("good", Duration::from_millis(20), move |_| {
        ran.send(()).unwrap();
    });
    receive(&has_run, "the other timer runs");
    client.send("hello").unwrap();
    assert_eq!(log.message(), b"hello");
    host.finish();
}
