//! A running server and what a test may ask of it.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::cli::{Cli, NAME};
use super::{Answer, ClientInfo, Options, Product, shared};
use crate::TempDir;
use crate::certs::{Authority, Files, Identity};
use crate::servers::Absent;
use crate::servers::common::{certify, encoded, printed};
use crate::servers::keeper::Keeper;
use crate::servers::port::HeldPort;

/// From the start of the process to its first accepted connection: milliseconds here, seconds on a
/// machine that does much else.
const READY_WITHIN: Duration = Duration::from_secs(30);

/// What every server of the family prints when it listens on all that it was told to.
const READY: &str = "Ready to accept connections";

/// How a client reaches the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Transport {
    /// In clear over TCP.
    Tcp,
    /// TLS; the client verifies the server against [`RedisServer::authority`].
    Tls,
    /// TLS, and the client shows [`RedisServer::client_identity`].
    Mtls,
    /// A Unix domain socket.
    Unix,
}

impl Transport {
    /// All of them, for matrices.
    pub const ALL: [Self; 4] = [Self::Tcp, Self::Tls, Self::Mtls, Self::Unix];
}

/// A real server of its own, on ports and in a folder of its own; ended when dropped.
///
/// Methods panic where the server does not do what it should, with what it printed.
#[derive(Debug)]
pub struct RedisServer {
    running: Mutex<Option<Running>>,
    program: PathBuf,
    options: Options,
    plain: HeldPort,
    tls: HeldPort,
    authority: Authority,
    client: Identity,
    client_files: Files,
    dir: TempDir,
}

#[derive(Debug)]
struct Running {
    cli: Cli,
    keeper: Keeper,
}

impl RedisServer {
    /// Starts a server and waits until it answers.
    ///
    /// # Errors
    ///
    /// [`Absent`] where the program is not installed; [`need!`](crate::need) makes that a skip.
    ///
    /// # Panics
    ///
    /// When it does not start, with what it printed.
    pub fn start(options: Options) -> Result<Self, Absent> {
        let program = options.product.find()?;
        match Self::prepare(program, options) {
            Ok(server) => {
                server.restart();
                Ok(server)
            }
            Err(error) => panic!("prepare a Redis server: {error}"),
        }
    }

    /// The server with default options that the tests of this process share, for one that leaves the
    /// server as it is and writes under keys or in a database of its own.
    ///
    /// `Mtls` gives one that refuses clients without a certificate, the other transports give another.
    /// It runs while somebody holds it.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    ///
    /// # Panics
    ///
    /// As [`start`](Self::start).
    pub fn shared(product: Product, transport: Transport) -> Result<Arc<Self>, Absent> {
        shared::server(product, transport == Transport::Mtls)
    }

    /// Which implementation it is.
    #[must_use]
    pub fn product(&self) -> Product {
        self.options.product
    }

    /// Where it listens in clear.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.plain.addr()
    }

    /// Where it listens with TLS.
    #[must_use]
    pub fn tls_addr(&self) -> SocketAddr {
        self.tls.addr()
    }

    /// Its Unix socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.dir.join("s")
    }

    /// The URL for `transport`: `redis://127.0.0.1:PORT`, `rediss://127.0.0.1:PORT` or `unix:///PATH`,
    /// with the default user's password if there is one.
    #[must_use]
    pub fn url(&self, transport: Transport) -> String {
        match &self.options.password {
            Some(password) => self.url_as(transport, "", password),
            None => self.url_with(transport, "", ""),
        }
    }

    /// The URL for `transport` that authenticates as `user` with `password`; no user is the default one.
    ///
    /// For a Unix socket they are the query's `user` and `password`.
    #[must_use]
    pub fn url_as(&self, transport: Transport, user: &str, password: &str) -> String {
        let (user, password) = (encoded(user), encoded(password));
        let query = match user.as_str() {
            "" => format!("?password={password}"),
            user => format!("?user={user}&password={password}"),
        };
        self.url_with(transport, &format!("{user}:{password}@"), &query)
    }

    /// The authority that signed the server's certificate and the client's.
    #[must_use]
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// The authority's certificate as a file.
    #[must_use]
    pub fn authority_file(&self) -> PathBuf {
        self.dir.join("authority.pem")
    }

    /// What a client shows under mTLS.
    #[must_use]
    pub fn client_identity(&self) -> &Identity {
        &self.client
    }

    /// The client's certificate and key as files.
    #[must_use]
    pub fn client_files(&self) -> &Files {
        &self.client_files
    }

    /// The version that the server reports, such as `7.0.15`.
    ///
    /// # Panics
    ///
    /// As [`cli`](Self::cli).
    #[must_use]
    pub fn version(&self) -> String {
        let info = self.cli(&["INFO", "server"]).text();
        let version = |field| info.lines().find_map(|line| line.strip_prefix(field));
        // Valkey reports there which Redis it resembles, and its own version apart.
        let found = version("valkey_version:").or_else(|| version("redis_version:"));
        found.unwrap_or_default().to_owned()
    }

    /// Runs a command on the control connection, as the default user in database 0.
    ///
    /// The connection is one and the same for all calls; commands that change it or wait stay in force
    /// for the next. An error reply is an [`Answer`] too.
    ///
    /// # Panics
    ///
    /// When the server does not run, or does not answer within 30 s.
    pub fn cli(&self, command: &[impl AsRef<[u8]>]) -> Answer {
        let mut running = self.lock();
        let Some(Running { cli, keeper }) = running.as_mut() else {
            panic!("run {}: the server is stopped", name_of(command));
        };
        match cli.run(command) {
            Ok(answer) => answer,
            Err(error) => panic!("run {}: {error}; {}", name_of(command), printed(keeper)),
        }
    }

    /// What the server sees of its clients, without the control connection.
    ///
    /// # Panics
    ///
    /// As [`cli`](Self::cli).
    #[must_use]
    pub fn client_list(&self) -> Vec<ClientInfo> {
        let mut clients = ClientInfo::parse_list(&self.cli(&["CLIENT", "LIST"]).text());
        clients.retain(|client| client.name() != NAME);
        clients
    }

    /// Closes the connections of all clients but the control connection, and says how many.
    ///
    /// # Panics
    ///
    /// As [`cli`](Self::cli).
    pub fn kill_clients(&self) -> i64 {
        let kill = |kind| self.cli(&["CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes"]);
        kill("normal").integer() + kill("pubsub").integer()
    }

    /// Lets every command of every client wait, for this long from now; it cannot be ended earlier.
    ///
    /// # Panics
    ///
    /// As [`cli`](Self::cli).
    pub fn pause(&self, time: Duration) {
        let millis = time.as_millis().to_string();
        let answer = self.cli(&["CLIENT", "PAUSE", &millis, "ALL"]);
        assert_eq!(answer.text(), "OK", "pause the server");
    }

    /// Halts the process, so that its connections stay open and nothing answers, until
    /// [`thaw`](Self::thaw), a restart or the end.
    #[cfg(unix)]
    pub fn freeze(&self) {
        self.signal(libc::SIGSTOP);
    }

    /// Lets a halted process go on.
    #[cfg(unix)]
    pub fn thaw(&self) {
        self.signal(libc::SIGCONT);
    }

    /// Ends the process at once; its ports stay reserved, and refuse.
    pub fn stop(&self) {
        *self.lock() = None;
    }

    /// Ends the process if it runs, starts another on the same ports, empty, and waits until it answers.
    ///
    /// # Panics
    ///
    /// When it does not start, with what it printed.
    pub fn restart(&self) {
        let mut running = self.lock();
        // The ports are free before the next process wants them.
        *running = None;
        *running = Some(self.launch());
    }

    /// What the running process has printed.
    #[must_use]
    pub fn output(&self) -> String {
        self.lock()
            .as_ref()
            .map_or_else(String::new, |running| printed(&running.keeper))
    }

    fn prepare(program: PathBuf, options: Options) -> io::Result<Self> {
        let dir = TempDir::new("arknet-redis")?;
        let (plain, tls) = (HeldPort::take()?, HeldPort::take()?);
        let (authority, client, client_files) = certify(dir.path()).map_err(io::Error::other)?;
        let file = options.file(plain.addr(), tls.addr(), dir.path());
        std::fs::write(dir.join("redis.conf"), file)?;
        Ok(Self {
            running: Mutex::new(None),
            program,
            options,
            plain,
            tls,
            authority,
            client,
            client_files,
            dir,
        })
    }

    fn launch(&self) -> Running {
        let mut command = Command::new(&self.program);
        command
            .arg(self.dir.join("redis.conf"))
            .current_dir(self.dir.path());
        let keeper = match Keeper::spawn(command) {
            Ok(keeper) => keeper,
            Err(error) => panic!("{error}"),
        };
        let ready = keeper.peer().stdout().line_containing(READY, READY_WITHIN);
        let answering = ready.and_then(|_| {
            let password = self.options.password.as_deref();
            let mut cli = Cli::connect(self.addr(), password)?;
            cli.run(&["PING"])?;
            Ok(cli)
        });
        match answering {
            Ok(cli) => Running { cli, keeper },
            Err(error) => panic!(
                "start {}: {error}; {}",
                self.program.display(),
                printed(&keeper)
            ),
        }
    }

    fn url_with(&self, transport: Transport, authority: &str, query: &str) -> String {
        match transport {
            Transport::Tcp => format!("redis://{authority}{}", self.addr()),
            Transport::Tls | Transport::Mtls => format!("rediss://{authority}{}", self.tls_addr()),
            Transport::Unix => format!("unix://{}{query}", self.socket().display()),
        }
    }

    #[cfg(unix)]
    fn signal(&self, signal: libc::c_int) {
        let running = self.lock();
        let Some(running) = running.as_ref() else {
            panic!("signal the server: it is stopped");
        };
        if let Err(error) = running.keeper.signal(signal) {
            panic!("signal the server: {error}");
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The command's name: its arguments may be secret.
fn name_of(command: &[impl AsRef<[u8]>]) -> String {
    let name = command.first().map(AsRef::as_ref).unwrap_or_default();
    String::from_utf8_lossy(name).into_owned()
}
