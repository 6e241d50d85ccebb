//! A receive or send that is dropped at any poll loses nothing and doubles nothing.

use std::future::Future;
use std::pin::pin;
use std::sync::mpsc::channel;
use std::task::Poll;

use arknet::tcp::{Client, Server, connect};
use arknet::{Bytes, Connection};
use futures_util::{SinkExt, StreamExt};

use crate::harness::{Cell, Host, Model, Role, Style, Transport, eventually, receive, wait};

in_every_cell_of![Tasks:
    cancelled_at_every_poll_on_its_lane,
    cancelled_at_every_poll_elsewhere,
    a_connection_is_a_stream_and_a_sink,
];

const MESSAGES: u32 = 2_000;

/// Polls `future` once, then drops it; every fourth time it is let through.
async fn dropped<F: Future>(round: &mut u32, future: F) -> Option<F::Output> {
    *round += 1;
    if round.is_multiple_of(4) {
        return Some(future.await);
    }
    let mut future = pin!(future);
    let polled = std::future::poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await;
    match polled {
        Poll::Ready(output) => Some(output),
        Poll::Pending => {
            tokio::task::yield_now().await;
            None
        }
    }
}

/// Sends numbers and receives their echoes, both at once, each dropped and begun again all the time.
async fn exchange(connection: &mut Connection) {
    let (mut sent, mut received, mut round) = (0, 0, 0);
    while received < MESSAGES {
        if sent < MESSAGES && sent - received < 64 {
            let message = sent.to_le_bytes();
            if let Some(result) = dropped(&mut round, connection.send(&message)).await {
                result.unwrap();
                sent += 1;
            }
            let _ = dropped(&mut round, connection.flush()).await;
        } else {
            round = 3;
        }
        if let Some(message) = dropped(&mut round, connection.recv()).await {
            assert_eq!(message.unwrap().unwrap(), received.to_le_bytes()[..]);
            received += 1;
        }
    }
}

fn server(host: &Host) -> Server {
    host.server(host.server_config(), Role::Echo).0
}

fn cancelled_at_every_poll_on_its_lane(cell: Cell) {
    let host = Host::new(cell);
    let server = server(&host);
    let (told, done) = channel();
    let run = move |mut connection: Connection| {
        let told = told.clone();
        async move {
            exchange(&mut connection).await;
            told.send(()).unwrap();
        }
    };
    // A small queue, so that sends wait as well.
    let config = host.client_config().send_queue(16, 4);
    let _client = Client::run(&host.lanes, server.local_addr(), config, run).unwrap();
    receive(&done, "the exchange ends");
    host.finish();
}

fn cancelled_at_every_poll_elsewhere(cell: Cell) {
    let host = Host::new(cell);
    let server = server(&host);
    wait("the exchange ends", async {
        let config = host.client_config().send_queue(16, 4);
        let mut connection = connect(&host.lanes, server.local_addr(), config)
            .await
            .unwrap();
        exchange(&mut connection).await;
        connection.close().await;
    });
    host.finish();
}

async fn stream_and_sink(mut connection: Connection) {
    for number in 0..300_u32 {
        let message = Bytes::copy_from_slice(&number.to_le_bytes());
        connection.feed(message).await.unwrap();
    }
    SinkExt::flush(&mut connection).await.unwrap();
    for number in 0..300_u32 {
        let message = connection.next().await.unwrap().unwrap();
        assert_eq!(message, number.to_le_bytes()[..]);
    }
    SinkExt::close(&mut connection).await.unwrap();
    assert!(connection.next().await.is_none());
}

fn a_connection_is_a_stream_and_a_sink(cell: Cell) {
    let host = Host::new(cell);
    let server = server(&host);
    let (told, done) = channel();
    let run = move |connection| {
        let told = told.clone();
        async move {
            stream_and_sink(connection).await;
            told.send(()).unwrap();
        }
    };
    let config = || host.client_config().send_queue(64, 8);
    let _client = Client::run(&host.lanes, server.local_addr(), config(), run).unwrap();
    receive(&done, "the exchange on its lane");
    wait("the exchange elsewhere", async {
        let connected = connect(&host.lanes, server.local_addr(), config()).await;
        stream_and_sink(connected.unwrap()).await;
    });
    host.finish();
}

#[test]
fn a_connect_that_is_dropped_gives_the_connection_up() {
    let host = Host::new(Cell {
        transport: Transport::Tcps,
        style: Style::Tasks,
        model: Model::Shared4,
    });
    let server = server(&host);
    for polls in 0..20 {
        let result = wait("a try", async {
            let mut connecting = pin!(connect(
                &host.lanes,
                server.local_addr(),
                host.client_config()
            ));
            for _ in 0..polls {
                let polled =
                    std::future::poll_fn(|cx| Poll::Ready(connecting.as_mut().poll(cx))).await;
                if let Poll::Ready(connected) = polled {
                    return Some(connected.unwrap());
                }
                tokio::task::yield_now().await;
            }
            None
        });
        drop(result);
    }
    eventually("no session is left", || server.is_empty());
    host.finish();
}
