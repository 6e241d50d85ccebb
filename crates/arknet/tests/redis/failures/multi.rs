//! A server that refuses `MULTI` carries out nothing of what was to be carried out as a whole, or it is said.

use std::sync::mpsc;

use arknet::Outcome;
use arknet::pool::PoolConfig;
use arknet::redis::commands::strings::incr;
use arknet::redis::{Atomic, Client, Error, ErrorKind, Pipeline, Pool, cmd, pipeline};
use arknet_testkit::need;
use arknet_testkit::redis::{EmbeddedServer, Options, Rule};
use arknet_testkit::servers::redis::{Options as RealOptions, RedisServer};

use crate::support::{PATIENCE, config, on_a_lane, on_all_lanes};

/// The results of two commands.
type Both = (Result<i64, Error>, Result<i64, Error>);

fn start() -> EmbeddedServer {
    EmbeddedServer::start(Options::default()).unwrap()
}

fn twice() -> Atomic<Pipeline<(i64, i64)>> {
    pipeline().add(incr("k")).add(incr("k")).atomic()
}

/// What the two commands gave.
fn whole(both: Result<Both, Error>) -> (i64, i64) {
    let (one, two) = both.unwrap();
    (one.unwrap(), two.unwrap())
}

/// Nothing was sent behind the `MULTI`.
fn refused<T>(result: Result<T, Error>) {
    let Err(error) = result else {
        panic!("it was not refused");
    };
    assert!(
        error.to_string().starts_with("redis refused MULTI: "),
        "{error}"
    );
    assert_eq!(error.outcome(), Outcome::Replied);
}

#[test]
fn a_shared_client_sends_nothing_behind_a_refused_multi() {
    on_all_lanes(async |lanes| {
        let server = start();
        server.refuse_command("MULTI");
        let client = Client::connect(config(server.addr()), lanes).await.unwrap();
        refused(client.run(twice()).await);
        let (told, results) = mpsc::channel();
        let tell = move |result| told.send(result).unwrap();
        client.run_with(twice(), tell).unwrap();
        // In the order of the replies.
        client.run(cmd::<()>("PING")).await.unwrap();
        refused(results.recv_timeout(PATIENCE).unwrap());
        assert_eq!(server.stats().count("incr"), 0);
    });
}

#[test]
fn a_lease_sends_nothing_behind_a_refused_multi_and_keeps_no_watch() {
    on_all_lanes(async |lanes| {
        let server = start();
        let pool = Pool::new(config(server.addr()), PoolConfig::new(), lanes).unwrap();
        server.refuse_command("MULTI");
        refused(pool.run(twice()).await);
        let mut lease = pool.acquire().await.unwrap();
        let mut transaction = lease.transaction();
        transaction.watch("k").await.unwrap();
        refused(transaction.commit(incr("k")).await);
        assert_eq!(server.stats().count("incr"), 0);
        lease.run(cmd::<()>("PING")).await.unwrap();
        assert_eq!(server.stats().count("unwatch"), 1);
        // One who has waited for the answer goes on like any other.
        assert_eq!(lease.run(incr("k")).await.unwrap(), 1);
    });
}

#[test]
fn what_is_atomic_works_from_the_first_time_on() {
    on_all_lanes(async |lanes| {
        let server = start();
        let client = Client::connect(config(server.addr()), lanes).await.unwrap();
        let pool = Pool::new(config(server.addr()), PoolConfig::new(), lanes).unwrap();
        let mut lease = pool.acquire().await.unwrap();
        for turn in 0..3 {
            let both = whole(client.run(twice()).await);
            assert_eq!(both, (4 * turn + 1, 4 * turn + 2));
            let both = whole(lease.run(twice()).await);
            assert_eq!(both, (4 * turn + 3, 4 * turn + 4));
        }
        // The shared client has asked once.
        assert_eq!(server.stats().count("multi"), 7);
        let (told, results) = mpsc::channel();
        let fresh = Client::connect(config(server.addr()), lanes).await.unwrap();
        fresh
            .run_with(twice(), move |result| told.send(result).unwrap())
            .unwrap();
        fresh.run(cmd::<()>("PING")).await.unwrap();
        fresh.run(cmd::<()>("PING")).await.unwrap();
        whole(results.recv_timeout(PATIENCE).unwrap());
        assert_eq!(server.stats().count("exec"), 9);
    });
}

#[test]
fn a_right_that_is_taken_away_later_is_told_as_it_is() {
    on_all_lanes(async |lanes| {
        let server = start();
        let client = Client::connect(config(server.addr()), lanes).await.unwrap();
        whole(client.run(twice()).await);
        server.refuse_command("MULTI");
        let error = client.run(twice()).await.unwrap_err();
        assert!(matches!(error, Error::NotAtomic { .. }), "{error}");
        assert_eq!(error.outcome(), Outcome::Unknown);
        // Now it is known.
        let before = server.stats().count("incr");
        refused(client.run(twice()).await);
        assert_eq!(server.stats().count("incr"), before);
    });
}

#[test]
fn the_same_on_a_lease() {
    on_all_lanes(async |lanes| {
        let server = start();
        let pool = Pool::new(config(server.addr()), PoolConfig::new(), lanes).unwrap();
        let mut lease = pool.acquire().await.unwrap();
        whole(lease.run(twice()).await);
        server.refuse_command("MULTI");
        let error = lease.run(twice()).await.unwrap_err();
        assert!(matches!(error, Error::NotAtomic { .. }), "{error}");
        let before = server.stats().count("incr");
        refused(lease.run(twice()).await);
        assert_eq!(server.stats().count("incr"), before);
    });
}

#[test]
fn a_caller_who_leaves_while_multi_is_asked_for_leaves_no_transaction_open() {
    on_a_lane(async |lanes| {
        let server = start();
        server.add(
            Rule::on("MULTI")
                .times(1)
                .delay(std::time::Duration::from_secs(1)),
        );
        let pool = Pool::new(config(server.addr()), PoolConfig::new(), lanes).unwrap();
        let mut lease = pool.acquire().await.unwrap();
        let mut run = Box::pin(lease.run(twice()));
        assert!(futures_util::poll!(run.as_mut()).is_pending());
        drop(run);
        assert_eq!(lease.run(incr("other")).await.unwrap(), 1);
        assert_eq!(server.stats().count("discard"), 1);
        assert_eq!(server.stats().count("exec"), 0);
    });
}

#[test]
fn a_user_without_the_right_to_multi_changes_nothing() {
    let server = need!(RedisServer::start(RealOptions::default()));
    on_a_lane(async |lanes| {
        let admin = Client::connect(config(server.addr()), lanes).await.unwrap();
        let set = [
            "SETUSER", "app", "on", ">secret", "~*", "&*", "+@all", "-multi",
        ];
        let set = set
            .iter()
            .fold(cmd::<()>("ACL"), |acl, word| acl.arg(*word));
        admin.run(set).await.unwrap();
        let app = config(server.addr()).user("app").password("secret");
        let client = Client::connect(app.clone(), lanes).await.unwrap();
        let error = client.run(twice()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Auth);
        let pool = Pool::new(app, PoolConfig::new(), lanes).unwrap();
        refused(pool.run(twice()).await);
        let number: Option<i64> = admin.run(cmd("GET").arg("k")).await.unwrap();
        assert_eq!(number, None);
    });
}
