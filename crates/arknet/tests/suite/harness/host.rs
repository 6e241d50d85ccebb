//! Lanes of a cell, whatever drives them, and endpoints on them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use arknet::tcp::{
    Address, Client, ClientConfig, Framing, ReconnectPolicy, Server, ServerConfig, ToAddress,
};
use arknet::{Lanes, tls};
use arknet_testkit::TempDir;
use arknet_testkit::certs::{Authority, Usage};

use super::endpoints::{Recorder, run};
use super::{Cell, LIMIT, Log, Model, Probe, Role, Style, Transport, log, wait};

/// How long a poller sleeps at most before it looks whether it is still wanted.
const POLL: Duration = Duration::from_millis(20);

/// Lanes, and what endpoints need to meet on them.
pub(crate) struct Host {
    pub(crate) cell: Cell,
    pub(crate) lanes: Lanes,
    driver: Driver,
    folder: TempDir,
    sockets: AtomicUsize,
    tls: Option<(tls::ServerConfig, tls::ClientConfig)>,
}

enum Driver {
    /// The lanes have threads.
    Lanes,
    /// The application's own runtime.
    Runtime(Option<tokio::runtime::Runtime>),
    /// Manual lanes, polled by a thread.
    Poller(#[expect(dead_code, reason = "stops the thread when dropped")] Poller),
}

struct Poller {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Configurations of TLS that trust each other under `localhost`, `127.0.0.1` and `::1`.
pub(crate) fn certificates() -> (tls::ServerConfig, tls::ClientConfig) {
    let authority = Authority::new("suite").unwrap();
    let issued = authority
        .issue(&["localhost", "127.0.0.1", "::1"], Usage::Server)
        .unwrap();
    let identity = tls::Identity::from_pem(issued.cert_pem(), issued.key_pem()).unwrap();
    let roots = tls::Authorities::from_pem(authority.cert_pem()).unwrap();
    let server = tls::ServerConfig::builder().identity(identity).build();
    let client = tls::ClientConfig::builder().roots(roots).build();
    (server.unwrap(), client.unwrap())
}

impl Host {
    pub(crate) fn new(cell: Cell) -> Self {
        let (lanes, driver) = start(cell.model);
        Self {
            cell,
            lanes,
            driver,
            folder: TempDir::new("ak").unwrap(),
            sockets: AtomicUsize::new(0),
            tls: (cell.transport == Transport::Tcps).then(certificates),
        }
    }

    /// A new address to listen on.
    pub(crate) fn address(&self) -> Address {
        match self.cell.transport {
            Transport::Tcp | Transport::Tcps => Address::Ip(([127, 0, 0, 1], 0).into()),
            #[cfg(unix)]
            Transport::Unix => {
                let number = self.sockets.fetch_add(1, Ordering::Relaxed);
                Address::Unix(self.folder.join(format!("s{number}")))
            }
        }
    }

    /// A server's configuration with length prefixes and the cell's transport.
    pub(crate) fn server_config(&self) -> ServerConfig {
        let config = ServerConfig::new().framing(Framing::LengthPrefix);
        match &self.tls {
            Some((server, _)) => config.tls(server.clone()),
            None => config,
        }
    }

    /// A client's configuration that fits [`server_config`](Self::server_config). It does not connect again.
    pub(crate) fn client_config(&self) -> ClientConfig {
        let config = ClientConfig::new()
            .framing(Framing::LengthPrefix)
            .reconnect(ReconnectPolicy::off());
        match &self.tls {
            Some((_, client)) => config.tls_with_name(client.clone(), "localhost"),
            None => config,
        }
    }

    /// A server in the cell's style that does as `role` says.
    pub(crate) fn server_on(
        &self,
        address: impl ToAddress,
        config: ServerConfig,
        probe: &Probe,
        role: Role,
    ) -> Server {
        let observer = probe.clone();
        let config = config.on_event(move |event| observer.event(event));
        let probe = probe.clone();
        let started = match self.cell.style {
            Style::Callbacks => Server::start(&self.lanes, address, config, move |_| Recorder {
                probe: probe.clone(),
                role,
            }),
            Style::Tasks => Server::serve(&self.lanes, address, config, move |connection| {
                run(connection, probe.clone(), role)
            }),
        };
        started.unwrap()
    }

    /// A server on an address of its own.
    pub(crate) fn server(&self, config: ServerConfig, role: Role) -> (Server, Probe, Log) {
        let (probe, log) = log();
        let server = self.server_on(self.address(), config, &probe, role);
        (server, probe, log)
    }

    /// A client in the cell's style that does as `role` says.
    pub(crate) fn client_on(
        &self,
        address: impl ToAddress,
        config: ClientConfig,
        probe: &Probe,
        role: Role,
    ) -> Client {
        let observer = probe.clone();
        let config = config.on_event(move |event| observer.event(event));
        let probe = probe.clone();
        let started = match self.cell.style {
            Style::Callbacks => Client::start(&self.lanes, address, config, move |_| Recorder {
                probe: probe.clone(),
                role,
            }),
            Style::Tasks => Client::run(&self.lanes, address, config, move |connection| {
                run(connection, probe.clone(), role)
            }),
        };
        started.unwrap()
    }

    /// A client of `server` that tells what it receives.
    pub(crate) fn client(&self, server: &Server, config: ClientConfig) -> (Client, Log) {
        let (probe, log) = log();
        let client = self.client_on(server.local_addr(), config, &probe, Role::Record);
        (client, log)
    }

    /// An echo server and a connected client.
    pub(crate) fn echo(&self) -> (Server, Client, Log) {
        let (server, _, seen) = self.server(self.server_config(), Role::Echo);
        let (client, log) = self.client(&server, self.client_config());
        log.opened();
        seen.opened();
        (server, client, log)
    }

    /// A recording server, its session, and a connected client.
    pub(crate) fn recorder(&self) -> (Server, Log, Client, Log) {
        let (server, _, seen) = self.server(self.server_config(), Role::Record);
        let (client, log) = self.client(&server, self.client_config());
        log.opened();
        seen.opened();
        (server, seen, client, log)
    }

    /// Ends the lanes in good order; every task must have ended.
    pub(crate) fn finish(self) {
        let report = wait("the lanes end", self.lanes.shutdown(LIMIT / 2));
        assert!(report.finished, "{:?}: {report:?}", self.cell);
    }
}

fn start(model: Model) -> (Lanes, Driver) {
    match model {
        Model::Shared1 => (Lanes::shared(1).unwrap(), Driver::Lanes),
        Model::Shared4 => (Lanes::shared(4).unwrap(), Driver::Lanes),
        Model::Sharded4 => (Lanes::sharded(4).unwrap(), Driver::Lanes),
        Model::Manual => {
            let lanes = Lanes::manual().unwrap();
            let poller = Poller::start(lanes.clone());
            (lanes, Driver::Poller(poller))
        }
        Model::Current => {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .unwrap();
            let lanes = {
                let _inside = runtime.enter();
                Lanes::current().unwrap()
            };
            (lanes, Driver::Runtime(Some(runtime)))
        }
    }
}

impl Poller {
    fn start(lanes: Lanes) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                lanes.poll_until(Instant::now() + POLL).unwrap();
            }
        });
        Self {
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for Poller {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take()
            && let Err(panic) = thread.join()
            && !std::thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if let Driver::Runtime(runtime) = &mut self.driver
            && let Some(runtime) = runtime.take()
        {
            runtime.shutdown_background();
        }
    }
}
