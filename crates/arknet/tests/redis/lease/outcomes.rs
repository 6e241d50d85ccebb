//! What a failed request says about what became of it.

use std::time::Duration;

use arknet::Outcome;
use arknet::pool::PoolConfig;
use arknet::redis::{Config, Error, ErrorKind, Pool, ResetPolicy, cmd};
use arknet_testkit::need;
use arknet_testkit::proxy::{Direction, FaultProxy, Plan, Side};
use arknet_testkit::servers::redis::{Options, RedisServer};

use super::scripted::{Peer, Scripted, session};
use super::{config, echo, pool_of_one, tell};

fn through(proxy: &FaultProxy) -> Config {
    Config::new(proxy.addr()).unwrap()
}

fn incr() -> arknet::redis::Command<i64> {
    cmd("INCR").arg("counter")
}

#[test]
fn a_reply_that_is_swallowed_leaves_the_outcome_unknown_and_the_request_done_once() {
    let server = need!(RedisServer::start(Options::default()));
    let proxy = FaultProxy::start(server.addr()).unwrap();
    tell(|lanes| async move {
        let pool = pool_of_one(through(&proxy), ResetPolicy::Automatic, &lanes);
        let mut lease = pool.acquire().await.unwrap();
        echo(&mut lease, "before").await;
        proxy.set(Direction::ToClient, Plan::stall_after(0));
        let cut = async {
            while server.cli(&["EXISTS", "counter"]).integer() == 0 {
                tokio::task::yield_now().await;
            }
            proxy.cut_all();
        };
        let (error, ()) = tokio::join!(lease.run(incr()), cut);
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Lost);
        assert_eq!(error.outcome(), Outcome::Unknown, "{error}");
        // Afterwards nothing is sent at all.
        let after = lease.run(incr()).await.unwrap_err();
        assert_eq!(after.outcome(), Outcome::NotSent, "{after}");
        drop(lease);
        proxy.set_both(Plan::pass(), Plan::pass());
        let mut next = pool.acquire().await.unwrap();
        let counter: i64 = next.run(cmd("GET").arg("counter")).await.unwrap();
        assert_eq!(counter, 1, "done once");
    });
}

#[test]
fn a_connection_that_is_known_to_have_ended_takes_no_request() {
    let server = need!(RedisServer::start(Options::default()));
    let proxy = FaultProxy::start(server.addr()).unwrap();
    tell(|lanes| async move {
        let pool = pool_of_one(through(&proxy), ResetPolicy::Automatic, &lanes);
        let mut lease = pool.acquire().await.unwrap();
        echo(&mut lease, "before").await;
        proxy.reset_all(Side::Client);
        // Whether the end has come already only the reactor knows: ask until it has.
        let error = loop {
            match lease.run(incr()).await {
                Ok(_) => tokio::task::yield_now().await,
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), ErrorKind::Lost, "{error}");
        let after = lease.run(incr()).await.unwrap_err();
        assert_eq!(after.outcome(), Outcome::NotSent);
        drop(lease);
        echo(&mut pool.acquire().await.unwrap(), "a new connection").await;
        assert_eq!(pool.stats().pool.discarded, 1);
    });
}

#[test]
fn an_idle_connection_that_has_ended_is_never_lent() {
    let server = need!(RedisServer::start(Options::default()));
    tell(|lanes| async move {
        let pool = pool_of_one(config(&server), ResetPolicy::Automatic, &lanes);
        for round in 0..20 {
            echo(&mut pool.acquire().await.unwrap(), &format!("{round}")).await;
            assert_eq!(server.kill_clients(), 1);
            // The lane has a turn, in which it sees the end.
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
}

#[test]
fn what_the_server_refuses_was_replied_to() {
    let server = need!(RedisServer::start(Options::default()));
    tell(|lanes| async move {
        let pool = pool_of_one(config(&server), ResetPolicy::Automatic, &lanes);
        let mut lease = pool.acquire().await.unwrap();
        lease
            .run(cmd::<()>("SET").arg("k").arg("text"))
            .await
            .unwrap();
        let refused = lease.run(cmd::<i64>("INCR").arg("k")).await.unwrap_err();
        assert_eq!(refused.outcome(), Outcome::Replied);
        assert!(refused.server().unwrap().text().contains("not an integer"));
        assert!(refused.to_string().contains("INCR"), "{refused}");
        let unfit = lease.run(cmd::<i64>("GET").arg("k")).await.unwrap_err();
        assert_eq!(
            (unfit.kind(), unfit.outcome()),
            (ErrorKind::Decode, Outcome::Replied)
        );
        echo(&mut lease, "the connection is as it was").await;
    });
}

/// A session in which `RESET` is answered like this, once the request behind it has come.
fn reset_is_answered(mut peer: Peer, answer: &str) {
    peer.login();
    peer.expect(&[
        ("SELECT 5", "+OK\r\n"),
        ("RESET", ""),
        ("HELLO 3", ""),
        ("ECHO behind", ""),
    ]);
    peer.reply(answer);
    peer.reply(super::scripted::HELLO);
    peer.reply("$6\r\nbehind\r\n");
    peer.end();
}

#[test]
fn a_reset_that_fails_fails_the_request_behind_it_with_its_outcome() {
    for answer in ["-ERR no\r\n", "+OK\r\n", "$5\r\nRESET\r\n", ":1\r\n"] {
        let server = Scripted::start([
            session(|peer| reset_is_answered(peer, answer)),
            session(|mut peer| {
                peer.login();
                peer.expect(&[("ECHO fresh", "$5\r\nfresh\r\n")]);
                peer.end();
            }),
        ]);
        tell(|lanes| async move {
            let config = Config::from_url(&server.url()).unwrap();
            let pool = pool_of_one(config, ResetPolicy::Automatic, &lanes);
            let mut lease = pool.acquire().await.unwrap();
            lease.run(cmd::<()>("SELECT").arg(5)).await.unwrap();
            drop(lease);
            let mut next = pool.acquire().await.unwrap();
            let behind = next.run(cmd::<String>("ECHO").arg("behind")).await;
            let error = behind.expect_err(answer);
            assert_eq!(error.kind(), ErrorKind::Lost, "{error}");
            assert_eq!(error.outcome(), Outcome::Unknown, "it was sent");
            assert!(error.to_string().contains("could not be reset"), "{error}");
            drop(next);
            echo(&mut pool.acquire().await.unwrap(), "fresh").await;
            pool.close(Duration::from_secs(1)).await;
        });
    }
}

#[test]
fn a_server_without_reset_is_asked_once_and_its_changed_connections_are_closed() {
    let first = |mut peer: Peer| {
        peer.expect(&[
            ("RESET", "-ERR unknown command 'RESET'\r\n"),
            ("HELLO 3", super::scripted::HELLO),
        ]);
        for _ in 0..2 {
            assert!(peer.request().unwrap().starts_with("CLIENT SETINFO"));
            peer.reply("-ERR unknown subcommand\r\n");
        }
        peer.expect(&[("SELECT 5", "+OK\r\n")]);
        assert_eq!(peer.request(), None, "closed, without a RESET");
    };
    let second = |mut peer: Peer| {
        // The second connection does not ask again.
        peer.expect(&[("HELLO 3", super::scripted::HELLO)]);
        peer.end();
    };
    let server = Scripted::start([session(first), session(second)]);
    tell(|lanes| async move {
        let config = Config::from_url(&server.url()).unwrap();
        let pool = pool_of_one(config, ResetPolicy::Automatic, &lanes);
        let mut lease = pool.acquire().await.unwrap();
        lease.run(cmd::<()>("SELECT").arg(5)).await.unwrap();
        drop(lease);
        // The second session answers no more than HELLO: the login does not end.
        let none = pool
            .acquire_within(Duration::from_millis(300))
            .await
            .unwrap_err();
        assert!(none.is_timeout(), "{none}");
        assert_eq!(pool.stats().resets, 0);
        pool.close(Duration::from_secs(1)).await;
    });
}

/// The first request fills what the system holds, so that the second is begun and the third is not.
#[test]
fn what_was_not_begun_of_a_pipeline_is_not_sent_and_never_will_be() {
    /// More than the buffers of both ends hold.
    const LARGE: usize = 32 << 20;
    let server = need!(RedisServer::start(Options::default()));
    tell(|lanes| async move {
        let config = config(&server).request_timeout(Some(Duration::from_millis(200)));
        let pool = pool_of_one(config, ResetPolicy::Automatic, &lanes);
        let mut lease = pool.acquire().await.unwrap();
        let text = "x".repeat(LARGE);
        server.freeze();
        let set = |key, text: &str| cmd::<()>("SET").arg(key).arg(text);
        let batch = arknet::redis::pipeline()
            .add(set("first", "1"))
            .add(set("second", &text))
            .add(set("third", "3"));
        let (first, second, third) = lease.run(batch).await;
        let outcomes = [first, second, third].map(|result| {
            let error = result.unwrap_err();
            assert!(error.is_timeout(), "{error}");
            error.outcome()
        });
        assert_eq!(
            outcomes,
            [Outcome::Unknown, Outcome::Unknown, Outcome::NotSent]
        );
        server.thaw();
        // Behind what was begun; the third is not.
        lease.set_request_timeout(None);
        let stored: Vec<Option<u64>> = lease
            .run(arknet::redis::pipeline().extend(
                ["first", "second", "third"].map(|key| cmd::<u64>("STRLEN").arg(key).returning()),
            ))
            .await
            .into_iter()
            .map(|length| length.unwrap())
            .collect();
        assert_eq!(stored, [Some(1), Some(LARGE as u64), Some(0)]);
        drop(lease);
        echo(&mut pool.acquire().await.unwrap(), "after").await;
    });
}

#[test]
fn a_transaction_that_is_cut_in_the_middle_leaves_nobody_in_it() {
    let server = need!(RedisServer::start(Options::default()));
    tell(|lanes| async move {
        let config = config(&server).request_timeout(Some(Duration::from_millis(200)));
        let pool = pool_of_one(config, ResetPolicy::Automatic, &lanes);
        let mut lease = pool.acquire().await.unwrap();
        lease.set_request_timeout(Some(Duration::from_millis(50)));
        server.freeze();
        let large = cmd::<()>("SET").arg("k").arg("x".repeat(32 << 20));
        let batch = arknet::redis::pipeline().add(large).atomic();
        let error = lease.run(batch).await.unwrap_err();
        assert_eq!(
            error.outcome(),
            Outcome::NotSent,
            "without EXEC nothing is done: {error}"
        );
        server.thaw();
        drop(lease);
        let mut next = pool.acquire().await.unwrap();
        next.set_request_timeout(None);
        echo(&mut next, "after").await;
        let exists: i64 = next.run(cmd("EXISTS").arg("k")).await.unwrap();
        assert_eq!(exists, 0);
    });
}

#[test]
fn a_connection_on_which_something_unasked_came_is_not_lent() {
    for unasked in ["+surprise\r\n", ">1\r\n+surprise\r\n", "half"] {
        let server = Scripted::start([
            session(move |mut peer| {
                peer.login();
                peer.expect(&[("ECHO first", "$5\r\nfirst\r\n")]);
                peer.reply(unasked);
                peer.end();
            }),
            session(|mut peer| {
                peer.login();
                peer.expect(&[("ECHO second", "$6\r\nsecond\r\n")]);
                peer.end();
            }),
        ]);
        tell(|lanes| async move {
            let pool = pool_of_one(
                Config::from_url(&server.url()).unwrap(),
                ResetPolicy::Automatic,
                &lanes,
            );
            echo(&mut pool.acquire().await.unwrap(), "first").await;
            // The lane has turns, in which it sees what came.
            tokio::time::sleep(Duration::from_millis(50)).await;
            echo(&mut pool.acquire().await.unwrap(), "second").await;
            assert_eq!(pool.stats().pool.discarded, 1, "{unasked:?}");
            pool.close(Duration::from_secs(1)).await;
        });
    }
}

#[test]
fn a_server_that_is_no_primary_any_more_is_left() {
    let server = need!(RedisServer::start(Options::default()));
    tell(|lanes| async move {
        let pool = pool_of_one(config(&server), ResetPolicy::Automatic, &lanes);
        let mut lease = pool.acquire().await.unwrap();
        server.cli(&["REPLICAOF", "127.0.0.1", "1"]);
        let error = lease
            .run(cmd::<()>("SET").arg("k").arg(1))
            .await
            .unwrap_err();
        assert_eq!(error.server().unwrap().code(), "READONLY");
        echo(&mut lease, "the lease goes on").await;
        drop(lease);
        echo(&mut pool.acquire().await.unwrap(), "elsewhere").await;
        assert_eq!(pool.stats().pool.connected, 2, "the name is resolved again");
    });
}

#[test]
fn of_a_pipeline_that_is_cut_each_request_says_what_became_of_it() {
    let server = Scripted::start([session(|mut peer| {
        peer.login();
        peer.expect(&[("INCR a", ":1\r\n"), ("INCR a", ":2\r\n")]);
        peer.cut();
    })]);
    tell(|lanes| async move {
        let config = Config::from_url(&server.url()).unwrap();
        let pool = Pool::new(config, PoolConfig::new(), &lanes).unwrap();
        let mut lease = pool.acquire().await.unwrap();
        let first: i64 = lease.run(cmd("INCR").arg("a")).await.unwrap();
        let second: i64 = lease.run(cmd("INCR").arg("a")).await.unwrap();
        assert_eq!((first, second), (1, 2));
        let third = lease.run(cmd::<i64>("INCR").arg("a")).await.unwrap_err();
        assert!(matches!(third, Error::Lost { .. }), "{third}");
        drop(lease);
        pool.close(Duration::from_secs(1)).await;
    });
}
