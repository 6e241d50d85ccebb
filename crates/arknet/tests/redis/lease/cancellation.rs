//! Dropping a future cancels the delivery, and no one else gets what was on its way.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use arknet::redis::{Error, Lease, ResetPolicy, cmd};
use arknet_testkit::need;
use arknet_testkit::proxy::{Direction, FaultProxy, Plan};
use arknet_testkit::servers::redis::{Options, RedisServer};

use super::{config, echo, pool_of_one, tell};

/// Rounds of cancelling at random moments.
const ROUNDS: u64 = 2_000;

/// A generator of numbers that look random and are the same in every run (xorshift64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Polls a future so many times, and drops it unless it has ended.
async fn poll_and_drop<F: Future>(future: F, polls: u64) {
    let mut future = pin!(future);
    let mut left = polls;
    poll_fn(|cx| {
        if left == 0 || future.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        left -= 1;
        if left == 0 {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    })
    .await;
}

async fn drop_after<F: Future>(future: F, time: Duration) {
    // Timers are too coarse for microseconds: poll until the time is over.
    let end = Instant::now() + time;
    let mut future = pin!(future);
    poll_fn(|cx| {
        if future.as_mut().poll(cx).is_ready() || Instant::now() >= end {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[test]
fn no_reply_goes_astray_when_requests_are_cancelled_at_random() {
    let server = need!(RedisServer::start(Options::default()));
    tell(|lanes| async move {
        let pool = pool_of_one(config(&server), ResetPolicy::Automatic, &lanes);
        let mut random = Random(0x9E37_79B9_7F4A_7C15);
        for round in 0..ROUNDS {
            let mut lease = pool.acquire().await.unwrap();
            let astray = format!("astray {round}");
            let request = lease.run(cmd::<String>("ECHO").arg(&astray));
            let time = Duration::from_micros(random.below(60));
            drop_after(request, time).await;
            // On the same lease, or on the next.
            if random.below(2) == 0 {
                drop(lease);
                lease = pool.acquire().await.unwrap();
            }
            echo(&mut lease, &format!("own {round}")).await;
        }
        assert_eq!(server.client_list().len(), 1);
    });
}

#[test]
fn no_reply_goes_astray_when_changing_and_large_requests_are_cancelled_at_every_poll() {
    let server = need!(RedisServer::start(Options::default()));
    tell(|lanes| async move {
        let pool = pool_of_one(config(&server), ResetPolicy::Automatic, &lanes);
        let large = "x".repeat(300_000);
        for round in 0..200_u64 {
            let mut lease = pool.acquire().await.unwrap();
            let polls = round % 8;
            match round % 4 {
                0 => poll_and_drop(lease.run(cmd::<()>("SELECT").arg(round % 16)), polls).await,
                1 => poll_and_drop(lease.run(cmd::<String>("ECHO").arg(&large)), polls).await,
                2 => poll_and_drop(lease.run(cmd::<()>("MULTI")), polls).await,
                _ => poll_and_drop(lease.run(cmd::<()>("SET").arg("k").arg(&large)), polls).await,
            }
            drop(lease);
            let mut next = pool.acquire().await.unwrap();
            echo(&mut next, &format!("own {round}")).await;
            let info: String = next.run(cmd("CLIENT INFO")).await.unwrap();
            assert!(
                info.contains(" db=0 ") && info.contains(" multi=-1 "),
                "{round}: {info}"
            );
        }
    });
}

#[test]
fn a_cancelled_command_that_blocks_frees_its_place_at_once_and_takes_nothing() {
    let server = need!(RedisServer::start(Options::default()));
    tell(|lanes| async move {
        let pool = pool_of_one(config(&server), ResetPolicy::Automatic, &lanes);
        for round in 0..5 {
            let mut lease = pool.acquire().await.unwrap();
            let pop = cmd::<Option<(String, String)>>("BLPOP").arg("queue").arg(0);
            drop_after(lease.run(pop), Duration::from_millis(20)).await;
            let closed = lease.run(cmd::<()>("PING")).await.unwrap_err();
            assert!(closed.is_closed(), "{closed}");
            drop(lease);
            let began = Instant::now();
            echo(&mut pool.acquire().await.unwrap(), "at once").await;
            assert!(
                began.elapsed() < Duration::from_secs(1),
                "{:?}",
                began.elapsed()
            );
            server.cli(&["RPUSH", "queue", &format!("item {round}")]);
            assert_eq!(
                server.cli(&["LPOP", "queue"]).text(),
                format!("item {round}")
            );
        }
    });
}

#[test]
fn a_reply_that_does_not_come_is_not_waited_for_by_the_next_user() {
    let server = need!(RedisServer::start(Options::default()));
    let proxy = FaultProxy::start(server.addr()).unwrap();
    let config = arknet::redis::Config::new(proxy.addr()).unwrap();
    tell(|lanes| async move {
        let pool = pool_of_one(config, ResetPolicy::Automatic, &lanes);
        let mut lease = pool.acquire().await.unwrap();
        echo(&mut lease, "before").await;
        proxy.set(Direction::ToClient, Plan::stall_after(0));
        poll_and_drop(lease.run(cmd::<String>("ECHO").arg("astray")), 2).await;
        drop(lease);
        // New connections pass; the stalled one is given up after a while.
        proxy.set_nth(1, Direction::ToClient, Plan::pass());
        let began = Instant::now();
        let mut next = pool.acquire().await.unwrap();
        echo(&mut next, "own").await;
        assert!(
            began.elapsed() < Duration::from_secs(2),
            "{:?}",
            began.elapsed()
        );
        assert_eq!(pool.stats().pool.connected, 2);
    });
}

#[test]
fn a_request_that_was_not_sent_leaves_no_trace() {
    let server = need!(RedisServer::start(Options::default()));
    tell(|lanes| async move {
        let pool = pool_of_one(config(&server), ResetPolicy::Automatic, &lanes);
        let mut lease = pool.acquire().await.unwrap();
        drop(lease.run(cmd::<()>("SELECT").arg(3)));
        assert!(!lease.is_dirty(), "never polled");
        echo(&mut lease, "own").await;
    });
}

#[test]
fn a_transaction_that_is_dropped_watches_no_longer() {
    async fn watch(lease: &mut Lease) -> Result<(), Error> {
        let mut transaction = lease.transaction();
        transaction.watch(["a", "b"]).await
    }
    let server = need!(RedisServer::start(Options::default()));
    tell(|lanes| async move {
        let pool = pool_of_one(config(&server), ResetPolicy::Automatic, &lanes);
        let mut lease = pool.acquire().await.unwrap();
        watch(&mut lease).await.unwrap();
        server.cli(&["SET", "a", "touched"]);
        let transaction = lease.transaction();
        let set = transaction
            .commit(cmd::<()>("SET").arg("b").arg(1))
            .await
            .unwrap();
        assert!(!set.is_conflict());
    });
}
