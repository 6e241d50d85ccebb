//! Servers and a client in both styles, which write down what happens to them.

use std::sync::Arc;
use std::time::Duration;

use arknet::{CloseReason, Connection, Error, Handler, Session, TimerKey};

use super::log::{At, Log, What};

/// How long a server takes for the answer that it owes at the end of the peer's stream: long enough to come after it.
const ANSWER_AFTER: Duration = Duration::from_millis(20);

/// What a server does with its sessions.
#[derive(Clone, Debug)]
pub(crate) enum Serve {
    /// Sends back what comes.
    Echo,
    /// Keeps what comes, and says so a while after the peer has ended its stream.
    AnswerAtEnd,
    /// Sends so many messages of so many bytes at once, and reads.
    Push(usize, usize),
}

pub(super) struct ServerHandler {
    pub(super) serve: Serve,
    pub(super) log: Log,
    pub(super) received: usize,
}

impl Handler for ServerHandler {
    fn on_open(&mut self, session: &mut Session) {
        self.log.add(At::Server, opened(session));
        if let Serve::Push(messages, bytes) = self.serve {
            let payload = vec![7; bytes];
            for _ in 0..messages {
                session.send(&payload).unwrap();
            }
        }
    }

    fn on_message(&mut self, session: &mut Session, message: &[u8]) {
        self.received += message.len();
        self.log.add(At::Server, What::Message(message.to_vec()));
        if matches!(self.serve, Serve::Echo) {
            session.send(message).unwrap();
        }
    }

    fn on_end(&mut self, session: &mut Session) {
        self.log.add(At::Server, What::PeerEnded);
        match self.serve {
            Serve::AnswerAtEnd => session.set_timer("answer", ANSWER_AFTER),
            _ => session.finish(),
        }
    }

    fn on_timer(&mut self, session: &mut Session, _: TimerKey) {
        session.send(answer(self.received)).unwrap();
        session.finish();
    }

    fn on_close(&mut self, _: &mut Session, reason: &CloseReason) {
        self.log.add(At::Server, What::Closed(reason.clone()));
    }
}

pub(super) async fn serve(serve: Serve, log: Log, mut connection: Connection) {
    let mut received = 0;
    log.add(At::Server, opened_connection(&connection, 1));
    if let Serve::Push(messages, bytes) = serve {
        let payload = vec![7; bytes];
        for _ in 0..messages {
            connection.send(&payload).await.unwrap();
        }
    }
    loop {
        match connection.recv().await {
            Ok(Some(message)) => {
                received += message.len();
                log.add(At::Server, What::Message(message.to_vec()));
                if matches!(serve, Serve::Echo) && connection.send(message).await.is_err() {
                    return;
                }
            }
            Ok(None) => break,
            Err(_) => return,
        }
    }
    log.add(At::Server, What::PeerEnded);
    if matches!(serve, Serve::AnswerAtEnd) {
        tokio::time::sleep(ANSWER_AFTER).await;
        connection.send(answer(received)).await.unwrap();
    }
    connection.close().await;
}

/// What [`Serve::AnswerAtEnd`] answers after so many bytes.
fn answer(received: usize) -> String {
    format!("received {received} bytes")
}

pub(super) struct ClientHandler {
    pub(super) greetings: Arc<[Vec<u8>]>,
    pub(super) log: Log,
}

impl Handler for ClientHandler {
    fn on_open(&mut self, session: &mut Session) {
        self.log.add(At::Client, opened(session));
        for greeting in &*self.greetings {
            session.send(greeting).unwrap();
        }
    }

    fn on_message(&mut self, _: &mut Session, message: &[u8]) {
        self.log.add(At::Client, What::Message(message.to_vec()));
    }

    fn on_end(&mut self, session: &mut Session) {
        self.log.add(At::Client, What::PeerEnded);
        session.finish();
    }

    fn on_close(&mut self, _: &mut Session, reason: &CloseReason) {
        self.log.add(At::Client, What::Closed(reason.clone()));
    }

    fn on_connect_failed(&mut self, _: &mut Session, error: &Arc<Error>) {
        self.log.add(At::Client, What::ConnectFailed(error.clone()));
    }
}

pub(super) async fn talk(greetings: Arc<[Vec<u8>]>, log: Log, mut connection: Connection) {
    let generation = connection.handle().generation();
    log.add(At::Client, opened_connection(&connection, generation));
    for greeting in &*greetings {
        connection.send(greeting).await.unwrap();
    }
    loop {
        match connection.recv().await {
            Ok(Some(message)) => log.add(At::Client, What::Message(message.to_vec())),
            Ok(None) => break,
            Err(_) => return,
        }
    }
    log.add(At::Client, What::PeerEnded);
}

fn opened(session: &Session) -> What {
    What::Opened {
        generation: session.generation(),
        tls: session.tls().map(Box::new),
    }
}

fn opened_connection(connection: &Connection, generation: u64) -> What {
    What::Opened {
        generation,
        tls: connection.tls().map(Box::new),
    }
}
