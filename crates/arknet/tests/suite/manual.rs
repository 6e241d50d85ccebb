//! Lanes without a thread: what one poll does, and who may call it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use arknet::tcp::{ClientConfig, Framing, Server, ServerConfig, connect};
use arknet::{Lanes, LanesError, Session};

use crate::harness::{LIMIT, receive, wait};

/// A server on manual lanes with one open session, whose client is a socket of the standard library.
struct Polled {
    lanes: Lanes,
    peer: std::net::TcpStream,
    messages: Receiver<Vec<u8>>,
}

impl Polled {
    fn new() -> Self {
        let lanes = Lanes::manual().unwrap();
        let (told, messages) = channel();
        let handler = move |_: &Session| {
            let told = told.clone();
            move |session: &mut Session, message: &[u8]| {
                told.send(message.to_vec()).unwrap();
                session.send(message).unwrap();
            }
        };
        let config = ServerConfig::new().framing(Framing::LengthPrefix);
        let server = Server::start(&lanes, "127.0.0.1:0", config, handler).unwrap();
        let peer = std::net::TcpStream::connect(server.local_addr().ip().unwrap()).unwrap();
        peer.set_nodelay(true).unwrap();
        peer.set_read_timeout(Some(LIMIT)).unwrap();
        let deadline = Instant::now() + LIMIT;
        while server.sessions().is_empty() {
            assert!(Instant::now() < deadline);
            lanes.poll().unwrap();
        }
        lanes.poll().unwrap();
        Self {
            lanes,
            peer,
            messages,
        }
    }

    fn send(&self, message: u8) {
        std::io::Write::write_all(&mut &self.peer, &[1, message]).unwrap();
    }

    fn echo(&self) -> u8 {
        let mut echo = [0; 2];
        std::io::Read::read_exact(&mut &self.peer, &mut echo).unwrap();
        echo[1]
    }
}

#[test]
fn what_arrived_before_a_poll_is_delivered_in_it() {
    let polled = Polled::new();
    for number in 0..100 {
        // On loopback, what a write has returned for is in the receiver's queue.
        polled.send(number);
        polled.lanes.poll().unwrap();
        assert_eq!(
            polled.messages.try_recv(),
            Ok(vec![number]),
            "not one poll later"
        );
        assert_eq!(polled.echo(), number, "and answered");
    }
}

#[test]
fn nothing_happens_between_polls() {
    let polled = Polled::new();
    polled.send(1);
    polled
        .peer
        .set_read_timeout(Some(Duration::from_millis(50)))
        .unwrap();
    assert!(std::io::Read::read(&mut &polled.peer, &mut [0]).is_err());
    assert!(polled.messages.try_recv().is_err());
    polled.lanes.poll().unwrap();
    assert_eq!(polled.messages.try_recv(), Ok(vec![1]));
}

#[test]
fn polling_until_a_deadline_delivers_in_between() {
    let polled = Polled::new();
    let peer = polled.peer.try_clone().unwrap();
    let began = Instant::now();
    let deadline = began + Duration::from_millis(200);
    let sender = std::thread::spawn(move || {
        // The answer to each comes while the poller sleeps towards its deadline.
        for number in 0..20 {
            std::io::Write::write_all(&mut &peer, &[1, number]).unwrap();
            std::io::Read::read_exact(&mut &peer, &mut [0; 2]).unwrap();
        }
        Instant::now()
    });
    polled.lanes.poll_until(deadline).unwrap();
    let returned = Instant::now();
    assert!(returned >= deadline, "not before the deadline");
    let answered = sender.join().unwrap();
    assert!(answered < returned, "all were answered before it returned");
    assert_eq!(polled.messages.try_iter().count(), 20);
}

#[test]
fn a_deadline_is_kept_to_less_than_a_millisecond() {
    let lanes = Lanes::manual().unwrap();
    for micros in [0, 1, 100, 300, 999] {
        let deadline = Instant::now() + Duration::from_micros(micros);
        lanes.poll_until(deadline).unwrap();
        assert!(Instant::now() >= deadline, "{micros} µs");
    }
    let past = Instant::now();
    lanes.poll_until(past).unwrap();
}

#[test]
fn polling_inside_of_a_runtime_is_refused() {
    let lanes = Lanes::manual().unwrap();
    let inside = lanes.clone();
    let refused = |result: Result<(), LanesError>| {
        assert!(
            matches!(result, Err(LanesError::InsideRuntime)),
            "{result:?}"
        );
    };
    wait("an answer", async {
        refused(lanes.poll());
        refused(lanes.poll_until(Instant::now()));
        refused(lanes.block_on(async {}));
    });
    let (told, answers) = channel();
    lanes.post(move || told.send(inside.poll()).unwrap());
    lanes.poll().unwrap();
    refused(receive(&answers, "the post ran"));
    let text = "inside of a runtime, a callback or a task, where waiting would block it";
    assert_eq!(LanesError::InsideRuntime.to_string(), text);
}

#[test]
fn two_threads_do_not_poll_at_once() {
    let lanes = Lanes::manual().unwrap();
    let (entered, inside) = channel();
    let (release, released) = channel::<()>();
    lanes.post(move || {
        entered.send(()).unwrap();
        released.recv_timeout(LIMIT).unwrap();
    });
    let other = lanes.clone();
    let poller = std::thread::spawn(move || other.poll());
    receive(&inside, "the other thread polls");
    assert!(matches!(lanes.poll(), Err(LanesError::Busy)));
    assert!(matches!(lanes.block_on(async {}), Err(LanesError::Busy)));
    release.send(()).unwrap();
    poller.join().unwrap().unwrap();
    lanes.poll().unwrap();
}

#[test]
fn lanes_with_threads_are_not_polled() {
    for lanes in [Lanes::shared(1).unwrap(), Lanes::sharded(2).unwrap()] {
        assert!(!lanes.is_manual());
        assert!(matches!(lanes.poll(), Err(LanesError::NotManual)));
        assert!(matches!(
            lanes.poll_until(Instant::now()),
            Err(LanesError::NotManual)
        ));
    }
}

#[test]
fn a_task_that_yields_runs_again_in_a_later_poll() {
    const YIELDS: usize = 200;
    let lanes = Lanes::manual().unwrap();
    let turns = Arc::new(AtomicUsize::new(0));
    let counted = turns.clone();
    lanes.spawn(async move {
        for _ in 0..YIELDS {
            counted.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
        }
    });
    for poll in 1..=YIELDS {
        lanes.poll().unwrap();
        assert!(turns.load(Ordering::Relaxed) >= poll, "poll {poll}");
    }
}

#[test]
fn more_work_than_a_poll_does_is_done_in_the_next() {
    const TASKS: usize = 5_000;
    let lanes = Lanes::manual().unwrap();
    let (sender, _) = tokio::sync::broadcast::channel(1);
    let done = Arc::new(AtomicUsize::new(0));
    for _ in 0..TASKS {
        let mut receiver = sender.subscribe();
        let done = done.clone();
        lanes.spawn(async move {
            // A channel of tokio's, so that each costs some of the budget that tokio gives a poll.
            receiver.recv().await.unwrap();
            done.fetch_add(1, Ordering::Relaxed);
        });
    }
    lanes.poll().unwrap();
    sender.send(()).unwrap();
    let mut polls = 0;
    while done.load(Ordering::Relaxed) < TASKS {
        lanes.poll().unwrap();
        polls += 1;
        assert!(polls < TASKS, "a task was forgotten");
    }
}

#[test]
fn a_whole_exchange_runs_by_waiting_for_it() {
    let lanes = Lanes::manual().unwrap();
    let config = ServerConfig::new().framing(Framing::LengthPrefix);
    let serve = |mut connection: arknet::Connection| async move {
        while let Ok(Some(message)) = connection.recv().await {
            connection.send(message).await.unwrap();
        }
    };
    let server = Server::serve(&lanes, "127.0.0.1:0", config, serve).unwrap();
    let config = ClientConfig::new().framing(Framing::LengthPrefix);
    let exchange = async {
        let mut connection = connect(&lanes, server.local_addr(), config).await.unwrap();
        connection.send("hello").await.unwrap();
        assert_eq!(connection.recv().await.unwrap().unwrap(), "hello");
        connection.close().await;
    };
    lanes.block_on(exchange).unwrap();
    let report = server.shutdown(LIMIT).wait().unwrap();
    assert_eq!((report.closed, report.forced), (0, 0));
    let report = lanes.block_on(lanes.shutdown(LIMIT)).unwrap();
    assert!(report.finished);
}
