//! Parts of a connection's task that have wakers of their own, as those of `FuturesUnordered` have: they are polled only
//! when they are woken themselves.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use arknet::tcp::{Server, ServerConfig};
use arknet::{Connection, Lanes, Session};
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::time::timeout;

use crate::harness::{LIMIT, certificates, eventually, wait};

/// More than the wakers that are remembered at a time.
const GIVEN_UP: usize = 40;

/// Receives in a part of its own.
async fn receive(connection: &mut Connection) -> Option<Vec<u8>> {
    let mut parts = FuturesUnordered::new();
    parts.push(connection.recv());
    parts.next().await.unwrap().unwrap().map(Into::into)
}

/// Says that it waits, then answers each message; parts that gave up come before.
async fn serve(mut connection: Connection) {
    for _ in 0..GIVEN_UP {
        let given_up = timeout(Duration::from_millis(1), receive(&mut connection)).await;
        assert!(given_up.is_err(), "nothing is sent yet");
    }
    connection.send("ready").await.unwrap();
    while let Some(message) = receive(&mut connection).await {
        connection.send(message).await.unwrap();
    }
}

fn server(lanes: &Lanes, config: ServerConfig) -> (Server, TcpStream) {
    let server = Server::serve(lanes, "127.0.0.1:0", config, serve).unwrap();
    let stream = TcpStream::connect(server.local_addr().ip().unwrap()).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    (server, stream)
}

fn expect(stream: &mut TcpStream, expected: &[u8]) {
    let mut read = vec![0; expected.len()];
    stream.read_exact(&mut read).unwrap();
    assert_eq!(read, expected);
}

#[test]
fn a_part_that_receives_is_woken_by_a_message_and_by_the_end() {
    for lanes in [Lanes::sharded(1), Lanes::shared(4)] {
        let lanes = lanes.unwrap();
        let (server, mut stream) = server(&lanes, ServerConfig::new());
        expect(&mut stream, b"ready");
        for number in 0..50_u8 {
            stream.write_all(&[number; 9]).unwrap();
            expect(&mut stream, &[number; 9]);
        }
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        expect(&mut stream, b"");
        assert_eq!(stream.read(&mut [0]).unwrap(), 0, "the task has ended");
        wait("the server ends", server.shutdown(LIMIT));
    }
}

#[test]
fn a_part_that_receives_is_woken_by_a_close_from_elsewhere() {
    let lanes = Lanes::sharded(1).unwrap();
    let (server, mut stream) = server(&lanes, ServerConfig::new());
    expect(&mut stream, b"ready");
    server.sessions().remove(0).close();
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    drop(stream);
    eventually("the task has ended", || server.is_empty());
    wait("the server ends", server.shutdown(LIMIT));
}

#[test]
fn a_part_that_receives_is_woken_when_reading_goes_on() {
    for lanes in [Lanes::sharded(1), Lanes::shared(4)] {
        let lanes = lanes.unwrap();
        let (server, mut stream) = server(&lanes, ServerConfig::new());
        expect(&mut stream, b"ready");
        let session = server.sessions().remove(0);
        session
            .post(|session: &mut Session| session.pause_reading(true))
            .unwrap();
        stream.write_all(b"one").unwrap();
        session
            .post(|session: &mut Session| session.pause_reading(false))
            .unwrap();
        expect(&mut stream, b"one");
        drop(stream);
        wait("the server ends", server.shutdown(LIMIT));
    }
}

#[test]
fn a_part_that_receives_over_tls_is_woken() {
    let lanes = Lanes::sharded(1).unwrap();
    let (tls, trust) = certificates();
    let config = ServerConfig::new().tls(tls);
    let server = Server::serve(&lanes, "127.0.0.1:0", config, serve).unwrap();
    let client = arknet::tcp::ClientConfig::new().tls(trust);
    let connected = wait(
        "a connection",
        arknet::tcp::connect(&lanes, server.local_addr(), client),
    );
    let mut connection = connected.unwrap();
    let ready = wait("an answer", connection.recv()).unwrap().unwrap();
    assert_eq!(ready, b"ready");
    for number in 0..20_u8 {
        wait("a send", connection.send([number; 9].as_slice())).unwrap();
        let answer = wait("an answer", connection.recv()).unwrap().unwrap();
        assert_eq!(answer, [number; 9]);
    }
    drop(connection);
    wait("the server ends", server.shutdown(LIMIT));
}

/// A close that waits for the peer is woken by the peer's end or its timeout, and by nothing else.
#[test]
fn a_close_that_waits_does_not_run() {
    use std::future::{Future, poll_fn};
    use std::pin::pin;
    use std::sync::mpsc::channel;

    let lanes = Lanes::sharded(1).unwrap();
    let (told, polls) = channel();
    let serve = move |connection: Connection| {
        let told = told.clone();
        async move {
            let mut polls = 0;
            let mut close = pin!(connection.close());
            poll_fn(|cx| {
                polls += 1;
                close.as_mut().poll(cx)
            })
            .await;
            told.send(polls).unwrap();
        }
    };
    let config = ServerConfig::new().close_timeout(Duration::from_millis(100));
    let server = Server::serve(&lanes, "127.0.0.1:0", config, serve).unwrap();
    let _deaf = TcpStream::connect(server.local_addr().ip().unwrap()).unwrap();
    let polls: usize = crate::harness::receive(&polls, "the close timeout");
    assert!(polls < 20, "{polls} polls");
    wait("the server ends", server.shutdown(LIMIT));
}

/// The end of the session waits for its task: a task that waits for it is told when its connection has ended.
#[test]
fn a_task_may_wait_for_its_own_end() {
    let lanes = Lanes::sharded(1).unwrap();
    let serve = |connection: Connection| async move { connection.handle().closed().await };
    let config = ServerConfig::new().idle_timeout(Duration::from_millis(20));
    let server = Server::serve(&lanes, "127.0.0.1:0", config, serve).unwrap();
    let _silent = TcpStream::connect(server.local_addr().ip().unwrap()).unwrap();
    eventually("a session", || server.accepted() == 1);
    eventually("the task has ended", || server.is_empty());
    wait("the server ends", server.shutdown(LIMIT));
}

/// A session that has ended runs no timers, and does not keep looking at those that were set.
#[test]
fn a_task_that_stays_after_its_session_does_not_run() {
    use std::future::{Future, poll_fn};
    use std::pin::pin;
    use std::sync::mpsc::channel;

    let lanes = Lanes::sharded(1).unwrap();
    let (told, polls) = channel();
    let serve = move |mut connection: Connection| {
        let told = told.clone();
        async move {
            let tick = Duration::from_millis(1);
            connection
                .dispatch(move |session| session.set_interval_with("beat", tick, |_| {}))
                .unwrap();
            connection.recv().await.unwrap_err();
            let mut polls = 0;
            let mut stay = pin!(tokio::time::sleep(Duration::from_millis(100)));
            poll_fn(|cx| {
                polls += 1;
                stay.as_mut().poll(cx)
            })
            .await;
            told.send(polls).unwrap();
        }
    };
    let config = ServerConfig::new().idle_timeout(Duration::from_millis(20));
    let server = Server::serve(&lanes, "127.0.0.1:0", config, serve).unwrap();
    let _silent = TcpStream::connect(server.local_addr().ip().unwrap()).unwrap();
    let polls: usize = crate::harness::receive(&polls, "the task ends");
    assert!(polls < 20, "{polls} polls");
    wait("the server ends", server.shutdown(LIMIT));
}
