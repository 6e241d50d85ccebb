//! Lanes, a log and keys: what a story needs to run in its cell.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use arknet::tcp::{
    Address, Client, ClientConfig, Framing, ReconnectPolicy, Server, ServerConfig, ToAddress,
};
use arknet::{CloseReason, Lanes};
use arknet_testkit::leak::Snapshot;
use arknet_testkit::{FaultProxy, TempDir};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use super::cell::{Carrier, Cell, Model, Style};
use super::echo::{ClientHandler, Serve, ServerHandler, serve, talk};
use super::keys::Keys;
use super::log::{At, Fact, Log, What};

/// How long anything is waited for. Only a failure takes so long, on the slowest machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(15);

/// How often a counter that rings no bell is looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// What a story runs on.
pub(crate) struct Rig {
    pub(crate) cell: Cell,
    pub(crate) lanes: Lanes,
    pub(crate) log: Log,
    pub(crate) keys: Keys,
    folder: TempDir,
    /// Of the model `current`: the runtime that the program has anyway.
    runtime: Option<Runtime>,
    before: Option<Snapshot>,
}

impl Rig {
    pub(crate) fn new(cell: Cell) -> Self {
        // The first runtime of a process makes what the process keeps.
        drop(Lanes::manual().unwrap());
        // What the whole process holds can be told only where each test is a process.
        let before = std::env::var_os("NEXTEST").map(|_| Snapshot::take());
        let (lanes, runtime) = lanes(cell.model);
        Self {
            cell,
            lanes,
            log: Log::default(),
            keys: Keys::new(),
            folder: TempDir::new("arknet-faults").unwrap(),
            runtime,
            before,
        }
    }

    /// Plain settings of a server in this cell: length prefixes, events into the log, TLS where the cell has it.
    pub(crate) fn server_config(&self) -> ServerConfig {
        let log = self.log.clone();
        let config = ServerConfig::new()
            .framing(Framing::LengthPrefix)
            .on_event(move |event| log.event(At::Server, event));
        if self.cell.is_secure() {
            return config.tls(self.keys.server_config());
        }
        config
    }

    /// Plain settings of a client in this cell, which does not connect again.
    pub(crate) fn client_config(&self) -> ClientConfig {
        let log = self.log.clone();
        let config = ClientConfig::new()
            .framing(Framing::LengthPrefix)
            .reconnect(ReconnectPolicy::off())
            .on_event(move |event| log.event(At::Client, event));
        if self.cell.is_secure() {
            return config.tls(self.keys.client_config());
        }
        config
    }

    /// Where a server of this cell listens.
    pub(crate) fn address(&self) -> Address {
        match self.cell.carrier {
            Carrier::Tcp | Carrier::Tcps => "127.0.0.1:0".parse().unwrap(),
            Carrier::Unix => Address::Unix(self.folder.join("socket")),
        }
    }

    pub(crate) fn serve(&self, config: ServerConfig, what: Serve) -> Server {
        let log = self.log.clone();
        let (lanes, address) = (&self.lanes, self.address());
        let server = match self.cell.style {
            Style::Callbacks => Server::start(lanes, address, config, move |_| ServerHandler {
                serve: what.clone(),
                log: log.clone(),
                received: 0,
            }),
            Style::Async => Server::serve(lanes, address, config, move |connection| {
                serve(what.clone(), log.clone(), connection)
            }),
        };
        server.unwrap()
    }

    pub(crate) fn echo(&self) -> Server {
        self.serve(self.server_config(), Serve::Echo)
    }

    /// A client that sends these messages on each of its connections.
    pub(crate) fn connect(
        &self,
        address: impl ToAddress,
        config: ClientConfig,
        greetings: &[&[u8]],
    ) -> Client {
        let log = self.log.clone();
        let greetings: Arc<[Vec<u8>]> = greetings.iter().map(|bytes| bytes.to_vec()).collect();
        let client = match self.cell.style {
            Style::Callbacks => {
                Client::start(&self.lanes, address, config, move |_| ClientHandler {
                    greetings: greetings.clone(),
                    log: log.clone(),
                })
            }
            Style::Async => Client::run(&self.lanes, address, config, move |connection| {
                talk(greetings.clone(), log.clone(), connection)
            }),
        };
        client.unwrap()
    }

    /// Runs a future on the test's thread; manual lanes are driven meanwhile.
    pub(crate) fn block_on<F: Future>(&self, what: &str, future: F) -> F::Output {
        let bounded = async { tokio::time::timeout(PATIENCE, future).await };
        match self.lanes.block_on(bounded).unwrap() {
            Ok(output) => output,
            Err(_) => self.log.look(|facts| {
                panic!(
                    "{:?}: waited in vain for {what}; so far: {facts:#?}",
                    self.cell
                )
            }),
        }
    }

    /// Waits until `find` finds something in the log.
    pub(crate) fn wait<T>(&self, what: &str, find: impl FnMut(&[Fact]) -> Option<T>) -> T {
        self.block_on(what, self.log.wait(find))
    }

    /// Waits until something that is not in the log is so: a counter, or a length.
    pub(crate) fn wait_until(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        self.block_on(what, async {
            while !is_so() {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        });
    }

    /// Waits until `at` has been open so many times.
    pub(crate) fn wait_opened(&self, at: At, times: usize) {
        self.wait("an open session", |facts| {
            let opened = |fact: &&Fact| fact.at == at && matches!(fact.what, What::Opened { .. });
            (facts.iter().filter(opened).count() >= times).then_some(())
        });
    }

    /// Waits until a session, or an attempt, of `at` has ended, and says why.
    pub(crate) fn wait_ended(&self, at: At) -> CloseReason {
        self.wait("the end of a session", |facts| {
            facts.iter().find_map(|fact| match &fact.what {
                What::Ended(reason) if fact.at == at => Some(reason.clone()),
                _ => None,
            })
        })
    }

    /// Waits until exactly these messages have arrived at `at`, and nothing else.
    pub(crate) fn wait_messages(&self, at: At, wanted: &[&[u8]]) {
        self.wait("messages", |facts| {
            let messages = |fact: &&Fact| fact.at == at && matches!(fact.what, What::Message(_));
            (facts.iter().filter(messages).count() >= wanted.len()).then_some(())
        });
        let messages = self.log.messages(at);
        assert!(
            messages
                .iter()
                .map(Vec::as_slice)
                .eq(wanted.iter().copied()),
            "{:?}: other messages than those sent: lengths {:?}",
            self.cell,
            messages.iter().map(Vec::len).collect::<Vec<_>>()
        );
    }

    /// Does something that blocks, such as what a peer on plain sockets does, while the lanes go on.
    pub(crate) fn beside<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        let (done, result) = oneshot::channel();
        let thread = thread::spawn(move || drop(done.send(work())));
        let result = self.block_on("the peer", result);
        if let Err(panic) = thread.join() {
            std::panic::resume_unwind(panic);
        }
        result.unwrap()
    }

    /// Drops what the story still holds, ends the lanes, and proves that nothing stays behind: no task, and where the
    /// test has a process of its own, no thread and no file.
    pub(crate) fn finish<T>(self, held: T) {
        drop(held);
        let report = self.lanes.block_on(self.lanes.shutdown(PATIENCE)).unwrap();
        assert!(report.finished, "{:?}: {report:?}", self.cell);
        let Self {
            lanes,
            runtime,
            before,
            ..
        } = self;
        drop(lanes);
        drop(runtime);
        if let Some(before) = before {
            before.assert_no_leaks_beyond(PATIENCE, NO_HEAP);
        }
    }
}

/// Memory is the business of the binary that counts it.
const NO_HEAP: arknet_testkit::leak::Slack = arknet_testkit::leak::Slack {
    heap: u64::MAX,
    resident: u64::MAX,
};

pub(crate) fn proxy_before(server: &Server) -> FaultProxy {
    FaultProxy::start(ip(server)).unwrap()
}

pub(crate) fn ip(server: &Server) -> SocketAddr {
    server.local_addr().ip().unwrap()
}

fn lanes(model: Model) -> (Lanes, Option<Runtime>) {
    match model {
        Model::Shared1 => (Lanes::shared(1).unwrap(), None),
        Model::Shared4 => (Lanes::shared(4).unwrap(), None),
        Model::Sharded4 => (Lanes::sharded(4).unwrap(), None),
        Model::Manual => (Lanes::manual().unwrap(), None),
        Model::Current => {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(1)
                .enable_all()
                .build()
                .unwrap();
            let lanes = {
                let _inside = runtime.enter();
                Lanes::current().unwrap()
            };
            (lanes, Some(runtime))
        }
    }
}
