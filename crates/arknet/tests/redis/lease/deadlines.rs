//! How long anything may take, and what is left behind when it took longer.

use std::time::{Duration, Instant};

use arknet::pool::PoolConfig;
use arknet::redis::{Config, Doing, Error, ErrorKind, Pool, ResetPolicy, cmd};
use arknet::{Lanes, Outcome};
use arknet_testkit::need;
use arknet_testkit::servers::redis::{Options, RedisServer};

use super::{config, echo, pool_of_one, tell};

const SHORT: Duration = Duration::from_millis(50);

#[test]
fn a_request_that_takes_too_long_fails_and_its_reply_reaches_nobody() {
    let server = need!(RedisServer::start(Options::default()));
    tell(|lanes| async move {
        let pool = pool_of_one(config(&server), ResetPolicy::Automatic, &lanes);
        let mut lease = pool.acquire().await.unwrap();
        echo(&mut lease, "before").await;
        lease.set_request_timeout(Some(SHORT));
        server.pause(3 * SHORT);
        let began = Instant::now();
        let late = lease
            .run(cmd::<String>("ECHO").arg("late"))
            .await
            .unwrap_err();
        assert!(began.elapsed() >= SHORT);
        assert!(
            matches!(
                late,
                Error::Timeout {
                    doing: Doing::Request,
                    within: SHORT,
                    outcome: Outcome::Unknown
                }
            ),
            "{late:?}"
        );
        lease.set_request_timeout(Some(Duration::from_secs(10)));
        echo(&mut lease, "on the same lease").await;
    });
}

#[test]
fn a_command_that_blocks_has_its_own_time_in_addition() {
    let server = need!(RedisServer::start(Options::default()));
    tell(|lanes| async move {
        let config = config(&server).request_timeout(Some(10 * SHORT));
        let pool = pool_of_one(config, ResetPolicy::Automatic, &lanes);
        let mut lease = pool.acquire().await.unwrap();
        let pop = cmd::<Option<(String, String)>>("BLPOP")
            .arg("none")
            .arg(0.6);
        assert_eq!(lease.run(pop).await.unwrap(), None);
        echo(&mut lease, "after").await;
    });
}

#[test]
fn a_deadline_of_the_lease_holds_for_all_that_is_run_on_it() {
    let server = need!(RedisServer::start(Options::default()));
    tell(|lanes| async move {
        let pool = pool_of_one(config(&server), ResetPolicy::Automatic, &lanes);
        let mut lease = pool.acquire().await.unwrap();
        let began = Instant::now();
        lease.set_deadline(Some(began + SHORT));
        let pop = cmd::<Option<(String, String)>>("BLPOP").arg("none").arg(0);
        let late = lease.run(pop).await.unwrap_err();
        assert!(late.is_timeout(), "{late}");
        assert!(began.elapsed() >= SHORT && began.elapsed() < 100 * SHORT);
    });
}

#[test]
fn who_waits_for_a_connection_waits_no_longer_than_allowed() {
    let server = need!(RedisServer::start(Options::default()));
    tell(|lanes| async move {
        let one = PoolConfig::new().max_connections(1).acquire_timeout(SHORT);
        let pool = Pool::new(config(&server), one, &lanes).unwrap();
        let lease = pool.acquire().await.unwrap();
        let late = pool.acquire().await.unwrap_err();
        assert!(
            matches!(
                late,
                Error::Timeout {
                    doing: Doing::Acquire,
                    within: SHORT,
                    ..
                }
            ),
            "{late:?}"
        );
        assert_eq!(late.outcome(), Outcome::NotSent);
        assert!(matches!(pool.try_acquire(), Err(Error::NoneIdle)));
        drop(lease);
        echo(&mut pool.try_acquire().unwrap(), "free").await;
    });
}

#[test]
fn one_deadline_covers_the_wait_for_a_connection_and_the_request() {
    let server = need!(RedisServer::start(Options::default()));
    tell(|lanes| async move {
        let config = config(&server).request_timeout(Some(20 * SHORT));
        let pool = pool_of_one(config, ResetPolicy::Automatic, &lanes);
        let pong: String = pool.run(cmd("PING")).await.unwrap();
        assert_eq!(pong, "PONG");
        server.freeze();
        let began = Instant::now();
        let late = pool.run(cmd::<String>("PING")).await.unwrap_err();
        assert!(late.is_timeout(), "{late}");
        assert!(began.elapsed() < 100 * SHORT, "{:?}", began.elapsed());
        server.thaw();
    });
}

#[test]
fn a_server_that_does_not_answer_is_given_up_in_time() {
    // It accepts, in the kernel, and says nothing.
    let deaf = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = deaf.local_addr().unwrap();
    tell(|lanes: Lanes| async move {
        let config = Config::new(address).unwrap().connect_timeout(SHORT);
        let acquire = PoolConfig::new().acquire_timeout(6 * SHORT);
        let pool = Pool::new(config, acquire, &lanes).unwrap();
        let error = pool.acquire().await.unwrap_err();
        assert!(
            matches!(
                error,
                Error::Timeout {
                    doing: Doing::Connect,
                    within: SHORT,
                    ..
                }
            ),
            "{error:?}"
        );
        let refused = Config::new("127.0.0.1:1").unwrap();
        let pool = Pool::new(refused, acquire, &lanes).unwrap();
        let error = pool.acquire().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Connect, "{error}");
        assert!(error.to_string().contains("127.0.0.1:1"), "{error}");
    });
}
