//! Both ends as handlers.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use arknet::tcp::{Client, ClientConfig, Server, ServerConfig};
use arknet::{CloseReason, Handler, Lanes, Session, TimerKey};

use super::seats::Seats;
use super::turn::Turn;
use super::{Style, panicked, server_ended};
use crate::measure::config::Traffic;
use crate::measure::counters::Fault;
use crate::measure::run::Run;
use crate::measure::traffic::{ClientTraffic, ServerTraffic};

/// The timer by which a client is told to look for a phase: it is due at once.
const BEGIN: u64 = 0;

pub(super) struct Callbacks;

impl Style for Callbacks {
    fn server(
        &self,
        run: &Arc<Run>,
        lanes: &Lanes,
        at: SocketAddr,
        config: ServerConfig,
        seats: &Seats,
    ) -> Result<Server, arknet::Error> {
        let (run, seat) = (run.clone(), seats.server());
        Server::start(lanes, at, config, move |_| {
            seat.take();
            Answerer {
                traffic: ServerTraffic::new(run.clone(), Traffic::Windowed),
                run: run.clone(),
            }
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
        Client::start(lanes, server.local_addr(), config, move |_| {
            seat.take();
            Asker {
                traffic: ClientTraffic::new(run.clone(), id),
                turn: Turn::default(),
            }
        })
    }

    fn wake(&self, run: &Run, clients: &[Client]) {
        for client in clients {
            let begin = |session: &mut Session| session.set_timer(BEGIN, Duration::ZERO);
            if let Err(error) = client.handle().post(begin) {
                run.fault(Fault::DisconnectErrors, &format!("begin a phase: {error}"));
            }
        }
    }
}

struct Answerer {
    traffic: ServerTraffic,
    run: Arc<Run>,
}

impl Handler for Answerer {
    #[inline]
    fn on_message(&mut self, session: &mut Session, message: &[u8]) {
        if !self.traffic.on_message(message) {
            return session.abort();
        }
        if let Err(error) = session.send(message) {
            let text = format!("a server's send was refused: {error}");
            self.run.fault(Fault::ServerSendRejections, &text);
        }
    }

    fn on_close(&mut self, _: &mut Session, reason: &CloseReason) {
        server_ended(&self.run, reason);
    }
}

struct Asker {
    traffic: ClientTraffic,
    turn: Turn,
}

impl Asker {
    #[inline]
    fn send(&mut self, session: &mut Session, now: u64) {
        let length = self.traffic.run().payload();
        let traffic = &mut self.traffic;
        let sent = session.send_in_place(length, |message| {
            let (header, rest) = traffic.next(now);
            message.put(&header);
            message.put(rest);
        });
        if let Err(error) = sent {
            self.traffic.on_rejection(&error);
        }
    }
}

impl Handler for Asker {
    fn on_timer(&mut self, session: &mut Session, _: TimerKey) {
        if self.traffic.begin() {
            let now = self.turn.now(self.traffic.run().clock(), true);
            while self.traffic.room() > 0 {
                self.send(session, now);
            }
        }
    }

    #[inline]
    fn on_message(&mut self, session: &mut Session, message: &[u8]) {
        // What a turn has sent waits until it ends: nothing waits when another has begun.
        let begun = session.queued_bytes() == 0;
        let now = self.turn.now(self.traffic.run().clock(), begun);
        if self.traffic.on_reply(message, now) {
            self.send(session, now);
        }
    }

    fn on_close(&mut self, _: &mut Session, reason: &CloseReason) {
        panicked(self.traffic.run(), reason);
        self.traffic.on_disconnect(reason);
    }
}
