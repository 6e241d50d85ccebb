//! Both ends as tasks.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use arknet::tcp::{Client, ClientConfig, Server, ServerConfig};
use arknet::{CloseReason, Connection, Lanes, Message};
use futures_core::Stream;
use tokio::sync::watch;

use super::seats::Seats;
use super::turn::Turn;
use super::{Style, server_ended};
use crate::measure::config::Traffic;
use crate::measure::counters::Fault;
use crate::measure::run::Run;
use crate::measure::traffic::{ClientTraffic, ServerTraffic};

pub(super) struct Tasks {
    wake: watch::Sender<()>,
}

impl Tasks {
    pub(super) fn new() -> Self {
        Tasks {
            wake: watch::Sender::new(()),
        }
    }
}

impl Style for Tasks {
    fn server(
        &self,
        run: &Arc<Run>,
        lanes: &Lanes,
        at: SocketAddr,
        config: ServerConfig,
        seats: &Seats,
    ) -> Result<Server, arknet::Error> {
        let (run, seat) = (run.clone(), seats.server());
        Server::serve(lanes, at, config, move |connection| {
            seat.take();
            answer(run.clone(), connection)
        })
    }

    fn client(
        &self,
        run: &Arc<Run>,
        lanes: &Lanes,
        server: &Server,
        config: ClientConfig,
        (id, seats): (u32, &Seats),
    ) -> Result<Client, arknet::Error> {
        let (run, seat) = (run.clone(), seats.client());
        let woken = self.wake.subscribe();
        Client::run(lanes, server.local_addr(), config, move |connection| {
            seat.take();
            ask(
                connection,
                ClientTraffic::new(run.clone(), id),
                woken.clone(),
            )
        })
    }

    fn wake(&self, _: &Run, _: &[Client]) {
        self.wake.send_replace(());
    }
}

/// A server's task: answers until the client ends.
async fn answer(run: Arc<Run>, mut connection: Connection) {
    let mut traffic = ServerTraffic::new(run.clone(), Traffic::Windowed);
    loop {
        match connection.recv().await {
            Ok(Some(message)) if traffic.on_message(&message) => {
                if let Err(error) = connection.send(message).await {
                    let text = format!("a server's send was refused: {error}");
                    return run.fault(Fault::ServerSendRejections, &text);
                }
            }
            Ok(Some(_)) => return connection.abort(),
            Ok(None) => return,
            Err(error) => return server_ended(&run, &CloseReason::Error(error)),
        }
    }
}

/// A client's task: waits for phases, and keeps its window full in each.
async fn ask(
    mut connection: Connection,
    mut traffic: ClientTraffic,
    mut woken: watch::Receiver<()>,
) {
    let mut turn = Turn::default();
    while woken.changed().await.is_ok() {
        if !traffic.begin() {
            continue;
        }
        let now = turn.now(traffic.run().clock(), true);
        while traffic.room() > 0 {
            send(&mut connection, &mut traffic, now);
        }
        while !traffic.is_finished() {
            let (message, begun) = match next(&mut connection).await {
                Ok(next) => next,
                Err(error) => return traffic.on_disconnect(&error),
            };
            let now = turn.now(traffic.run().clock(), begun);
            if traffic.on_reply(&message, now) {
                send(&mut connection, &mut traffic, now);
            }
        }
    }
}

#[inline]
fn send(connection: &mut Connection, traffic: &mut ClientTraffic, now: u64) {
    let length = traffic.run().payload();
    let sent = connection.try_send_in_place(length, |message| {
        let (header, rest) = traffic.next(now);
        message.put(&header);
        message.put(rest);
    });
    if let Err(error) = sent {
        traffic.on_rejection(&error);
    }
}

/// The next message, and whether the task had to wait for it, which begins a turn.
async fn next(connection: &mut Connection) -> Result<(Message, bool), String> {
    let mut waited = false;
    let next = poll_fn(|cx| {
        let polled = Pin::new(&mut *connection).poll_next(cx);
        waited |= polled.is_pending();
        polled
    });
    match next.await {
        Some(Ok(message)) => Ok((message, waited)),
        Some(Err(error)) => Err(error.to_string()),
        None => Err("ended by the server".to_owned()),
    }
}
