//! Timers and posts: in order, replaced, cancelled, repeating, gone with their owner.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use arknet::tcp::Server;
use arknet::{Handler, SendError, Session, SessionHandle, TimerKey};

use crate::harness::{
    Cell, Host, LIMIT, Log, Model, Role, Style, Transport, eventually, receive, wait,
};

over_tcp![
    timers_fire_in_order_and_posts_come_first,
    a_timer_is_replaced,
    a_timer_is_cancelled,
    a_repeating_timer_cancels_itself,
    timers_and_posts_end_with_their_session,
    a_servers_timers_fire_and_end_with_it,
    dispatch_runs_where_it_belongs,
];

const TICK: Duration = Duration::from_millis(5);
const NEVER: Duration = Duration::from_secs(3600);

fn session(cell: Cell) -> (Host, Server, SessionHandle, arknet::tcp::Client, Log) {
    let host = Host::new(cell);
    let (server, _, seen) = host.server(host.server_config(), Role::Record);
    let (client, log) = host.client(&server, host.client_config());
    log.opened();
    let session = seen.opened();
    (host, server, session, client, log)
}

fn teller<T: Send + 'static>() -> (Sender<T>, Receiver<T>) {
    channel()
}

fn timers_fire_in_order_and_posts_come_first(cell: Cell) {
    let (host, _server, session, _client, _log) = session(cell);
    let (told, order) = teller();
    let handle = session.clone();
    let set = move |session: &mut Session| {
        for (key, after) in [("c", 3), ("a", 1), ("b", 2), ("now", 0)] {
            let told = told.clone();
            session.set_timer_with(key, TICK * after, move |_| told.send(key).unwrap());
        }
        for key in ["first post", "second post"] {
            let told = told.clone();
            handle.post(move |_| told.send(key).unwrap()).unwrap();
        }
    };
    session.post(set).unwrap();
    let expected = ["first post", "second post", "now", "a", "b", "c"];
    let mut seen = expected.map(|_| receive(&order, "a timer or a post"));
    // A timer that is due at once and a post are both of the next turn.
    seen[..3].sort_by_key(|key| *key == "now");
    assert_eq!(seen, expected);
    host.finish();
}

fn a_timer_is_replaced(cell: Cell) {
    let (host, _server, session, _client, _log) = session(cell);
    let (told, fired) = teller();
    let set = move |session: &mut Session| {
        let (first, second) = (told.clone(), told);
        session.set_timer_with(7, TICK, move |_| first.send("replaced").unwrap());
        session.set_timer_with(7, TICK * 2, move |_| second.send("new").unwrap());
        assert!(
            session.has_timer(7) && !session.has_timer("7"),
            "a number is no text"
        );
    };
    let began = Instant::now();
    session.post(set).unwrap();
    assert_eq!(receive(&fired, "the timer"), "new");
    assert!(began.elapsed() >= TICK * 2);
    assert!(
        fired.recv().is_err(),
        "the replaced one is dropped, and the new one fires once"
    );
    host.finish();
}

fn a_timer_is_cancelled(cell: Cell) {
    let (host, _server, session, _client, _log) = session(cell);
    let (told, fired) = teller();
    let (dropped, captures) = teller::<()>();
    let set = move |session: &mut Session| {
        session.set_timer_with(String::from("long"), NEVER, move |_| drop(dropped));
        session.set_timer(1, TICK);
        session.set_interval(2, TICK);
        assert!(session.cancel_timer("long") && !session.cancel_timer("long"));
        assert!(session.cancel_timer(1) && session.cancel_timer(2) && !session.cancel_timer(3));
        session.set_timer_with("after", TICK * 4, move |session| {
            told.send(session.has_timer(1) || session.has_timer("long"))
                .unwrap();
        });
    };
    session.post(set).unwrap();
    assert!(
        captures.recv_timeout(LIMIT).is_err(),
        "its captures are dropped"
    );
    assert!(!receive(&fired, "the timer"));
    host.finish();
}

fn a_repeating_timer_cancels_itself(cell: Cell) {
    let (host, _server, session, _client, _log) = session(cell);
    let (told, fired) = teller();
    let (done, rest) = teller();
    let set = move |session: &mut Session| {
        let mut count = 0;
        session.set_interval_with("beat", TICK, move |session| {
            count += 1;
            told.send(Instant::now()).unwrap();
            if count == 3 {
                assert!(session.cancel_timer("beat"));
                let done = done.clone();
                session.set_timer_with("after", TICK * 4, move |session| {
                    done.send(session.has_timer("beat")).unwrap();
                });
            }
        });
    };
    let began = Instant::now();
    session.post(set).unwrap();
    for number in 1..=3 {
        assert!(receive(&fired, "a beat") >= began + TICK * number);
    }
    assert!(!receive(&rest, "the timer"));
    assert!(fired.recv().is_err(), "no beat after the last");
    host.finish();
}

fn timers_and_posts_end_with_their_session(cell: Cell) {
    const EACH: usize = 32;
    let (host, server, session, client, _log) = session(cell);
    let alive = Arc::new(());
    let (told, has_set) = teller();
    let kept = alive.clone();
    let set = move |session: &mut Session| {
        for key in 0..EACH as u64 {
            let (one, other) = (kept.clone(), kept.clone());
            session.set_timer_with(key, NEVER, move |_| drop(one));
            session.set_interval_with(1_000 + key, NEVER, move |_| {
                assert!(Arc::strong_count(&other) > 0);
            });
        }
        told.send(()).unwrap();
    };
    session.post(set).unwrap();
    receive(&has_set, "timers are set");
    assert!(Arc::strong_count(&alive) > EACH);
    // Posts that wait behind an abort never run, and are dropped.
    let abort = |session: &mut Session| session.abort();
    session.post(abort).unwrap();
    for _ in 0..EACH {
        let kept = alive.clone();
        match session.post(move |_| drop(kept)) {
            Ok(()) | Err(SendError::NotConnected) => {}
            Err(error) => panic!("{error}"),
        }
    }
    eventually("captures are dropped", || Arc::strong_count(&alive) == 1);
    assert!(wait("a refusal", async { session.post(|_| {}) }).is_err());
    wait("the client ends", client.handle().closed());
    eventually("the session is gone", || server.is_empty());
    host.finish();
}

fn a_servers_timers_fire_and_end_with_it(cell: Cell) {
    let (host, server, _session, _client, _log) = session(cell);
    let (told, fired) = teller();
    let beats = Arc::new(AtomicUsize::new(0));
    let counted = beats.clone();
    let (first, second) = (told.clone(), told);
    assert!(server.set_timer("one", TICK, move |_| first.send("replaced").unwrap()));
    assert!(server.set_timer("one", TICK * 2, move |server| {
        second
            .send(if server.len() == 1 { "new" } else { "empty" })
            .unwrap();
    }));
    assert!(server.set_interval("beat", Duration::ZERO, move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
    }));
    assert_eq!(receive(&fired, "the timer"), "new");
    assert!(fired.recv().is_err());
    eventually("it beats", || beats.load(Ordering::Relaxed) >= 3);
    eventually("it has fired for good", || !server.cancel_timer("one"));
    assert!(server.cancel_timer("beat") && !server.cancel_timer("beat"));
    let alive = Arc::new(());
    let kept = alive.clone();
    assert!(server.set_timer("late", NEVER, move |_| drop(kept)));
    wait("the server ends", server.shutdown(LIMIT));
    eventually("it is dropped", || Arc::strong_count(&alive) == 1);
    assert!(
        !server.set_timer("later", TICK, |_| {}),
        "a server that has ended sets no timers"
    );
    host.finish();
}

fn dispatch_runs_where_it_belongs(cell: Cell) {
    let (host, _server, session, _client, _log) = session(cell);
    let (told, ran) = teller();
    let outer = told.clone();
    let handle = session.clone();
    session
        .dispatch(move |_| outer.send("from elsewhere").unwrap())
        .unwrap();
    assert_eq!(receive(&ran, "a dispatch"), "from elsewhere");
    let nested = move |_: &mut Session| {
        let inner = told.clone();
        handle.post(move |_| inner.send("posted").unwrap()).unwrap();
        told.send("ran").unwrap();
    };
    session.post(nested).unwrap();
    assert_eq!(receive(&ran, "the post"), "ran");
    assert_eq!(receive(&ran, "its post"), "posted");
    host.finish();
}

fn one_cell() -> Cell {
    Cell {
        transport: Transport::Tcp,
        style: Style::Callbacks,
        model: Model::Shared4,
    }
}

struct Beats(Sender<TimerKey>);

impl Handler for Beats {
    fn on_open(&mut self, session: &mut Session) {
        session.set_timer("once", TICK);
        session.set_interval(1, TICK);
    }

    fn on_message(&mut self, _: &mut Session, _: &[u8]) {}

    fn on_timer(&mut self, session: &mut Session, key: TimerKey) {
        if key == TimerKey::from(1) && !session.has_timer("once") {
            session.close();
        }
        self.0.send(key).unwrap();
    }
}

#[test]
fn a_handler_is_told_the_key() {
    let host = Host::new(one_cell());
    let (told, keys) = channel();
    let server = Server::start(
        &host.lanes,
        host.address(),
        host.server_config(),
        move |_| Beats(told.clone()),
    )
    .unwrap();
    let (client, _) = host.client(&server, host.client_config());
    wait("the handler closes", client.handle().closed());
    wait("the server ends", server.shutdown(LIMIT));
    let keys: Vec<_> = keys.try_iter().collect();
    let once = keys.iter().filter(|key| **key == TimerKey::from("once"));
    assert_eq!(once.count(), 1);
    assert_eq!(keys.last(), Some(&TimerKey::from(1)));
    host.finish();
}

#[test]
fn a_timer_that_has_fired_takes_no_room() {
    let host = Host::new(one_cell());
    let (server, _client, _log) = host.echo();
    let fired = Arc::new(AtomicUsize::new(0));
    for key in 0..1_024_u64 {
        let fired = fired.clone();
        let count = move |_: &Server| {
            fired.fetch_add(1, Ordering::Relaxed);
        };
        assert!(server.set_timer(key, Duration::ZERO, count));
    }
    eventually("all have fired", || fired.load(Ordering::Relaxed) == 1_024);
    eventually("there is room", || server.set_timer("more", NEVER, |_| {}));
    let all = (0..1_023_u64).filter(|key| server.set_timer(*key, NEVER, |_| {}));
    assert_eq!(all.count(), 1_023);
    assert!(!server.set_timer("one too many", NEVER, |_| {}));
    assert!(
        server.set_timer("more", NEVER, |_| {}),
        "replacing needs no room"
    );
    host.finish();
}

#[test]
fn posts_beyond_the_limit_are_refused() {
    let (host, _server, session, _client, _log) = session(one_cell());
    let (entered, held) = channel();
    let (release, released) = channel::<()>();
    let hold = move |_: &mut Session| {
        entered.send(()).unwrap();
        released.recv_timeout(LIMIT).unwrap();
    };
    session.post(hold).unwrap();
    receive(&held, "the lane is held");
    let ran = Arc::new(AtomicUsize::new(0));
    let post = || {
        let ran = ran.clone();
        session.post(move |_| {
            ran.fetch_add(1, Ordering::Relaxed);
        })
    };
    let accepted = (0..2_000).filter(|_| post().is_ok()).count();
    assert_eq!(accepted, 1_024);
    let refused = post().unwrap_err();
    assert!(refused.is_full());
    assert_eq!(refused.to_string(), "post: 1024 functions wait already");
    release.send(()).unwrap();
    eventually("they run", || ran.load(Ordering::Relaxed) == accepted);
    post().unwrap();
    host.finish();
    assert_eq!(ran.load(Ordering::Relaxed), accepted + 1);
}

#[test]
fn times_that_no_clock_can_express_are_never() {
    let host = Host::new(one_cell());
    let (server, client, log) = host.echo();
    let (told, replaced) = channel();
    let set = move |session: &mut Session| {
        session.set_timer("never", TICK);
        session.set_timer("never", Duration::MAX);
        session.set_interval("never, often", Duration::MAX);
        session.set_idle_timeout(Some(Duration::MAX));
        told.send(session.has_timer("never")).unwrap();
    };
    client.handle().post(set).unwrap();
    assert!(!receive(&replaced, "an answer"), "the timer is replaced");
    assert!(server.set_timer("never", Duration::MAX, |_| {}));
    assert!(server.set_interval("never, often", Duration::MAX, |_| {}));
    client.send("still here").unwrap();
    assert_eq!(log.message(), b"still here");
    wait("the client ends", client.shutdown(Duration::MAX));
    wait("the server ends", server.shutdown(Duration::MAX));
    let lanes = host.lanes.clone();
    let report = wait("the lanes end", lanes.shutdown(Duration::MAX));
    assert!(report.finished);
}
