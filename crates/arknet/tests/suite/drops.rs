//! Anything may be dropped, in any order, on any thread.

use std::sync::mpsc::channel;

use arknet::tcp::{Client, Server};
use arknet::{Lanes, Session};

use crate::harness::{Cell, Host, LIMIT, Role, eventually, receive, wait};

in_every_cell![
    servers_and_clients_run_on_when_dropped,
    everything_is_dropped_while_it_works,
];

fn servers_and_clients_run_on_when_dropped(cell: Cell) {
    let host = Host::new(cell);
    let (server, _, seen) = host.server(host.server_config(), Role::Echo);
    let address = server.local_addr().clone();
    drop(server);
    let (probe, log) = crate::harness::log();
    let client = host.client_on(&address, host.client_config(), &probe, Role::Record);
    drop(client);
    let handle = log.opened();
    seen.opened();
    handle.send("still here").unwrap();
    assert_eq!(log.message(), b"still here");
    handle.close();
    wait("the end", handle.closed());
    host.finish();
}

fn everything_is_dropped_while_it_works(cell: Cell) {
    let host = Host::new(cell);
    let (server, client, log) = host.echo();
    for _ in 0..50 {
        client.send([1; 1_000].as_slice()).unwrap();
    }
    log.message();
    let handle = client.handle().clone();
    let shutdown = server.shutdown(LIMIT);
    // On other threads, all at once.
    let droppers = [
        std::thread::spawn(move || drop(client)),
        std::thread::spawn(move || drop(shutdown)),
        std::thread::spawn(move || drop(server)),
        std::thread::spawn(move || drop(log)),
    ];
    for dropper in droppers {
        dropper.join().unwrap();
    }
    wait("the end", handle.closed());
    host.finish();
}

fn echo(session: &mut Session, message: &[u8]) {
    session.send(message).unwrap();
}

#[test]
fn lanes_that_are_dropped_first_stay_for_their_server() {
    for lanes in [Lanes::shared(1), Lanes::shared(2), Lanes::sharded(2)] {
        let lanes = lanes.unwrap();
        let others = Lanes::shared(1).unwrap();
        let config = arknet::tcp::ServerConfig::new();
        let server = Server::start(&lanes, "127.0.0.1:0", config, |_| echo).unwrap();
        drop(lanes);
        let (told, echoed) = channel();
        let record = move |_: &Session| {
            let told = told.clone();
            move |_: &mut Session, message: &[u8]| told.send(message.to_vec()).unwrap()
        };
        let config = arknet::tcp::ClientConfig::new();
        let client = Client::start(&others, server.local_addr(), config, record).unwrap();
        assert!(wait("connected", client.connected()));
        client.send("hello").unwrap();
        assert_eq!(receive(&echoed, "an echo"), b"hello");
        wait("the server ends", server.shutdown(LIMIT));
        wait("the others end", others.shutdown(LIMIT));
    }
}

#[test]
fn the_last_lanes_are_dropped_inside_of_a_callback() {
    for lanes in [Lanes::shared(1), Lanes::shared(2), Lanes::sharded(2)] {
        let lanes = lanes.unwrap();
        let (told, dropped) = channel();
        let (release, released) = channel::<()>();
        let inside = lanes.clone();
        lanes.post(move || {
            released.recv_timeout(LIMIT).unwrap();
            drop(inside);
            told.send(()).unwrap();
        });
        drop(lanes);
        release.send(()).unwrap();
        receive(&dropped, "the drop returns");
    }
}

#[test]
fn manual_lanes_may_be_dropped_with_work_on_them() {
    let lanes = Lanes::manual().unwrap();
    let alive = std::sync::Arc::new(());
    let kept = alive.clone();
    lanes.spawn(async move {
        let _kept = kept;
        std::future::pending::<()>().await;
    });
    lanes.poll().unwrap();
    assert_eq!(std::sync::Arc::strong_count(&alive), 2);
    drop(lanes);
    assert_eq!(std::sync::Arc::strong_count(&alive), 1);
}

#[test]
fn a_session_handle_outlives_everything() {
    let lanes = Lanes::shared(1).unwrap();
    let config = arknet::tcp::ServerConfig::new();
    let server = Server::start(&lanes, "127.0.0.1:0", config, |_| echo).unwrap();
    let peer = std::net::TcpStream::connect(server.local_addr().ip().unwrap()).unwrap();
    eventually("the session opens", || !server.sessions().is_empty());
    let session = server.sessions().remove(0);
    wait(
        "the lanes end",
        lanes.shutdown(std::time::Duration::from_millis(50)),
    );
    drop((lanes, server, peer));
    wait("the end", session.closed());
    assert!(session.send("late").unwrap_err().is_closed());
    session.close();
    session.abort();
}

/// On lanes that end before their connection does, nobody else is there to complete what it had accepted.
#[test]
fn sends_complete_when_their_lanes_are_dropped() {
    let lanes = Lanes::manual().unwrap();
    let peer = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let config = arknet::tcp::ClientConfig::new().socket_buffers(Some(16 * 1024), None);
    let connecting = arknet::tcp::connect(&lanes, peer.local_addr().unwrap(), config);
    let mut connection = lanes.block_on(connecting).unwrap().unwrap();
    let (told, results) = channel();
    let mut send = |length: usize| {
        let told = told.clone();
        connection
            .send_with(vec![0; length], move |_, result| {
                told.send((length, result)).unwrap();
            })
            .unwrap();
    };
    send(12 * 1024 * 1024);
    lanes.poll().unwrap();
    lanes.poll().unwrap();
    send(1);
    assert_eq!(results.try_iter().count(), 0, "the peer does not read");
    drop(lanes);
    let results: Vec<_> = results.try_iter().collect();
    let lengths: Vec<_> = results.iter().map(|(length, _)| *length).collect();
    assert_eq!(lengths, [12 * 1024 * 1024, 1]);
    for (length, result) in results {
        let lost = matches!(result, Err(arknet::SendError::ConnectionLost { .. }));
        assert!(lost, "{length} bytes: {result:?}");
    }
}

#[test]
fn a_connection_elsewhere_ends_with_its_lanes() {
    let lanes = Lanes::manual().unwrap();
    let peer = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let config = arknet::tcp::ClientConfig::new();
    let connecting = arknet::tcp::connect(&lanes, peer.local_addr().unwrap(), config);
    let mut connection = lanes.block_on(connecting).unwrap().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        let receiving = connection.recv();
        let dropping = async move { drop(lanes) };
        let both = futures_util::future::join(receiving, dropping);
        let (received, ()) = tokio::time::timeout(LIMIT, both)
            .await
            .expect("the end of the lanes is told");
        assert!(received.unwrap().is_none());
    });
}
