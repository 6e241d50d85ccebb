//! A connection that is used in another task than its own, or on another thread.

use std::sync::mpsc::channel;

use arknet::Connection;
use arknet::tcp::{Client, Server, connect};

use crate::harness::{Cell, Host, LIMIT, Role, pattern, receive, wait};

in_every_cell_of![Tasks:
    a_connection_moves_in_the_middle_of_its_messages,
    a_server_hands_its_connections_to_a_thread,
    what_an_owner_elsewhere_does_not_take_slows_the_peer,
    closing_elsewhere_hands_over_first,
];

const MESSAGES: usize = 300;

async fn send_all(connection: &mut Connection, from: usize, to: usize) {
    for number in from..to {
        connection.send(pattern(number, number)).await.unwrap();
    }
}

async fn receive_all(connection: &mut Connection, from: usize, to: usize) {
    for number in from..to {
        let message = connection.recv().await.unwrap().unwrap();
        assert!(message == pattern(number, number), "message {number}");
    }
}

fn a_connection_moves_in_the_middle_of_its_messages(cell: Cell) {
    let host = Host::new(cell);
    let (server, _, _) = host.server(host.server_config(), Role::Echo);
    let (moved, connections) = channel();
    let run = move |mut connection: Connection| {
        let moved = moved.clone();
        async move {
            send_all(&mut connection, 0, MESSAGES).await;
            receive_all(&mut connection, 0, MESSAGES / 3).await;
            moved.send(connection).unwrap();
        }
    };
    let client = Client::run(&host.lanes, server.local_addr(), host.client_config(), run).unwrap();
    let mut connection: Connection = receive(&connections, "the connection");
    wait(
        "the rest",
        receive_all(&mut connection, MESSAGES / 3, MESSAGES / 2),
    );
    // To another thread, and to a task of its lanes.
    let (told, done) = channel();
    std::thread::spawn(move || {
        wait("more", receive_all(&mut connection, MESSAGES / 2, MESSAGES));
        told.send(connection).unwrap();
    });
    let mut connection = receive(&done, "the thread is done");
    let (told, done) = channel();
    host.lanes.spawn(async move {
        send_all(&mut connection, 0, MESSAGES).await;
        receive_all(&mut connection, 0, MESSAGES).await;
        connection.close().await;
        told.send(()).unwrap();
    });
    receive(&done, "the task is done");
    wait("the client ends", client.handle().closed());
    host.finish();
}

fn a_server_hands_its_connections_to_a_thread(cell: Cell) {
    let host = Host::new(cell);
    let (moved, connections) = channel::<Connection>();
    let serve = move |connection| {
        moved.send(connection).unwrap();
        async {}
    };
    let config = host.server_config();
    let server = Server::serve(&host.lanes, host.address(), config, serve).unwrap();
    for _ in 0..5 {
        let (client, log) = host.client(&server, host.client_config());
        let mut connection = receive(&connections, "a connection");
        log.opened();
        assert_eq!(
            server.session(connection.id()).unwrap().id(),
            connection.id()
        );
        for number in 0..50 {
            client.send(pattern(number, 100)).unwrap();
        }
        wait("an echo", async {
            for _ in 0..50 {
                let message = connection.recv().await.unwrap().unwrap();
                connection.send(message).await.unwrap();
            }
        });
        for number in 0..50 {
            assert!(log.message() == pattern(number, 100));
        }
        drop(connection);
        assert!(matches!(log.ended(), arknet::CloseReason::Peer));
    }
    wait("the server ends", server.shutdown(LIMIT));
    host.finish();
}

/// An inbox holds so much; what comes over it stays with the peer.
fn what_an_owner_elsewhere_does_not_take_slows_the_peer(cell: Cell) {
    const SIZE: usize = 64 * 1024;
    const COUNT: usize = 120;
    let host = Host::new(cell);
    let small = Some(32 * 1024);
    let config = host.server_config().socket_buffers(small, small);
    let (server, _, seen) = host.server(config.send_queue(2 * SIZE, 1_024), Role::Record);
    let config = host.client_config().socket_buffers(small, small);
    let mut connection = wait(
        "a connection",
        connect(&host.lanes, server.local_addr(), config),
    )
    .unwrap();
    let session = seen.opened();
    let sender = std::thread::spawn(move || {
        for number in 0..COUNT {
            wait("room", session.send_when_possible(pattern(number, SIZE))).unwrap();
        }
    });
    wait("all", async {
        for number in 0..COUNT {
            let message = connection.recv().await.unwrap().unwrap();
            assert!(message == pattern(number, SIZE), "message {number}");
        }
    });
    sender.join().unwrap();
    let messages = connection.handle().received_messages();
    assert!(messages <= COUNT as u64);
    drop(connection);
    host.finish();
}

fn closing_elsewhere_hands_over_first(cell: Cell) {
    let host = Host::new(cell);
    let (server, _, seen) = host.server(host.server_config(), Role::Record);
    for ending in 0..2 {
        let config = host.client_config();
        let mut connection = wait(
            "a connection",
            connect(&host.lanes, server.local_addr(), config),
        )
        .unwrap();
        for number in 0..20 {
            wait("room", connection.send(pattern(number, 30_000))).unwrap();
        }
        match ending {
            0 => wait("the close", connection.close()),
            _ => drop(connection),
        }
        for number in 0..20 {
            assert!(seen.message() == pattern(number, 30_000));
        }
        assert!(matches!(seen.ended(), arknet::CloseReason::Peer));
    }
    host.finish();
}
