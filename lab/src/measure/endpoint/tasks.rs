//! Both ends as tasks.

use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::sync::Arc;

use arknet::tcp::{Client, ClientConfig, Server, ServerConfig};
use arknet::{CloseReason, Connection, Lanes, MessageWriter, Outbox};
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
    let answered = connection.recv_each(|message, outbox| {
        if !traffic.on_message(message) {
            return ControlFlow::Break(());
        }
        if let Err(error) = outbox.send(message) {
            let text = format!("a server's send was refused: {error}");
            run.fault(Fault::ServerSendRejections, &text);
        }
        ControlFlow::Continue(())
    });
    match answered.await {
        Ok(Some(())) => connection.abort(),
        Ok(None) => {}
        Err(error) => server_ended(&run, &CloseReason::Error(error)),
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
            let length = traffic.run().payload();
            let sent =
                connection.try_send_in_place(length, |message| write(message, &mut traffic, now));
            if let Err(error) = sent {
                traffic.on_rejection(&error);
            }
        }
        if traffic.is_finished() {
            continue;
        }
        let replied = connection.recv_each(|message, outbox| {
            // What a turn has sent waits until it ends: nothing waits when another has begun.
            let begun = outbox.queued_bytes() == 0;
            let now = turn.now(traffic.run().clock(), begun);
            if traffic.on_reply(message, now) {
                send(outbox, &mut traffic, now);
            }
            match traffic.is_finished() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        match replied.await {
            Ok(Some(())) => {}
            Ok(None) => return traffic.on_disconnect(&"ended by the server"),
            Err(error) => return traffic.on_disconnect(&error),
        }
    }
}

#[inline]
fn send(outbox: &mut Outbox<'_>, traffic: &mut ClientTraffic, now: u64) {
    let length = traffic.run().payload();
    let sent = outbox.send_in_place(length, |message| write(message, traffic, now));
    if let Err(error) = sent {
        traffic.on_rejection(&error);
    }
}

#[inline]
fn write(message: &mut MessageWriter<'_>, traffic: &mut ClientTraffic, now: u64) {
    let (header, rest) = traffic.next(now);
    message.put(&header);
    message.put(rest);
}
