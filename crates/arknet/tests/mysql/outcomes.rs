//! What became of a request, told by a server that does what a real one will not.

use std::time::Duration;

use arknet::mysql::{Config, Conn, Error, ErrorKind, Pool, exec, ping, query};
use arknet::pool::PoolConfig;
use arknet::{Lanes, Outcome};
use arknet_proto::mysql::value::ValueRef;

use super::support::{PATIENCE, Peer, Script, column, on_a_lane, put_text, session};

fn pool(config: Config, lanes: &Lanes) -> Pool {
    let bounds = PoolConfig::new()
        .max_connections(1)
        .acquire_timeout(PATIENCE);
    Pool::new(config, bounds, lanes).unwrap()
}

async fn text(conn: &mut Conn, sql: &str) -> Result<Option<String>, Error> {
    conn.run(query(sql)).await
}

#[test]
fn what_was_answered_stands_and_what_was_sent_is_unknown() {
    on_a_lane(async |lanes| {
        let script = Script::start([session(|peer| {
            let mut peer = peer.log_in();
            peer.hear("SELECT 1");
            peer.answer_text("one");
            peer.hear("SELECT 2");
            // It hangs up, with a third on its way.
        })]);
        let mut conn = Conn::connect(script.config(), lanes).await.unwrap();
        let (one, two, three) = conn
            .run((
                query::<Option<String>>("SELECT 1"),
                query::<()>("SELECT 2"),
                query::<()>("SELECT 3"),
            ))
            .await;
        assert_eq!(one.unwrap().as_deref(), Some("one"));
        for lost in [two.unwrap_err(), three.unwrap_err()] {
            assert_eq!(
                (lost.kind(), lost.outcome()),
                (ErrorKind::Lost, Outcome::Unknown),
                "{lost}"
            );
        }
        // It is known to be of no use by now.
        let late = text(&mut conn, "SELECT 4").await.unwrap_err();
        assert_eq!(
            (late.kind(), late.outcome()),
            (ErrorKind::Lost, Outcome::NotSent)
        );
    });
}

#[test]
fn a_connection_that_ended_while_nobody_used_it_takes_no_request_with_it() {
    on_a_lane(async |lanes| {
        let script = Script::start([session(|peer| {
            let mut peer = peer.log_in();
            peer.hear("SELECT 1");
            peer.answer_text("one");
            // Why it goes, as servers say it: the client was idle for too long.
            let mut wire = Vec::new();
            let error = arknet_proto::mysql::ServerError::new(4031, *b"HY000", "idle");
            arknet_proto::mysql::server::Responder::new(&mut wire, super::support::ABILITIES, 0)
                .error(&error);
            peer.say(&wire);
        })]);
        let mut conn = Conn::connect(script.config(), lanes).await.unwrap();
        assert_eq!(
            text(&mut conn, "SELECT 1").await.unwrap().as_deref(),
            Some("one")
        );
        // The thread of the script has gone when it is joined.
        drop(script);
        let mut tries = 0;
        let error = loop {
            tokio::time::sleep(Duration::from_millis(1)).await;
            // Until the reactor has told of the end, a ping may still be sent.
            match conn.run(ping()).await {
                Err(error) => break error,
                Ok(()) => tries += 1,
            }
            assert!(tries < 1_000);
        };
        assert_eq!(error.kind(), ErrorKind::Lost, "{error}");
        assert_eq!(error.outcome(), Outcome::NotSent, "{error}");
    });
}

#[test]
fn a_deadline_passes_and_the_answer_is_nobodys() {
    on_a_lane(async |lanes| {
        let (go, wait) = std::sync::mpsc::channel();
        let script = Script::start([session(move |peer| {
            let mut peer = peer.log_in();
            peer.hear("SELECT 'slow'");
            wait.recv().unwrap();
            peer.answer_text("slow");
            peer.hear("SELECT 'mine'");
            peer.answer_text("mine");
        })]);
        let mut conn = Conn::connect(script.config(), lanes).await.unwrap();
        conn.set_request_timeout(Some(Duration::from_millis(20)));
        let error = text(&mut conn, "SELECT 'slow'").await.unwrap_err();
        assert!(error.is_timeout());
        assert_eq!(error.outcome(), Outcome::Unknown);
        conn.set_request_timeout(Some(PATIENCE));
        go.send(()).unwrap();
        let mine = text(&mut conn, "SELECT 'mine'").await.unwrap();
        assert_eq!(mine.as_deref(), Some("mine"));
    });
}

/// Answers the preparation of one statement with one parameter and one column.
fn prepare(peer: &mut Peer, sql: &str, id: u32) {
    let packet = peer.next().unwrap();
    assert_eq!((packet[0], &packet[1..]), (0x16, sql.as_bytes()));
    peer.answer(|to| to.prepared(id, &[column()], &[column()]));
}

/// Hears the execution of a statement.
fn executed(peer: &mut Peer, id: u8) {
    let packet = loop {
        let packet = peer.next().unwrap();
        // The statement that is to be forgotten rides on it.
        if packet[0] != 0x19 {
            break packet;
        }
    };
    assert_eq!(packet[..5], [0x17, id, 0, 0, 0]);
}

#[test]
fn a_statement_is_prepared_anew_once_if_the_server_wants_that() {
    on_a_lane(async |lanes| {
        let script = Script::start([session(|peer| {
            let mut peer = peer.log_in();
            prepare(&mut peer, "SELECT ?", 1);
            executed(&mut peer, 1);
            peer.answer_error(1615);
            prepare(&mut peer, "SELECT ?", 2);
            executed(&mut peer, 2);
            peer.answer(|to| {
                to.columns(&[column()]);
                to.binary_row(&[column()], &[ValueRef::Text("again")]);
                to.end(false);
            });
            executed(&mut peer, 2);
            peer.answer_error(1615);
            prepare(&mut peer, "SELECT ?", 3);
            executed(&mut peer, 3);
            peer.answer_error(1615);
        })]);
        let mut conn = Conn::connect(script.config(), lanes).await.unwrap();
        let again: Option<String> = conn.run(exec("SELECT ?", ("x",))).await.unwrap();
        assert_eq!(again.as_deref(), Some("again"));
        let error = conn.run(exec::<()>("SELECT ?", ("x",))).await.unwrap_err();
        assert_eq!(error.server().unwrap().code(), 1615);
        assert_eq!(error.outcome(), Outcome::Replied);
    });
}

#[test]
fn a_primary_that_is_one_no_more_is_left() {
    on_a_lane(async |lanes| {
        let read_only = |code| {
            session(move |peer| {
                let mut peer = peer.log_in();
                peer.hear("INSERT");
                peer.answer_error(code);
                assert_eq!(peer.next(), None);
            })
        };
        let script = Script::start([
            read_only(1290),
            read_only(1792),
            read_only(1836),
            session(|peer| {
                let mut peer = peer.log_in();
                peer.hear("INSERT");
                peer.answer_ok();
                while peer.next().is_some() {}
            }),
        ]);
        let pool = pool(script.config(), lanes);
        for code in [1290, 1792, 1836] {
            let error = pool.run(query::<()>("INSERT")).await.unwrap_err();
            assert_eq!(error.server().unwrap().code(), code);
            assert_eq!(error.outcome(), Outcome::Replied);
        }
        pool.run(query::<()>("INSERT").stateless()).await.unwrap();
        assert_eq!(pool.stats().pool.connected, 4);
        pool.close(PATIENCE).await;
    });
}

#[test]
fn a_server_that_cannot_reset_is_asked_once() {
    on_a_lane(async |lanes| {
        let plain = || {
            session(|peer| {
                let mut peer = peer.log_in();
                peer.hear("SELECT 1");
                peer.answer_text("one");
                assert_eq!(peer.next(), None, "nothing but an end is expected");
            })
        };
        let script = Script::start([
            session(|peer| {
                let mut peer = peer.log_in();
                peer.hear("SELECT 1");
                peer.answer_text("one");
                assert_eq!(peer.next().unwrap(), [0x1f]);
                peer.answer_error(1047);
                let _names = peer.next();
                peer.answer_ok();
                assert_eq!(peer.next(), None);
            }),
            plain(),
            plain(),
        ]);
        let pool = pool(script.config(), lanes);
        for _ in 0..3 {
            let one: Option<String> = pool.run(query("SELECT 1")).await.unwrap();
            assert_eq!(one.as_deref(), Some("one"));
        }
        assert_eq!(pool.stats().resets, 1);
        pool.close(PATIENCE).await;
    });
}

#[test]
fn requests_behind_a_reset_get_their_own_answers() {
    on_a_lane(async |lanes| {
        let script = Script::start([session(|peer| {
            let mut peer = peer.log_in();
            for _ in 0..20 {
                peer.hear("SELECT 1");
                peer.answer_text("one");
                assert_eq!(peer.next().unwrap(), [0x1f]);
                peer.answer_ok();
                let names = peer.next().unwrap();
                assert!(names[1..].starts_with(b"SET NAMES utf8mb4"));
                peer.answer_ok();
            }
            while peer.next().is_some() {}
        })]);
        let pool = pool(script.config(), lanes);
        for _ in 0..20 {
            let one: Option<String> = pool.run(query("SELECT 1")).await.unwrap();
            assert_eq!(one.as_deref(), Some("one"));
        }
        assert_eq!(pool.stats().pool.connected, 1);
        pool.close(PATIENCE).await;
    });
}

#[test]
fn an_answer_that_is_larger_than_allowed_is_not_collected() {
    on_a_lane(async |lanes| {
        let script = Script::start([session(|peer| {
            let mut peer = peer.log_in();
            peer.hear("SELECT");
            peer.answer(|to| put_text(to, &"x".repeat(10_000)));
            peer.listen();
        })]);
        let config = script.config().max_result(5_000);
        let mut conn = Conn::connect(config, lanes).await.unwrap();
        let error = conn.run(query::<Vec<String>>("SELECT")).await.unwrap_err();
        assert!(
            matches!(error, Error::ResultTooLarge { limit: 5_000, .. }),
            "{error}"
        );
        let late = conn.run(ping()).await.unwrap_err();
        assert_eq!(late.outcome(), Outcome::NotSent);
    });
}
