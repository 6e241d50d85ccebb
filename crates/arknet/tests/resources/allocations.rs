//! In the steady state a message costs no allocation: at most one in a thousand messages, in both styles.
//!
//! One connection on real sockets, 16 messages of 1 KiB in flight; client and server both count.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use arknet::tcp::{Client, ClientConfig, Framing, Server, ServerConfig};
use arknet::{Connection, Handler, Lanes, Session};
use arknet_testkit::alloc::{self, Counts};

use crate::support::{Keys, PATIENCE, Style};

const MESSAGE_BYTES: usize = 1024;
const WINDOW: usize = 16;

/// Until buffers and tables have their sizes.
const WARM_UP: u64 = 20_000;

/// Messages that are counted, each of which crosses both ends twice: once as a request, once as its echo.
const COUNTED: u64 = 100_000;

/// The promise: one allocation in so many messages.
const MESSAGES_PER_ALLOCATION: u64 = 1_000;

/// A debug build on a busy machine, many times over.
const WITHIN: Duration = Duration::from_secs(50);

/// Counts echoes and reads the counters at both ends of the stretch.
struct Meter {
    echoes: u64,
    before: Counts,
    done: SyncSender<Counts>,
}

impl Meter {
    fn new(done: SyncSender<Counts>) -> Self {
        Self {
            echoes: 0,
            before: Counts::default(),
            done,
        }
    }

    /// Books an echo; says whether to go on.
    fn book(&mut self) -> bool {
        self.echoes += 1;
        if self.echoes == WARM_UP {
            self.before = alloc::counts();
        }
        if self.echoes == WARM_UP + COUNTED {
            let counts = alloc::counts().since(&self.before);
            self.done.send(counts).unwrap();
        }
        self.echoes < WARM_UP + COUNTED
    }
}

struct Windowed {
    meter: Meter,
}

impl Handler for Windowed {
    fn on_open(&mut self, session: &mut Session) {
        for _ in 0..WINDOW {
            session.send(&[5; MESSAGE_BYTES]).unwrap();
        }
    }

    fn on_message(&mut self, session: &mut Session, message: &[u8]) {
        assert_eq!(message.len(), MESSAGE_BYTES);
        if self.meter.book() {
            session.send(message).unwrap();
        }
    }
}

async fn windowed(mut meter: Meter, mut connection: Connection) {
    for _ in 0..WINDOW {
        connection.send(&[5; MESSAGE_BYTES]).await.unwrap();
    }
    while let Some(message) = connection.recv().await.unwrap() {
        assert_eq!(message.len(), MESSAGE_BYTES);
        if !meter.book() {
            return;
        }
        connection.send(message).await.unwrap();
    }
}

async fn echo(mut connection: Connection) {
    while let Ok(Some(message)) = connection.recv().await {
        connection.send(message).await.unwrap();
    }
}

fn measure(style: Style, keys: Option<&Keys>) -> Counts {
    assert!(alloc::installed());
    let lanes = Lanes::sharded(2).unwrap();
    let mut server_config = ServerConfig::new().framing(Framing::LengthPrefix);
    let mut client_config = ClientConfig::new().framing(Framing::LengthPrefix);
    if let Some(keys) = keys {
        server_config = server_config.tls(keys.server_config());
        client_config = client_config.tls(keys.client_config());
    }
    let (done, counted): (_, Receiver<Counts>) = sync_channel(1);
    let (server, client) = match style {
        Style::Callbacks => {
            let server = Server::start(&lanes, "127.0.0.1:0", server_config, |_| {
                |session: &mut Session, message: &[u8]| session.send(message).unwrap()
            })
            .unwrap();
            let client = Client::start(&lanes, server.local_addr(), client_config, move |_| {
                Windowed {
                    meter: Meter::new(done.clone()),
                }
            });
            (server, client.unwrap())
        }
        Style::Async => {
            let server = Server::serve(&lanes, "127.0.0.1:0", server_config, echo).unwrap();
            let client = Client::run(
                &lanes,
                server.local_addr(),
                client_config,
                move |connection| windowed(Meter::new(done.clone()), connection),
            );
            (server, client.unwrap())
        }
    };
    let counts = counted.recv_timeout(WITHIN).unwrap();
    let _ = client.shutdown(PATIENCE).wait().unwrap();
    let _ = server.shutdown(PATIENCE).wait().unwrap();
    counts
}

fn assert_few(what: &str, counts: &Counts) {
    let Counts {
        allocations, frees, ..
    } = counts;
    eprintln!("{what}: {allocations} allocations, {frees} frees in {COUNTED} messages");
    assert!(
        *allocations <= COUNTED / MESSAGES_PER_ALLOCATION,
        "{what}: {allocations} allocations in {COUNTED} messages"
    );
}

#[test]
fn allocations_of_plain_callbacks() {
    assert_few("plain, callbacks", &measure(Style::Callbacks, None));
}

#[test]
fn allocations_of_plain_async() {
    assert_few("plain, async", &measure(Style::Async, None));
}

#[test]
fn allocations_of_tls_callbacks() {
    assert_few(
        "tls, callbacks",
        &measure(Style::Callbacks, Some(&Keys::new())),
    );
}

#[test]
fn allocations_of_tls_async() {
    assert_few("tls, async", &measure(Style::Async, Some(&Keys::new())));
}
