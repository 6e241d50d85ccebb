//! A client in a cell, on lanes of its own, with a server behind it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use arknet::pool::PoolConfig;
use arknet::redis::{Batch, Client, Config, Error, Lease, Pool, Shareable};
use arknet::{Lanes, tls};
use arknet_testkit::servers::Absent;
use arknet_testkit::servers::redis::{Options, Product, RedisServer, Transport};

use super::{Access, Cell, LIMIT, Style, eventually};

/// Tells the keys of one host from those of another, where they share a server.
static HOSTS: AtomicUsize = AtomicUsize::new(0);

/// Enough for two leases at once, and so few that they are used again and again.
const CONNECTIONS: usize = 2;

pub(crate) struct Host {
    pub(crate) cell: Cell,
    pub(crate) server: Arc<RedisServer>,
    pub(crate) lanes: Lanes,
    user: User,
    number: usize,
}

enum User {
    Client(Client),
    Pool(Pool),
}

/// The configuration that reaches `server` in this cell, from its URL.
pub(crate) fn configure(config: Config, server: &RedisServer, cell: Cell) -> Config {
    let config = config.protocol(cell.protocol);
    let roots = || tls::Authorities::from_pem(server.authority().cert_pem()).unwrap();
    match cell.transport {
        Transport::Tcp | Transport::Unix => config,
        Transport::Tls => config.tls_roots(roots()),
        Transport::Mtls => {
            let client = server.client_identity();
            let identity = tls::Identity::from_pem(client.cert_pem(), client.key_pem()).unwrap();
            config.tls_roots(roots()).tls_identity(identity)
        }
    }
}

/// How the server knows the connections of a host.
fn connection_name(number: usize) -> String {
    format!("suite-{number}")
}

impl Host {
    /// A client in the cell and the process's server of Redis.
    pub(crate) fn start(cell: Cell) -> Result<Self, Absent> {
        Self::start_on(Product::Redis, cell)
    }

    pub(crate) fn start_on(product: Product, cell: Cell) -> Result<Self, Absent> {
        let server = RedisServer::shared(product, cell.transport)?;
        let config = Config::from_url(&server.url(cell.transport)).unwrap();
        Ok(Self::with(configure(config, &server, cell), server, cell))
    }

    /// A client in the cell with a server of its own, for what others would notice.
    pub(crate) fn alone(product: Product, cell: Cell) -> Result<Self, Absent> {
        let mut options = Options::default().product(product);
        if cell.transport == Transport::Mtls {
            options = options.demand_client_certificates();
        }
        let server = Arc::new(RedisServer::start(options)?);
        let config = Config::from_url(&server.url(cell.transport)).unwrap();
        Ok(Self::with(configure(config, &server, cell), server, cell))
    }

    /// A client in the cell with a configuration of its own.
    pub(crate) fn with(config: Config, server: Arc<RedisServer>, cell: Cell) -> Self {
        let lanes = Lanes::sharded(1).unwrap();
        let number = HOSTS.fetch_add(1, Ordering::Relaxed);
        let config = config
            .request_timeout(Some(LIMIT))
            .client_name(connection_name(number));
        let user = match cell.access {
            Access::Client => User::Client(Client::new(config, &lanes).unwrap()),
            Access::Lease => {
                let sizes = PoolConfig::new()
                    .max_connections(CONNECTIONS)
                    .acquire_timeout(LIMIT);
                User::Pool(Pool::new(config, sizes, &lanes).unwrap())
            }
        };
        Self {
            cell,
            server,
            lanes,
            user,
            number,
        }
    }

    /// A key that nobody else uses.
    pub(crate) fn key(&self, name: &str) -> String {
        format!("{}:{:?}:{name}", self.number, self.cell)
    }

    /// Runs a batch as the cell does, and waits for what comes of it.
    pub(crate) fn run<B>(&self, batch: B) -> B::Output
    where
        B: Shareable + 'static,
        B::Output: 'static,
    {
        let output = self.attempt(batch);
        output.unwrap_or_else(|error| panic!("{:?}: no connection: {error}", self.cell))
    }

    /// The same, with the error of a lease that could not be had.
    pub(crate) fn attempt<B>(&self, batch: B) -> Result<B::Output, Error>
    where
        B: Shareable + 'static,
        B::Output: 'static,
    {
        match (&self.user, self.cell.style) {
            (User::Client(client), Style::Tasks) => Ok(self.wait(client.run(batch))),
            (User::Client(client), Style::Callbacks) => {
                let (tell, told) = mpsc::channel();
                // A case that is over has no use for what it is told.
                client.run_with(batch, move |output| drop(tell.send(output)))?;
                Ok(told.recv_timeout(LIMIT * 2).unwrap())
            }
            (User::Pool(_), _) => self.attempt_on_lease(batch),
        }
    }

    /// Runs what only a lease takes, in the style of the cell.
    pub(crate) fn run_on_lease<B>(&self, batch: B) -> B::Output
    where
        B: Batch + 'static,
        B::Output: 'static,
    {
        self.attempt_on_lease(batch).unwrap()
    }

    fn attempt_on_lease<B>(&self, batch: B) -> Result<B::Output, Error>
    where
        B: Batch + 'static,
        B::Output: 'static,
    {
        let pool = self.pool();
        match self.cell.style {
            Style::Tasks => self.wait(async {
                let mut lease = pool.acquire().await?;
                Ok(lease.run(batch).await)
            }),
            Style::Callbacks => {
                let (tell, told) = mpsc::channel();
                pool.acquire_with(move |lease| match lease {
                    Ok(lease) => {
                        lease.run_with(batch, move |_, output| drop(tell.send(Ok(output))));
                    }
                    Err(error) => drop(tell.send(Err(error))),
                });
                told.recv_timeout(LIMIT * 2).unwrap()
            }
        }
    }

    /// The pool of a cell whose access is a lease.
    pub(crate) fn pool(&self) -> &Pool {
        match &self.user {
            User::Pool(pool) => pool,
            User::Client(_) => panic!("{:?} has no leases", self.cell),
        }
    }

    /// Lends a connection to `story`, whatever the style: some of what a lease can do is async only.
    pub(crate) fn lease<T>(&self, story: impl AsyncFnOnce(&mut Lease) -> T) -> T {
        self.wait(async {
            let mut lease = self.pool().acquire().await.unwrap();
            story(&mut lease).await
        })
    }

    /// Waits for a future on the calling thread.
    pub(crate) fn wait<F: Future>(&self, future: F) -> F::Output {
        let limited = async { tokio::time::timeout(LIMIT * 2, future).await };
        let output = self.lanes.block_on(limited).unwrap();
        output.unwrap_or_else(|_| panic!("{:?}: it takes longer than {LIMIT:?}", self.cell))
    }

    /// Closes everything in good order: nothing is left, on this side or on the server's.
    pub(crate) fn finish(self) {
        match &self.user {
            User::Client(client) => {
                let report = self.wait(client.close(LIMIT));
                assert!(report.finished, "{:?}: {report:?}", self.cell);
            }
            User::Pool(pool) => {
                let report = self.wait(pool.close(LIMIT));
                assert!(report.finished, "{:?}: {report:?}", self.cell);
            }
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let report = runtime.block_on(self.lanes.shutdown(LIMIT));
        assert!(report.finished, "{:?}: {report:?}", self.cell);
        let server = &self.server;
        let name = connection_name(self.number);
        eventually("the server sees none of the connections", || {
            !server
                .client_list()
                .iter()
                .any(|client| client.name() == name)
        });
    }
}
