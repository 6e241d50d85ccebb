//! Where leases are used, and where they end: any thread, any runtime or none, before and after their lanes.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use arknet::pool::PoolConfig;
use arknet::redis::{ErrorKind, Pool, ResetPolicy, cmd};
use arknet::{Lanes, Outcome};
use arknet_testkit::need;
use arknet_testkit::servers::redis::{Options, RedisServer};

use super::{PATIENCE, config, echo, pool_of_one};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future on a thread that belongs to no runtime.
fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut cx = Context::from_waker(&waker);
    let mut future = pin!(future);
    let end = Instant::now() + PATIENCE;
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
            return output;
        }
        thread::park_timeout(Duration::from_secs(1));
        assert!(Instant::now() < end, "the story hangs");
    }
}

#[test]
fn a_lease_works_on_a_thread_without_a_runtime_and_so_does_its_deadline() {
    let server = need!(RedisServer::start(Options::default()));
    let lanes = Lanes::sharded(1).unwrap();
    let pool = pool_of_one(config(&server), ResetPolicy::Automatic, &lanes);
    block_on(async {
        let mut lease = pool.acquire().await.unwrap();
        echo(&mut lease, "no runtime").await;
        lease.set_request_timeout(Some(Duration::from_millis(30)));
        server.freeze();
        let late = lease.run(cmd::<()>("PING")).await.unwrap_err();
        assert!(late.is_timeout(), "{late}");
        server.thaw();
        drop(lease);
        echo(&mut pool.acquire().await.unwrap(), "after").await;
        assert!(pool.close(PATIENCE).await.finished);
    });
}

#[test]
fn a_lease_moves_between_threads_and_runtimes() {
    let server = need!(RedisServer::start(Options::default()));
    let lanes = Lanes::shared(2).unwrap();
    let pool = pool_of_one(config(&server), ResetPolicy::Automatic, &lanes);
    let mut lease = block_on(pool.acquire()).unwrap();
    for round in 0..20 {
        lease = thread::spawn(move || {
            let text = format!("round {round}");
            let runtime = tokio::runtime::Builder::new_current_thread()
                .build()
                .unwrap();
            if round % 2 == 0 {
                // A runtime without IO and without timers.
                runtime.block_on(echo(&mut lease, &text));
            } else {
                block_on(echo(&mut lease, &text));
            }
            lease
        })
        .join()
        .unwrap();
    }
    thread::spawn(move || drop(lease)).join().unwrap();
    block_on(async { echo(&mut pool.acquire().await.unwrap(), "home").await });
}

#[test]
fn a_lease_outlives_its_pool_and_its_lanes() {
    let server = need!(RedisServer::start(Options::default()));
    let lanes = Lanes::sharded(1).unwrap();
    let pool = pool_of_one(config(&server), ResetPolicy::Automatic, &lanes);
    let mut lease = block_on(pool.acquire()).unwrap();
    drop(pool);
    block_on(echo(&mut lease, "without a pool"));
    lanes
        .block_on(lanes.shutdown(Duration::from_millis(10)))
        .unwrap();
    drop(lanes);
    // Its socket has ended with the lanes, at the latest soon: then it says so, and never hangs or panics.
    let error = loop {
        match block_on(lease.run(cmd::<()>("PING"))) {
            Ok(()) => thread::yield_now(),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::Lost, "{error}");
    let after = block_on(lease.run(cmd::<()>("PING"))).unwrap_err();
    assert_eq!(after.outcome(), Outcome::NotSent);
    drop(lease);
}

#[test]
fn a_callback_is_called_when_its_lanes_have_ended() {
    let server = need!(RedisServer::start(Options::default()));
    let lanes = Lanes::sharded(1).unwrap();
    let pool = Pool::new(config(&server), PoolConfig::new(), &lanes).unwrap();
    let (told, results) = mpsc::channel();
    let lease = block_on(pool.acquire()).unwrap();
    // The server does not answer this one before the lanes end.
    let pop = cmd::<()>("BLPOP").arg("none").arg(0);
    let tell = told.clone();
    lease.run_with(pop, move |_lease, result| tell.send(result).unwrap());
    while server
        .cli(&["INFO", "clients"])
        .text()
        .contains("blocked_clients:0")
    {
        thread::yield_now();
    }
    let lease = block_on(pool.acquire()).unwrap();
    block_on(lanes.shutdown(Duration::ZERO));
    lease.run_with(cmd::<()>("PING"), move |_lease, result| {
        told.send(result).unwrap();
    });
    drop((pool, lanes));
    let outcomes: Vec<_> = results
        .iter()
        .map(|result| result.map_err(|error| error.outcome()))
        .collect();
    assert_eq!(outcomes.len(), 2, "{outcomes:?}");
    assert!(outcomes.contains(&Err(Outcome::Unknown)), "{outcomes:?}");
}

/// Whatever is awaited may be in a task that moves between threads.
#[test]
fn everything_can_be_awaited_in_a_task_of_its_own() {
    let server = need!(RedisServer::start(Options::default()));
    let lanes = Lanes::shared(2).unwrap();
    let pool = Pool::new(config(&server), PoolConfig::new(), &lanes).unwrap();
    let (told, done) = mpsc::channel();
    lanes.spawn(async move {
        let mut lease = pool.acquire().await.unwrap();
        echo(&mut lease, "in a task").await;
        let mut transaction = lease.transaction();
        transaction.watch("k").await.unwrap();
        let set = arknet::redis::pipeline().add(cmd::<()>("SET").arg("k").arg(1));
        let (set,) = transaction.commit(set).await.unwrap().applied().unwrap();
        set.unwrap();
        drop(lease);
        let stored: i64 = pool.run(cmd("GET").arg("k")).await.unwrap();
        let report = pool.close(PATIENCE).await;
        told.send((stored, report.finished)).unwrap();
    });
    assert_eq!(done.recv_timeout(PATIENCE).unwrap(), (1, true));
}
