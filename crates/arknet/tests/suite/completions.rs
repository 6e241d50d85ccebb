//! Every accepted send completes exactly once, whatever becomes of it; a refused one never does.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use arknet::{Error, SendError, Session, SessionHandle};

use crate::harness::{Cell, Host, Role, eventually, pattern, receive, wait};

in_every_cell![
    completions_count_payload_bytes,
    a_graceful_close_completes_what_was_accepted,
    an_abort_completes_what_waits_as_lost,
    a_lost_connection_completes_what_waits_as_lost,
    a_completion_that_panics_keeps_no_other_from_running,
    sends_that_race_with_a_close_complete_once,
];

type Results = Receiver<(usize, Result<usize, SendError>)>;

/// A completion that tells its number, and counts how often it was run or dropped.
#[derive(Clone)]
struct Completions {
    told: Sender<(usize, Result<usize, SendError>)>,
    dropped: Arc<AtomicUsize>,
}

struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Completions {
    fn new() -> (Self, Results) {
        let (told, results) = channel();
        let dropped = Arc::default();
        (Self { told, dropped }, results)
    }

    fn of(
        &self,
        number: usize,
    ) -> impl FnOnce(&mut Session, Result<usize, SendError>) + Send + use<> {
        let told = self.told.clone();
        let dropped = Dropped(self.dropped.clone());
        move |_, result| {
            let _dropped = dropped;
            // A case that has failed does not listen.
            let _ = told.send((number, result));
        }
    }

    /// Every completion that was made has been run or dropped, and no more come.
    fn all_gone(self, made: usize, results: &Results) {
        eventually("completions are gone", || {
            self.dropped.load(Ordering::Relaxed) == made
        });
        assert!(results.try_recv().is_err(), "a completion ran twice");
    }
}

fn completions_count_payload_bytes(cell: Cell) {
    const SIZES: [usize; 6] = [0, 1, 253, 254, 65_536, 1_000_000];
    let host = Host::new(cell);
    let (_server, seen, client, _log) = host.recorder();
    let (completions, results) = Completions::new();
    for (number, size) in SIZES.into_iter().enumerate() {
        let handle = client.handle();
        handle
            .send_with(pattern(number, size), completions.of(number))
            .unwrap();
    }
    for (number, size) in SIZES.into_iter().enumerate() {
        let (completed, result) = receive(&results, "a send completes");
        assert_eq!((completed, result.unwrap()), (number, size));
        assert_eq!(seen.message().len(), size);
    }
    let inside = completions.clone();
    let post = move |session: &mut Session| {
        for (number, size) in SIZES.into_iter().enumerate() {
            let completion = inside.of(number);
            session
                .send_with(pattern(number, size), completion)
                .unwrap();
        }
    };
    client.handle().post(post).unwrap();
    for (number, size) in SIZES.into_iter().enumerate() {
        let (completed, result) = receive(&results, "a send completes");
        assert_eq!((completed, result.unwrap()), (number, size));
    }
    completions.all_gone(2 * SIZES.len(), &results);
    host.finish();
}

fn a_graceful_close_completes_what_was_accepted(cell: Cell) {
    const MESSAGES: usize = 200;
    let host = Host::new(cell);
    let (_server, seen, client, _log) = host.recorder();
    let (completions, results) = Completions::new();
    let inside = completions.clone();
    let post = move |session: &mut Session| {
        for number in 0..MESSAGES {
            let message = pattern(number, 5_000);
            session.send_with(message, inside.of(number)).unwrap();
        }
        session.close();
        let refused = session.send_with("late", inside.of(MESSAGES));
        assert!(matches!(refused, Err(SendError::NotConnected)));
    };
    client.handle().post(post).unwrap();
    for number in 0..MESSAGES {
        let (completed, result) = receive(&results, "a send completes");
        assert_eq!((completed, result.unwrap()), (number, 5_000));
        assert!(seen.message() == pattern(number, 5_000));
    }
    wait("the end", client.handle().closed());
    completions.all_gone(MESSAGES + 1, &results);
    host.finish();
    assert!(seen.has_message().is_none());
}

/// Sends to a peer that does not read: the first may be with the kernel, the last are not.
const BLOCKED: usize = 8;
const PIECE: usize = 256 * 1024;

/// A kernel that holds much less.
const BUFFERS: Option<usize> = Some(32 * 1024);

fn send_blocked(handle: &SessionHandle, completions: &Completions) {
    for number in 0..BLOCKED {
        let message = pattern(number, PIECE);
        handle.send_with(message, completions.of(number)).unwrap();
    }
}

/// All complete once, in order; those that were not handed over are lost with their connection.
fn expect_lost(results: &Results) {
    let mut lost = 0;
    for number in 0..BLOCKED {
        let (completed, result) = receive(results, "a send completes");
        assert_eq!(completed, number);
        match result {
            Ok(bytes) => assert_eq!((bytes, lost), (PIECE, 0)),
            Err(SendError::ConnectionLost { generation: 1 }) => lost += 1,
            Err(error) => panic!("{error:?}"),
        }
    }
    assert!(lost > 0, "a peer that does not read takes not all");
}

fn an_abort_completes_what_waits_as_lost(cell: Cell) {
    let host = Host::new(cell);
    let (server, _deaf, _) = host.server(
        host.server_config().socket_buffers(BUFFERS, BUFFERS),
        Role::Deaf,
    );
    let config = host.client_config().socket_buffers(BUFFERS, BUFFERS);
    let (client, log) = host.client(&server, config);
    log.opened();
    let (completions, results) = Completions::new();
    send_blocked(client.handle(), &completions);
    client.handle().abort();
    expect_lost(&results);
    completions.all_gone(BLOCKED, &results);
    assert!(matches!(log.ended(), arknet::CloseReason::Aborted));
    host.finish();
}

fn a_lost_connection_completes_what_waits_as_lost(cell: Cell) {
    let host = Host::new(cell);
    let (server, _deaf, seen) = host.server(
        host.server_config().socket_buffers(BUFFERS, BUFFERS),
        Role::Deaf,
    );
    let config = host.client_config().socket_buffers(BUFFERS, BUFFERS);
    let (client, log) = host.client(&server, config);
    log.opened();
    let (completions, results) = Completions::new();
    send_blocked(client.handle(), &completions);
    seen.opened().abort();
    expect_lost(&results);
    completions.all_gone(BLOCKED, &results);
    let reason = log.ended();
    assert!(reason.error().is_some(), "{reason}");
    assert!(matches!(client.send("late"), Err(SendError::NotConnected)));
    host.finish();
}

fn a_completion_that_panics_keeps_no_other_from_running(cell: Cell) {
    let host = Host::new(cell);
    let (_server, client, log) = host.echo();
    let (completions, results) = Completions::new();
    let inside = completions.clone();
    let post = move |session: &mut Session| {
        session.send_with("one", inside.of(0)).unwrap();
        let panics = |_: &mut Session, _| panic!("out of a completion");
        session.send_with("two", panics).unwrap();
        session.send_with("three", inside.of(1)).unwrap();
    };
    client.handle().post(post).unwrap();
    for number in 0..2 {
        assert_eq!(receive(&results, "a send completes").0, number);
    }
    let reason = log.ended();
    assert!(
        matches!(reason.error(), Some(Error::Panic { message, .. }) if message == "out of a completion"),
        "{reason}"
    );
    completions.all_gone(2, &results);
    host.finish();
}

fn sends_that_race_with_a_close_complete_once(cell: Cell) {
    const SENDERS: usize = 4;
    const MOST: usize = 20_000;
    let host = Host::new(cell);
    let (_server, seen, client, _log) = host.recorder();
    let (completions, results) = Completions::new();
    let accepted = AtomicUsize::new(0);
    let made = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..SENDERS {
            scope.spawn(|| {
                for _ in 0..MOST {
                    let number = made.fetch_add(1, Ordering::Relaxed);
                    let sent = client.handle().send_with("racing", completions.of(number));
                    match sent {
                        Ok(()) => drop(accepted.fetch_add(1, Ordering::Relaxed)),
                        Err(error) if error.is_full() => std::thread::yield_now(),
                        Err(SendError::NotConnected) => return,
                        Err(error) => panic!("{error:?}"),
                    }
                }
                panic!("the close refuses sends at some time");
            });
        }
        seen.message();
        client.handle().close();
    });
    wait("the end", client.handle().closed());
    let accepted = accepted.into_inner();
    let mut handed_over = 0;
    for _ in 0..accepted {
        match receive(&results, "a send completes").1 {
            Ok(6) => handed_over += 1,
            Err(SendError::ConnectionLost { generation: 1 }) => {}
            other => panic!("{other:?}"),
        }
    }
    completions.all_gone(made.into_inner(), &results);
    for _ in 1..handed_over {
        assert_eq!(seen.message(), b"racing");
    }
    seen.ended();
    assert!(
        seen.has_message().is_none(),
        "what is lost is not delivered"
    );
    host.finish();
}
