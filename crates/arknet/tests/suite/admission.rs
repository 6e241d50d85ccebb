//! Which sends are admitted: exactly what the limits hold, the rest refused at once with the message.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};

use arknet::tcp::{Client, ClientConfig, Framing, FramingError};
use arknet::{Bytes, SendError, SessionHandle};

use crate::harness::{
    Cell, Host, LIMIT, Log, Model, Role, Style, Transport, eventually, log, pattern, receive, wait,
};

in_every_cell![
    four_of_256_sends_fit_a_byte_limit_of_four,
    of_2048_empty_sends_1024_fit,
    a_session_admits_to_its_own_account,
    the_reservation_is_released_before_the_completion,
];

in_every_cell_of![Callbacks: writable_follows_at_half];

const MESSAGE: usize = 1_000;
const SENDERS: usize = 8;

/// A lane that is held in a function of the session, so that nothing is handed over meanwhile.
struct Held(Sender<()>);

fn hold(handle: &SessionHandle) -> Held {
    let (entered, is_held) = channel();
    let (release, released) = channel();
    let block = move |_: &mut arknet::Session| {
        entered.send(()).unwrap();
        released.recv_timeout(LIMIT).unwrap();
    };
    handle.post(block).unwrap();
    receive(&is_held, "the lane is held");
    Held(release)
}

impl Held {
    fn release(self) {
        self.0.send(()).unwrap();
    }
}

/// Sends `each` messages from each of several threads; returns how many were admitted.
fn send_from_everywhere(client: &Client, each: usize, message: &Bytes) -> usize {
    let admitted = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..SENDERS {
            scope.spawn(|| {
                for _ in 0..each {
                    match client.send(message.clone()) {
                        Ok(()) => drop(admitted.fetch_add(1, Ordering::Relaxed)),
                        Err(error) => {
                            assert!(error.is_full(), "{error}");
                            assert_eq!(error.into_message().as_ref(), Some(message));
                        }
                    }
                }
            });
        }
    });
    admitted.into_inner()
}

fn recorder(host: &Host, config: ClientConfig) -> (arknet::tcp::Server, Log, Client, Log) {
    let (server, _, seen) = host.server(host.server_config(), Role::Record);
    let (client, log) = host.client(&server, config);
    log.opened();
    (server, seen, client, log)
}

fn four_of_256_sends_fit_a_byte_limit_of_four(cell: Cell) {
    let host = Host::new(cell);
    let config = host.client_config().send_queue(4 * MESSAGE, 1_024);
    let (_server, seen, client, _log) = recorder(&host, config);
    let message = Bytes::from(pattern(1, MESSAGE));
    let held = hold(client.handle());
    assert_eq!(send_from_everywhere(&client, 32, &message), 4);
    held.release();
    for _ in 0..4 {
        assert_eq!(seen.message(), message);
    }
    wait("room", client.handle().send_when_possible("recovered")).unwrap();
    assert_eq!(
        seen.message(),
        b"recovered",
        "what was refused is never delivered"
    );
    host.finish();
}

fn of_2048_empty_sends_1024_fit(cell: Cell) {
    let host = Host::new(cell);
    let (_server, seen, client, _log) = recorder(&host, host.client_config());
    let held = hold(client.handle());
    assert_eq!(send_from_everywhere(&client, 256, &Bytes::new()), 1_024);
    held.release();
    for _ in 0..1_024 {
        assert!(seen.message().is_empty());
    }
    wait("room", client.handle().send_when_possible("recovered")).unwrap();
    assert_eq!(
        seen.message(),
        b"recovered",
        "what was refused is never delivered"
    );
    host.finish();
}

fn a_session_admits_to_its_own_account(cell: Cell) {
    let host = Host::new(cell);
    let config = host.client_config().send_queue(4 * MESSAGE, 1_024);
    let (_server, seen, client, _log) = recorder(&host, config);
    let (told, admitted) = channel();
    let fill = move |session: &mut arknet::Session| {
        let message = Bytes::from(pattern(1, MESSAGE));
        let sent = (0..256).filter(|_| session.send(message.clone()).is_ok());
        let sent = sent.count();
        let refused = session.send(message.clone()).unwrap_err();
        told.send((sent, session.queued_bytes(), refused)).unwrap();
    };
    client.handle().post(fill).unwrap();
    let (sent, queued, refused) = receive(&admitted, "the session sends");
    assert_eq!((sent, queued), (4, 4 * MESSAGE));
    let text = "send: queue is full: 4000 bytes in 4 operations wait, of at most 4000 bytes and 1024 operations";
    assert_eq!(refused.to_string(), text);
    assert_eq!(
        refused.into_message().map(|message| message.len()),
        Some(MESSAGE)
    );
    for _ in 0..4 {
        assert_eq!(seen.message().len(), MESSAGE);
    }
    host.finish();
    assert!(seen.has_message().is_none());
}

fn the_reservation_is_released_before_the_completion(cell: Cell) {
    let host = Host::new(cell);
    let config = host.client_config().send_queue(MESSAGE, 1);
    let (_server, seen, client, _log) = recorder(&host, config);
    let (told, results) = channel();
    let handle = client.handle().clone();
    let completed = move |session: &mut arknet::Session, sent: Result<usize, SendError>| {
        let through_handle = handle.send(pattern(2, MESSAGE));
        let directly = session.send(pattern(3, MESSAGE));
        told.send((sent, through_handle, directly)).unwrap();
    };
    client
        .handle()
        .send_with(pattern(1, MESSAGE), completed)
        .unwrap();
    let (sent, through_handle, directly) = receive(&results, "the send completes");
    assert_eq!(sent.unwrap(), MESSAGE);
    through_handle.unwrap();
    directly.unwrap();
    assert_eq!(seen.message(), pattern(1, MESSAGE));
    let mut rest = [seen.message(), seen.message()];
    rest.sort();
    let mut expected = [pattern(2, MESSAGE), pattern(3, MESSAGE)];
    expected.sort();
    assert!(rest == expected);
    host.finish();
}

fn writable_follows_at_half(cell: Cell) {
    const QUEUE: usize = 1024 * 1024;
    const PIECE: usize = 64 * 1024;
    let host = Host::new(cell);
    let (server, deaf, seen) = host.server(host.server_config(), Role::Deaf);
    let (probe, log) = log();
    let config = host.client_config().send_queue(QUEUE, 1_024);
    let client = host.client_on(server.local_addr(), config, &probe, Role::Record);
    log.opened();
    let session = seen.opened();
    // The kernel takes some of it; what it does not take fills the queue.
    let sent = Arc::new(AtomicUsize::new(0));
    eventually("the queue is full", || {
        let sent = sent.clone();
        let (told, full) = channel();
        let fill = move |session: &mut arknet::Session| {
            let mut error = None;
            while error.is_none() {
                error = session.send(pattern(0, PIECE)).err();
                sent.fetch_add(usize::from(error.is_none()), Ordering::Relaxed);
            }
            told.send(session.queued_bytes()).unwrap();
        };
        client.handle().post(fill).unwrap();
        receive(&full, "the session sends") > QUEUE - PIECE
    });
    deaf.read(&session);
    assert!(log.writable() <= QUEUE / 2);
    for _ in 0..sent.load(Ordering::Relaxed) {
        assert_eq!(seen.message().len(), PIECE);
    }
    host.finish();
}

fn one_cell() -> Host {
    Host::new(Cell {
        transport: Transport::Tcp,
        style: Style::Callbacks,
        model: Model::Shared1,
    })
}

#[test]
fn what_the_framing_cannot_carry_is_refused_before_anything_else() {
    let host = one_cell();
    let framing = || Framing::big_endian(1, 255).unwrap();
    let (server, _, _) = host.server(host.server_config().framing(framing()), Role::Record);
    let config = host.client_config().framing(framing()).send_queue(100, 1);
    let (client, log) = host.client(&server, config);
    log.opened();
    let too_large = |result| match result {
        Err(SendError::Framing(FramingError::PayloadTooLarge { len: 256, max: 255 })) => {}
        other => panic!("{other:?}"),
    };
    too_large(client.send([0; 256].as_slice()));
    client.handle().close();
    wait("the end", client.handle().closed());
    too_large(client.send([0; 256].as_slice()));
    let refused = client.send([0; 200].as_slice());
    assert!(
        matches!(refused, Err(SendError::NotConnected)),
        "{refused:?}"
    );
    host.finish();
}

#[test]
fn a_message_larger_than_the_queue_is_refused_even_by_a_send_that_waits() {
    let host = one_cell();
    let (server, _, _) = host.server(host.server_config(), Role::Record);
    let (client, log) = host.client(&server, host.client_config().send_queue(10, 10));
    log.opened();
    let sent = wait(
        "an answer",
        client.handle().send_when_possible([0; 11].as_slice()),
    );
    assert!(sent.unwrap_err().is_full());
    wait(
        "an answer",
        client.handle().send_when_possible([0; 10].as_slice()),
    )
    .unwrap();
    host.finish();
}

#[test]
fn the_send_filter_sees_each_admitted_message_once() {
    let host = one_cell();
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let config = host
        .client_config()
        .send_queue(100, 10)
        .send_filter(move |message| {
            counted.fetch_add(1, Ordering::Relaxed);
            message
                .starts_with(b"plain")
                .then(|| Bytes::from_static(b"filtered"))
        });
    let (_server, seen, client, _log) = recorder(&host, config);
    client.send("plain").unwrap();
    assert_eq!(seen.message(), b"filtered");
    client
        .handle()
        .post(|session| session.send("other").unwrap())
        .unwrap();
    assert_eq!(seen.message(), b"other");
    assert_eq!(runs.load(Ordering::Relaxed), 2);
    assert!(client.send([0; 101].as_slice()).unwrap_err().is_full());
    let refuse = |session: &mut arknet::Session| {
        assert!(session.send([0; 101].as_slice()).unwrap_err().is_full());
        session.send("last").unwrap();
    };
    client.handle().post(refuse).unwrap();
    assert_eq!(seen.message(), b"last");
    assert_eq!(
        runs.load(Ordering::Relaxed),
        3,
        "what is refused is not looked at"
    );
    host.finish();
}
