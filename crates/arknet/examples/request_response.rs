//! Requests and replies over one connection that comes back when it is lost.
//!
//! ```sh
//! cargo run -p arknet --example request_response
//! ```
//!
//! Replies come in the order of the requests, so no message carries a number: who has waited longest is answered first.
//! What makes that safe:
//!
//! * **Generations.** Each connection of a client is a new one. What waits when a connection is lost is told so, and
//!   asked again by whoever knows that it may be: nothing is ever sent twice by itself.
//! * **Timeouts.** Who does not want to wait any longer leaves, but its place in the order stays, and the reply that comes
//!   late is thrown away. So a reply never reaches the wrong one.
#![allow(clippy::print_stdout, reason = "standard output belongs to programs")]

use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use arknet::tcp::{Client, ClientConfig, Framing, ReconnectPolicy, Server, ServerConfig};
use arknet::{CloseReason, Handler, Lanes, SendError, Session};
use tokio::sync::{oneshot, watch};

/// Requests that may wait for their replies; more are refused, so that a server that stands still costs no memory.
const WINDOW: usize = 64;

/// A reply, and which connection it came on.
struct Reply {
    generation: u64,
    text: String,
}

/// Why there is no reply.
#[derive(Debug)]
enum AskError {
    /// It was not sent: safe to ask again.
    NotSent(SendError),
    /// Too many wait already: safe to ask again, later.
    TooMany,
    /// The connection was lost with the request on it: the server may have seen it.
    Lost { generation: u64 },
    /// It took too long: the server may have seen it.
    TimedOut,
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSent(error) => write!(f, "ask: {error}"),
            Self::TooMany => write!(f, "ask: {WINDOW} requests wait already"),
            Self::Lost { generation } => write!(f, "ask: connection {generation} was lost"),
            Self::TimedOut => f.write_str("ask: no reply in time"),
        }
    }
}

impl Error for AskError {}

type Answer = oneshot::Sender<Result<Reply, AskError>>;

/// Who waits for replies, in order. It is kept with the session, where whatever runs on its lane finds it.
#[derive(Default)]
struct Waiting(VecDeque<Answer>);

/// A client that is asked from anywhere.
#[derive(Clone)]
struct Api {
    client: Client,
    generation: watch::Receiver<u64>,
}

impl Api {
    fn start(lanes: &Lanes, address: &arknet::PeerAddress) -> Result<Self, arknet::Error> {
        let (opened, generation) = watch::channel(0);
        let opened = Arc::new(opened);
        let config = ClientConfig::new()
            .framing(Framing::LengthPrefix)
            .reconnect(ReconnectPolicy::fixed(Duration::from_millis(10)));
        let client = Client::start(lanes, address, config, move |_| Replies {
            opened: opened.clone(),
        })?;
        Ok(Self { client, generation })
    }

    /// Waits for a connection of at least this generation.
    async fn connected(&mut self, generation: u64) -> Result<(), Box<dyn Error>> {
        self.generation
            .wait_for(|opened| *opened >= generation)
            .await?;
        Ok(())
    }

    /// Asks, and waits for the reply for at most `within`.
    ///
    /// Dropping this future is a timeout that comes early.
    async fn ask(&self, request: &str, within: Duration) -> Result<Reply, AskError> {
        let (answer, answered) = oneshot::channel();
        let request = request.to_owned();
        // On the session's lane the place in the order and the place on the wire are taken together.
        let posted = self
            .client
            .handle()
            .post(move |session| submit(session, &request, answer));
        posted.map_err(AskError::NotSent)?;
        match tokio::time::timeout(within, answered).await {
            Ok(Ok(result)) => result,
            // The session ended before it looked at the request.
            Ok(Err(_)) => Err(AskError::NotSent(SendError::NotConnected)),
            Err(_) => Err(AskError::TimedOut),
        }
    }
}

fn submit(session: &mut Session, request: &str, answer: Answer) {
    let waiting = session
        .data::<Waiting>()
        .map_or(0, |waiting| waiting.0.len());
    let refused = if waiting >= WINDOW {
        AskError::TooMany
    } else {
        match session.send(request) {
            Ok(()) => {
                if let Some(waiting) = session.data_mut::<Waiting>() {
                    waiting.0.push_back(answer);
                }
                return;
            }
            Err(error) => AskError::NotSent(error),
        }
    };
    // The one who asked may have gone.
    let _ = answer.send(Err(refused));
}

/// The client's handler: it stays from one connection to the next.
struct Replies {
    opened: Arc<watch::Sender<u64>>,
}

impl Handler for Replies {
    fn on_open(&mut self, session: &mut Session) {
        session.set_data(Waiting::default());
        self.opened.send_replace(session.generation());
    }

    fn on_message(&mut self, session: &mut Session, message: &[u8]) {
        let generation = session.generation();
        let longest = session
            .data_mut::<Waiting>()
            .and_then(|waiting| waiting.0.pop_front());
        let Some(answer) = longest else {
            // A reply that nobody asked for: the order is lost, and with it the meaning of every later one.
            return session.abort();
        };
        let text = String::from_utf8_lossy(message).into_owned();
        // Who asked may have gone; then the reply is thrown away.
        let _ = answer.send(Ok(Reply { generation, text }));
    }

    fn on_close(&mut self, session: &mut Session, _: &CloseReason) {
        let generation = session.generation();
        if let Some(waiting) = session.data_mut::<Waiting>() {
            for answer in waiting.0.drain(..) {
                let _ = answer.send(Err(AskError::Lost { generation }));
            }
        }
    }
}

/// A server that shouts. It keeps "wait" to itself until it is asked something else.
#[derive(Default)]
struct Shouter {
    kept: Vec<String>,
}

impl Handler for Shouter {
    fn on_message(&mut self, session: &mut Session, message: &[u8]) {
        self.kept
            .push(String::from_utf8_lossy(message).to_uppercase());
        if message == b"wait" {
            return;
        }
        for reply in self.kept.drain(..) {
            if session.send(reply).is_err() {
                return session.close();
            }
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    demo()
}

/// Replies in order, one that comes too late, a connection that is lost, and the next one.
pub(crate) fn demo() -> Result<(), Box<dyn Error>> {
    let lanes = Lanes::shared(2)?;
    let config = ServerConfig::new().framing(Framing::LengthPrefix);
    let server = Server::start(&lanes, "127.0.0.1:0", config, |_| Shouter::default())?;
    let api = Api::start(&lanes, server.local_addr())?;
    lanes.block_on(show(api.clone(), &server))??;

    api.client.shutdown(Duration::from_secs(5)).wait()?;
    server.shutdown(Duration::from_secs(5)).wait()?;
    Ok(())
}

async fn show(mut api: Api, server: &Server) -> Result<(), Box<dyn Error>> {
    const PATIENT: Duration = Duration::from_secs(10);
    const IMPATIENT: Duration = Duration::from_millis(50);
    api.connected(1).await?;

    let (one, two) = tokio::join!(api.ask("one", PATIENT), api.ask("two", PATIENT));
    let (one, two) = (one?, two?);
    println!(
        "{} {}, on connection {}",
        one.text, two.text, two.generation
    );
    assert_eq!(
        (one.text.as_str(), two.text.as_str(), two.generation),
        ("ONE", "TWO", 1)
    );

    let late = api.ask("wait", IMPATIENT).await;
    assert!(matches!(late, Err(AskError::TimedOut)));
    // The late reply comes before this one, and is not taken for it.
    let three = api.ask("three", PATIENT).await?;
    println!("{}, after one that came too late", three.text);
    assert_eq!(three.text, "THREE");

    let lose = async {
        for session in server.sessions() {
            // As soon as it has arrived; until then there is nothing to lose.
            while session.received_messages() < 5 {
                tokio::task::yield_now().await;
            }
            session.abort();
        }
    };
    let (lost, ()) = tokio::join!(api.ask("wait", PATIENT), lose);
    match lost {
        Err(error @ AskError::Lost { generation: 1 }) => println!("{error}"),
        _ => return Err("the request outlived its connection".into()),
    }
    api.connected(2).await?;
    let again = api.ask("again", PATIENT).await?;
    println!("{}, on connection {}", again.text, again.generation);
    assert_eq!((again.text.as_str(), again.generation), ("AGAIN", 2));
    Ok(())
}
