//! The owner's side of an embedded server.

use std::io;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mio::{Poll, Waker};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;

use super::doors::Doors;
use super::machine::{Machine, Order, WAKER};
use super::stats::Board;
use super::{Options, Rule, Stats};
use crate::TempDir;
use crate::certs::{Authority, Identity, Usage};
use crate::servers::redis::ClientInfo;

/// The names in the server's certificate.
const NAMES: &[&str] = &["localhost", "127.0.0.1", "::1"];

/// An embedded Redis-speaking server on loopback ports of its own; see the [module](super).
///
/// A method returns when what it asked for is in force. Dropping the server ends it, and every connection
/// with it. Methods panic if the server's thread has ended, which only a failure of the system's poll
/// brings about.
#[derive(Debug)]
pub struct EmbeddedServer {
    addr: SocketAddr,
    tls_addr: Option<SocketAddr>,
    certificates: Option<(Authority, Identity)>,
    board: Arc<Board>,
    orders: Sender<Order>,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
    /// Holds the Unix socket, and goes after the thread.
    dir: TempDir,
}

impl EmbeddedServer {
    /// Starts a server.
    ///
    /// # Errors
    ///
    /// When the system has no port, file or thread left, or a certificate cannot be made.
    pub fn start(options: Options) -> io::Result<Self> {
        let dir = TempDir::new("arknet-embedded")?;
        let mut certificates = None;
        let mut config = None;
        if options.tls {
            let (authority, server, client) = certify().map_err(io::Error::other)?;
            config = Some(configure(
                &authority,
                &server,
                options.demand_client_certificates,
            )?);
            certificates = Some((authority, client));
        }
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), WAKER)?;
        let doors = Doors::new(dir.join("s"), config)?;
        let (addr, tls_addr) = (doors.addr(), doors.tls_addr());
        let (orders, inbox) = mpsc::channel();
        let board = Arc::new(Board::default());
        let machine = Machine::new(poll, doors, options, inbox, Arc::clone(&board))?;
        let thread = thread::Builder::new()
            .name("embedded-redis".to_owned())
            .spawn(move || machine.run())?;
        Ok(Self {
            addr,
            tls_addr,
            certificates,
            board,
            orders,
            waker,
            thread: Some(thread),
            dir,
        })
    }

    /// Where it listens in clear.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Where it listens with TLS, if it does.
    #[must_use]
    pub fn tls_addr(&self) -> Option<SocketAddr> {
        self.tls_addr
    }

    /// Its Unix socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.dir.join("s")
    }

    /// `redis://127.0.0.1:PORT`
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://{}", self.addr)
    }

    /// The authority of the server's certificate.
    ///
    /// # Panics
    ///
    /// When it was started without TLS.
    #[must_use]
    pub fn authority(&self) -> &Authority {
        &self.certificates().0
    }

    /// A certificate that the server takes from a client.
    ///
    /// # Panics
    ///
    /// When it was started without TLS.
    #[must_use]
    pub fn client_identity(&self) -> &Identity {
        &self.certificates().1
    }

    /// Adds a rule behind those that are there.
    pub fn add(&self, rule: Rule) {
        self.ask(move |machine| machine.rules.push(rule));
    }

    /// Takes all rules back.
    pub fn clear_rules(&self) {
        self.ask(|machine| machine.rules.clear());
    }

    /// Writes these bytes to whoever connects, before anything else. None by default.
    pub fn greet(&self, bytes: impl Into<Vec<u8>>) {
        let bytes = bytes.into();
        self.ask(move |machine| machine.greeting = bytes);
    }

    /// Writes these bytes, as they are, to every client now.
    pub fn push(&self, bytes: impl Into<Vec<u8>>) {
        let bytes = bytes.into();
        self.ask(move |machine| {
            for (id, peer) in &mut machine.world.peers {
                peer.output.extend_from_slice(&bytes);
                machine.awake.insert(*id);
            }
        });
    }

    /// Does as if it did not know this command, or subcommand such as `CLIENT SETINFO`.
    pub fn refuse_command(&self, command: &str) {
        let command = command.to_ascii_lowercase();
        self.ask(move |machine| {
            machine.world.settings.refused.insert(command);
        });
    }

    /// Answers `-LOADING` to every command that needs data, or no longer.
    pub fn set_loading(&self, loading: bool) {
        self.ask(move |machine| machine.world.settings.loading = loading);
    }

    /// Answers `-READONLY` to every command that writes, as a primary that became a replica, or no longer.
    pub fn set_read_only(&self, read_only: bool) {
        self.ask(move |machine| machine.world.settings.read_only = read_only);
    }

    /// Refuses connections, as if nobody listened, until [`accept_again`](Self::accept_again). Those that
    /// are open go on.
    pub fn refuse(&self) {
        self.ask(|machine| machine.doors.shut());
    }

    /// Refuses connections for so long.
    pub fn refuse_for(&self, time: Duration) {
        self.ask(move |machine| {
            machine.doors.shut();
            machine.open_at = Some(machine.world.now + time);
        });
    }

    /// Accepts connections again.
    pub fn accept_again(&self) {
        self.ask(|machine| {
            machine.open_at = None;
            machine.open();
        });
    }

    /// Accepts, reads and writes nothing until [`resume`](Self::resume), as a machine that is halted.
    pub fn pause(&self) {
        self.ask(|machine| machine.paused = true);
    }

    /// Goes on after a [`pause`](Self::pause).
    pub fn resume(&self) {
        self.ask(|machine| {
            machine.paused = false;
            machine.awake.extend(machine.world.peers.keys());
        });
    }

    /// Closes the clients that have sent no command for at least so long, and says how many.
    pub fn close_idle(&self, idle: Duration) -> usize {
        self.close_where(move |silent| silent >= idle, false)
    }

    /// Closes all clients, and says how many.
    pub fn close_all(&self) -> usize {
        self.close_where(|_| true, false)
    }

    /// Closes all clients with a reset (over TCP), and says how many.
    pub fn reset_all(&self) -> usize {
        self.close_where(|_| true, true)
    }

    /// What it has seen so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.ask(Machine::stats)
    }

    /// Waits until the counts are as `reached` wants them.
    ///
    /// # Errors
    ///
    /// `TimedOut` after `within`, with the counts in the message.
    pub fn wait_until(
        &self,
        within: Duration,
        reached: impl Fn(&Stats) -> bool,
    ) -> io::Result<Stats> {
        let waiting = self.board.enter();
        // Its turn ends with a look at who waits.
        self.ask(|_| ());
        waiting.until(within, reached).map_err(|stats| {
            let message = format!("wait for server: not reached within {within:?}: {stats:?}");
            io::Error::new(io::ErrorKind::TimedOut, message)
        })
    }

    /// Its clients, as `CLIENT LIST` shows them.
    #[must_use]
    pub fn client_list(&self) -> Vec<ClientInfo> {
        let mut clients = self.ask(|machine| {
            let world = &mut machine.world;
            let mut clients = Vec::with_capacity(world.peers.len());
            for peer in world.peers.values() {
                let session = &peer.session;
                let broken = world.store.is_broken(session.id, world.unix);
                let line = session.line(world.now, world.store.watched(session.id), broken);
                clients.push(ClientInfo::parse(&line));
            }
            clients
        });
        clients.sort_by_key(ClientInfo::id);
        clients
    }

    fn close_where(
        &self,
        wanted: impl Fn(Duration) -> bool + Send + 'static,
        reset: bool,
    ) -> usize {
        self.ask(move |machine| {
            let now = machine.world.now;
            let mut closed = 0;
            for (id, peer) in &mut machine.world.peers {
                if wanted(now.saturating_duration_since(peer.session.active)) {
                    if reset {
                        peer.wire.reset();
                    }
                    peer.kill();
                    machine.awake.insert(*id);
                    closed += 1;
                }
            }
            closed
        })
    }

    fn certificates(&self) -> &(Authority, Identity) {
        match &self.certificates {
            Some(certificates) => certificates,
            None => panic!("the server at {} was started without TLS", self.addr),
        }
    }

    /// Lets the thread do something between two turns, and waits for what comes of it.
    fn ask<T: Send + 'static>(&self, order: impl FnOnce(&mut Machine) -> T + Send + 'static) -> T {
        let (done, answer) = mpsc::sync_channel(1);
        let sent = self.send(Box::new(move |machine| {
            // Nobody waits for it any more only if he panicked.
            let _ = done.send(order(machine));
            ControlFlow::Continue(())
        }));
        let answered = sent.and_then(|()| answer.recv().map_err(|_| gone()));
        match answered {
            Ok(answer) => answer,
            Err(error) => panic!("ask the server at {}: {error}", self.addr),
        }
    }

    fn send(&self, order: Order) -> io::Result<()> {
        self.orders.send(order).map_err(|_| gone())?;
        self.waker.wake()
    }
}

impl Drop for EmbeddedServer {
    fn drop(&mut self) {
        // A thread that has ended already cannot be told.
        let _ = self.send(Box::new(|_| ControlFlow::Break(())));
        if let Some(thread) = self.thread.take() {
            // Its panic has been printed.
            let _ = thread.join();
        }
    }
}

fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "its thread has ended")
}

/// An authority, and certificates of it for the server and for a client.
fn certify() -> Result<(Authority, Identity, Identity), crate::certs::Error> {
    let authority = Authority::new("arknet embedded server")?;
    let server = authority.issue(NAMES, Usage::Server)?;
    let client = authority.issue(&["client"], Usage::Client)?;
    Ok((authority, server, client))
}

fn configure(
    authority: &Authority,
    server: &Identity,
    demand_client_certificates: bool,
) -> io::Result<Arc<ServerConfig>> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut roots = rustls::RootCertStore::empty();
    roots
        .add(CertificateDer::from(authority.cert_der()))
        .map_err(io::Error::other)?;
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
    let verifier = match demand_client_certificates {
        true => verifier,
        // A client may show one all the same, and then it must be good.
        false => verifier.allow_unauthenticated(),
    };
    let verifier = verifier.build().map_err(io::Error::other)?;
    let key = PrivateKeyDer::Pkcs8(server.key_der().into());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_client_cert_verifier(verifier)
        .with_single_cert(vec![CertificateDer::from(server.cert_der())], key)
        .map_err(io::Error::other)?;
    Ok(Arc::new(config))
}
