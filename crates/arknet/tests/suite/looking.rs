//! Messages that are shown where they lie, one at a time or all that come, in the connection's own task and elsewhere.

use std::ops::ControlFlow;
use std::sync::mpsc::channel;

use arknet::tcp::{Client, Server};
use arknet::{CloseReason, Connection};

use crate::harness::{Cell, Host, LIMIT, Role, pattern, receive, wait};

in_every_cell_of![Tasks:
    each_message_is_shown_once_and_in_order,
    a_look_that_breaks_leaves_the_rest,
    a_look_ends_with_the_peer,
];

/// More than one turn shows.
const MESSAGES: usize = 3_000;

fn each_message_is_shown_once_and_in_order(cell: Cell) {
    let host = Host::new(cell);
    let serve = |mut connection: Connection| async move {
        let shown = connection.recv_each(|message, outbox| {
            outbox.send(message).unwrap();
            ControlFlow::<()>::Continue(())
        });
        assert!(shown.await.unwrap().is_none());
    };
    let config = host.server_config().send_queue(1 << 24, 2 * MESSAGES);
    let server = Server::serve(&host.lanes, host.address(), config, serve).unwrap();
    let (told, done) = channel();
    let ask = move |mut connection: Connection| {
        let told = told.clone();
        async move {
            for number in 0..MESSAGES {
                connection
                    .send(pattern(number, number % 100))
                    .await
                    .unwrap();
            }
            let number = count(&mut connection, 0, MESSAGES).await;
            told.send(number).unwrap();
        }
    };
    let client = Client::run(&host.lanes, server.local_addr(), host.client_config(), ask).unwrap();
    assert_eq!(receive(&done, "all echoes"), MESSAGES);
    wait("the client ends", client.handle().closed());
    wait("the server ends", server.shutdown(LIMIT));
    host.finish();
}

/// Looks at the messages `from..to`, whose numbers must be in order; returns how many there were.
async fn count(connection: &mut Connection, from: usize, to: usize) -> usize {
    let mut number = from;
    let counted = connection.recv_each(|message, _| {
        assert!(message == pattern(number, number % 100), "message {number}");
        number += 1;
        match number == to {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    counted.await.unwrap();
    number - from
}

fn a_look_that_breaks_leaves_the_rest(cell: Cell) {
    let host = Host::new(cell);
    let (server, _, _) = host.server(host.server_config(), Role::Echo);
    let (moved, connections) = channel();
    let ask = move |mut connection: Connection| {
        let moved = moved.clone();
        async move {
            for number in 0..300 {
                connection
                    .send(pattern(number, number % 100))
                    .await
                    .unwrap();
            }
            assert_eq!(count(&mut connection, 0, 100).await, 100);
            let one = connection.recv_with(|message, _| message == pattern(100, 0));
            assert_eq!(one.await.unwrap(), Some(true));
            let own = connection.recv().await.unwrap().unwrap();
            assert!(own == pattern(101, 1));
            moved.send(connection).unwrap();
        }
    };
    let client = Client::run(&host.lanes, server.local_addr(), host.client_config(), ask).unwrap();
    let mut connection: Connection = receive(&connections, "the connection");
    wait("the rest, elsewhere", async {
        let one = connection.recv_with(|message, _| message == pattern(102, 2));
        assert_eq!(one.await.unwrap(), Some(true));
        assert_eq!(count(&mut connection, 103, 300).await, 197);
        let answered = connection.recv_each(|_, outbox| ControlFlow::Break(outbox.send("last")));
        assert!(is_pending(answered).await, "nothing more has come");
        connection.send("last").await.unwrap();
        let last = connection.recv_each(|message, _| ControlFlow::Break(message.to_vec()));
        assert_eq!(last.await.unwrap().unwrap(), b"last");
        connection.close().await;
    });
    wait("the client ends", client.handle().closed());
    host.finish();
}

/// Whether a future is still pending after it has been polled once; it is dropped then.
async fn is_pending(future: impl Future) -> bool {
    futures_util::FutureExt::now_or_never(future).is_none()
}

fn a_look_ends_with_the_peer(cell: Cell) {
    let host = Host::new(cell);
    let (told, done) = channel();
    let serve = move |mut connection: Connection| {
        let told = told.clone();
        async move {
            let mut bytes = 0;
            let ended = connection.recv_each(|message, _| {
                bytes += message.len();
                ControlFlow::<()>::Continue(())
            });
            let ended = ended.await;
            assert!(matches!(ended, Ok(None)), "{ended:?}");
            told.send(bytes).unwrap();
        }
    };
    let config = host.server_config();
    let server = Server::serve(&host.lanes, host.address(), config, serve).unwrap();
    let (client, log) = host.client(&server, host.client_config());
    log.opened();
    for number in 0..50 {
        client.send(pattern(number, 100)).unwrap();
    }
    client.handle().close();
    assert_eq!(receive(&done, "the end"), 5_000);
    assert!(matches!(log.ended(), CloseReason::Local));
    wait("the server ends", server.shutdown(LIMIT));
    host.finish();
}
