//! Lanes: work runs once, does not overlap with itself, uses the threads there are, and ends.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use arknet::{Lanes, LanesError, Session};

use crate::harness::{Cell, Host, LIMIT, eventually, receive, wait};

over_tcp![
    nested_tasks_run_and_are_waited_for,
    a_hundred_tasks_run_once_and_none_after_the_end,
    a_session_never_overlaps_with_itself,
    waiting_inside_of_a_callback_is_refused,
];

fn nested_tasks_run_and_are_waited_for(cell: Cell) {
    let host = Host::new(cell);
    let ran = Arc::new(AtomicUsize::new(0));
    let (lanes, counted) = (host.lanes.clone(), ran.clone());
    host.lanes.spawn(async move {
        for _ in 0..10 {
            let (lanes, counted) = (lanes.clone(), counted.clone());
            let outer = lanes.clone();
            outer.spawn(async move {
                let inner = counted.clone();
                lanes.post(move || {
                    inner.fetch_add(1, Ordering::Relaxed);
                });
                counted.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    eventually("all have run", || ran.load(Ordering::Relaxed) == 20);
    host.finish();
}

fn a_hundred_tasks_run_once_and_none_after_the_end(cell: Cell) {
    let host = Host::new(cell);
    let ran = Arc::new(AtomicUsize::new(0));
    let (lanes, counted) = (host.lanes.clone(), ran.clone());
    for _ in 0..100 {
        let ran = ran.clone();
        host.lanes.spawn(async move {
            tokio::task::yield_now().await;
            ran.fetch_add(1, Ordering::Relaxed);
        });
    }
    // Two at once find the same end.
    let other = host.lanes.clone();
    let second = std::thread::spawn(move || wait("the lanes end", other.shutdown(LIMIT)));
    let report = wait("the lanes end", host.lanes.shutdown(LIMIT));
    assert!(report.finished && second.join().unwrap().finished);
    assert_eq!(report.tasks_left, 0);
    assert_eq!(counted.load(Ordering::Relaxed), 100);
    let dropped = Arc::new(());
    let kept = dropped.clone();
    host.finish();
    if cell.model != crate::harness::Model::Current {
        lanes.post(move || drop(kept));
        drop(lanes);
        eventually("it is dropped", || Arc::strong_count(&dropped) == 1);
    }
}

fn a_session_never_overlaps_with_itself(cell: Cell) {
    const POSTERS: usize = 4;
    const POSTS: usize = 200;
    let host = Host::new(cell);
    let (_server, client, _log) = host.echo();
    let busy = Arc::new(AtomicBool::new(false));
    let ran = Arc::new(AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..POSTERS {
            scope.spawn(|| {
                for _ in 0..POSTS {
                    let (busy, ran) = (busy.clone(), ran.clone());
                    let alone = move |session: &mut Session| {
                        assert!(!busy.swap(true, Ordering::AcqRel), "two at once");
                        session.send("work").unwrap();
                        std::thread::yield_now();
                        busy.store(false, Ordering::Release);
                        ran.fetch_add(1, Ordering::Relaxed);
                    };
                    let mut post = client.handle().post(alone.clone());
                    while post.is_err_and(|error| error.is_full()) {
                        std::thread::yield_now();
                        post = client.handle().post(alone.clone());
                    }
                }
            });
        }
    });
    eventually("all have run", || {
        ran.load(Ordering::Relaxed) == POSTERS * POSTS
    });
    assert!(client.handle().is_open(), "none panicked");
    host.finish();
}

fn waiting_inside_of_a_callback_is_refused(cell: Cell) {
    let host = Host::new(cell);
    let (_server, client, _log) = host.echo();
    let (told, answers) = channel();
    let lanes = host.lanes.clone();
    let ask = move |_: &mut Session| told.send(lanes.block_on(async {})).unwrap();
    client.handle().post(ask).unwrap();
    let answer = receive(&answers, "the post runs");
    assert!(
        matches!(answer, Err(LanesError::InsideRuntime)),
        "{answer:?}"
    );
    host.finish();
}

#[test]
fn each_thread_of_the_lanes_is_used() {
    for lanes in [Lanes::shared(4).unwrap(), Lanes::sharded(4).unwrap()] {
        // Each waits for all, so that no thread can take two.
        let barrier = Arc::new(std::sync::Barrier::new(4));
        let (told, threads) = channel();
        for _ in 0..4 {
            let (barrier, told) = (barrier.clone(), told.clone());
            lanes.post(move || {
                barrier.wait();
                told.send(std::thread::current().id()).unwrap();
            });
        }
        let threads: Vec<_> = (0..4).map(|_| receive(&threads, "a task runs")).collect();
        let distinct = threads.iter().map(|id| format!("{id:?}"));
        assert_eq!(distinct.collect::<BTreeSet<_>>().len(), 4);
        wait("the lanes end", lanes.shutdown(LIMIT));
    }
}

#[test]
fn lanes_say_what_they_are() {
    let described = |lanes: &Lanes| format!("{lanes:?}");
    let lanes = [
        (Lanes::shared(1).unwrap(), 1, "shared"),
        (Lanes::shared(4).unwrap(), 1, "shared"),
        (Lanes::sharded(4).unwrap(), 4, "sharded"),
        (Lanes::manual().unwrap(), 1, "manual"),
    ];
    for (lanes, count, model) in lanes {
        assert_eq!(lanes.count(), count);
        assert!(described(&lanes).contains(model), "{lanes:?}");
    }
}

#[test]
fn numbers_of_threads_out_of_range_are_refused() {
    for threads in [0, 1_025] {
        for refused in [Lanes::shared(threads), Lanes::sharded(threads)] {
            let error = refused.unwrap_err();
            assert!(
                matches!(error, LanesError::Threads { asked, most: 1_024 } if asked == threads)
            );
            assert_eq!(
                error.to_string(),
                format!("{threads} threads asked for, of 1 to 1024")
            );
        }
    }
}

#[test]
fn current_lanes_outside_of_a_runtime_are_refused() {
    assert!(matches!(Lanes::current(), Err(LanesError::NoRuntime)));
}

#[test]
fn only_lanes_with_a_thread_each_spin() {
    let spin = |lanes: Lanes| lanes.spin(Duration::from_micros(50));
    assert!(spin(Lanes::shared(1).unwrap()).is_ok());
    assert!(spin(Lanes::sharded(2).unwrap()).is_ok());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let current = {
        let _inside = runtime.enter();
        Lanes::current().unwrap()
    };
    for lanes in [Lanes::shared(2).unwrap(), Lanes::manual().unwrap(), current] {
        assert!(matches!(spin(lanes), Err(LanesError::Spin)));
    }
}

#[test]
fn lanes_that_spin_echo_and_end() {
    for lanes in [Lanes::shared(1).unwrap(), Lanes::sharded(2).unwrap()] {
        let lanes = lanes.spin(Duration::from_micros(100)).unwrap();
        let config = arknet::tcp::ServerConfig::new();
        let echo =
            |_: &Session| |session: &mut Session, message: &[u8]| session.send(message).unwrap();
        let server = arknet::tcp::Server::start(&lanes, "127.0.0.1:0", config, echo).unwrap();
        let config = arknet::tcp::ClientConfig::new();
        wait("an exchange", async {
            let mut connection = arknet::tcp::connect(&lanes, server.local_addr(), config)
                .await
                .unwrap();
            for _ in 0..100 {
                connection.send("hello").await.unwrap();
                assert_eq!(connection.recv().await.unwrap().unwrap(), "hello");
            }
            connection.close().await;
        });
        assert!(wait("the lanes end", lanes.shutdown(LIMIT)).finished);
    }
}

#[test]
fn a_task_that_does_not_end_is_reported() {
    let lanes = Lanes::shared(1).unwrap();
    let alive = Arc::new(());
    let kept = alive.clone();
    lanes.spawn(async move {
        let _kept = kept;
        std::future::pending::<()>().await;
    });
    let report = wait("the lanes end", lanes.shutdown(Duration::from_millis(50)));
    assert_eq!((report.finished, report.tasks_left), (false, 1));
    eventually("it is dropped with its thread", || {
        Arc::strong_count(&alive) == 1
    });
}

/// Wakes the thread that waits.
struct Unpark(std::thread::Thread);

impl std::task::Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[test]
fn a_shutdown_that_no_runtime_awaits_keeps_its_deadline() {
    let lanes = Lanes::sharded(1).unwrap();
    lanes.spawn(std::future::pending());
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut shutdown = std::pin::pin!(lanes.shutdown(Duration::from_millis(50)));
    let report = loop {
        match shutdown
            .as_mut()
            .poll(&mut std::task::Context::from_waker(&waker))
        {
            std::task::Poll::Ready(report) => break report,
            std::task::Poll::Pending => std::thread::park(),
        }
    };
    assert!(!report.finished);
    assert_eq!(report.tasks_left, 1);
}
