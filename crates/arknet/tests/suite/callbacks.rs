//! What callbacks promise: their order, one at a time, no depth.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};

use arknet::tcp::Server;
use arknet::{CloseReason, Handler, SendError, Session};

use crate::harness::{Cell, Host, Transport, receive, wait};

in_every_cell_of![Callbacks: callbacks_come_in_order_and_alone, half_a_connection_can_still_send];

over_tcp![a_chain_of_50_000_completions_has_no_depth];

struct Ordered {
    told: Sender<String>,
    busy: AtomicBool,
}

impl Ordered {
    fn tell(&self, text: impl Into<String>) {
        assert!(
            !self.busy.swap(true, Ordering::AcqRel),
            "two callbacks at once"
        );
        self.told.send(text.into()).unwrap();
        std::thread::yield_now();
        self.busy.store(false, Ordering::Release);
    }
}

impl Handler for Ordered {
    fn on_open(&mut self, session: &mut Session) {
        assert!(session.is_open() && session.generation() == 1);
        self.tell("open");
    }

    fn on_message(&mut self, _: &mut Session, message: &[u8]) {
        self.tell(String::from_utf8_lossy(message));
    }

    fn on_end(&mut self, session: &mut Session) {
        self.tell("end");
        session.finish();
    }

    fn on_close(&mut self, session: &mut Session, reason: &CloseReason) {
        let refused = session.send("late");
        assert!(
            matches!(refused, Err(SendError::NotConnected)),
            "{refused:?}"
        );
        self.tell(reason.to_string());
    }
}

fn callbacks_come_in_order_and_alone(cell: Cell) {
    let host = Host::new(cell);
    let (told, order) = channel();
    let handler = move |_: &Session| Ordered {
        told: told.clone(),
        busy: AtomicBool::new(false),
    };
    let server = Server::start(&host.lanes, host.address(), host.server_config(), handler).unwrap();
    let (client, log) = host.client(&server, host.client_config());
    log.opened();
    for number in 0..100 {
        client.send(number.to_string()).unwrap();
    }
    client.handle().close();
    let mut expected = vec!["open".to_owned()];
    expected.extend((0..100).map(|number| number.to_string()));
    expected.extend(["end", "closed by the peer"].map(str::to_owned));
    for text in expected {
        assert_eq!(receive(&order, "a callback"), text);
    }
    host.finish();
    drop(server);
    assert!(
        order.recv().is_err(),
        "on_close is the last, and the handler is dropped"
    );
}

/// Answers after the peer has ended its stream.
struct Late;

impl Handler for Late {
    fn on_message(&mut self, _: &mut Session, _: &[u8]) {}

    fn on_end(&mut self, session: &mut Session) {
        session.send("after your end").unwrap();
        let close = |session: &mut Session| {
            session.send("and later").unwrap();
            session.finish();
        };
        session.set_timer_with(1, std::time::Duration::from_millis(5), close);
    }
}

fn half_a_connection_can_still_send(cell: Cell) {
    use std::io::{Read, Write};
    if cell.transport != Transport::Tcp {
        // A client of ours discards what comes after its own end, and the standard library has no TLS.
        return ended_by_both(cell);
    }
    let host = Host::new(cell);
    let server =
        Server::start(&host.lanes, host.address(), host.server_config(), |_| Late).unwrap();
    let mut peer = std::net::TcpStream::connect(server.local_addr().ip().unwrap()).unwrap();
    peer.set_read_timeout(Some(crate::harness::LIMIT)).unwrap();
    peer.write_all(&[1, 1]).unwrap();
    peer.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    peer.read_to_end(&mut answer).unwrap();
    assert_eq!(answer, b"\x0eafter your end\x09and later");
    host.finish();
}

fn ended_by_both(cell: Cell) {
    let host = Host::new(cell);
    let server =
        Server::start(&host.lanes, host.address(), host.server_config(), |_| Late).unwrap();
    let (client, log) = host.client(&server, host.client_config());
    log.opened();
    client.handle().close();
    assert!(matches!(log.ended(), CloseReason::Local));
    wait("the client ends", client.handle().closed());
    host.finish();
}

fn a_chain_of_50_000_completions_has_no_depth(cell: Cell) {
    const LINKS: u32 = 50_000;
    let host = Host::new(cell);
    let (_server, _seen, client, _log) = host.recorder();
    let (told, done) = channel();
    fn link(session: &mut Session, left: u32, told: Sender<u32>) {
        let next = move |session: &mut Session, sent: Result<usize, SendError>| {
            sent.unwrap();
            match left {
                1 => told.send(LINKS).unwrap(),
                left => link(session, left - 1, told),
            }
        };
        session.send_with([0; 8].as_slice(), next).unwrap();
    }
    client
        .handle()
        .post(move |session| link(session, LINKS, told))
        .unwrap();
    assert_eq!(receive(&done, "the chain ends"), LINKS);
    host.finish();
}

#[test]
fn a_session_closed_in_its_first_callback_opens_and_closes_once() {
    struct Shy(Sender<&'static str>);
    impl Handler for Shy {
        fn on_open(&mut self, session: &mut Session) {
            self.0.send("open").unwrap();
            session.close();
        }
        fn on_message(&mut self, _: &mut Session, _: &[u8]) {
            self.0.send("message").unwrap();
        }
        fn on_close(&mut self, _: &mut Session, reason: &CloseReason) {
            assert!(matches!(reason, CloseReason::Local), "{reason}");
            self.0.send("close").unwrap();
        }
    }
    let host = Host::new(Cell {
        transport: Transport::Tcp,
        style: crate::harness::Style::Callbacks,
        model: crate::harness::Model::Shared1,
    });
    let (told, order) = channel();
    let handler = move |_: &Session| Shy(told.clone());
    let server = Server::start(&host.lanes, host.address(), host.server_config(), handler).unwrap();
    let (client, log) = host.client(&server, host.client_config());
    log.opened();
    let _ = client.send("too late");
    assert!(matches!(
        log.ended(),
        CloseReason::Peer | CloseReason::Error(_)
    ));
    assert_eq!(receive(&order, "a callback"), "open");
    assert_eq!(receive(&order, "a callback"), "close");
    crate::harness::eventually("no session is left", || server.is_empty());
    assert!(order.try_recv().is_err());
    host.finish();
}
