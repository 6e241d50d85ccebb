//! A running server and what a test may ask of it.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::cli::Cli;
use super::product::{Program, argument};
use super::{Account, Options, Process, Product, SqlError, Table, shared, template};
use crate::TempDir;
use crate::certs::{Authority, Files, Identity};
use crate::servers::Absent;
use crate::servers::common::{certify, encoded, printed};
use crate::servers::keeper::Keeper;
use crate::servers::port::HeldPort;

/// From the start of the process to its first accepted connection: a second here, many on a machine
/// that does much else.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// What every server of the family prints when it listens on all that it was told to.
const READY: &str = "ready for connections";

/// A real server of its own, on a port and in a folder of its own; ended when dropped.
///
/// Methods panic where the server does not do what it should, with what it printed.
#[derive(Debug)]
pub struct MySqlServer {
    running: Mutex<Option<Running>>,
    program: Program,
    options: Options,
    port: HeldPort,
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

impl MySqlServer {
    /// Starts a server and waits until it answers.
    ///
    /// # Errors
    ///
    /// [`Absent`] where the program is not there; [`need!`](crate::need) makes that a skip.
    ///
    /// # Panics
    ///
    /// When it does not start, with what it printed.
    pub fn start(options: Options) -> Result<Self, Absent> {
        let program = options.product.program()?;
        match Self::prepare(program, options) {
            Ok(server) => {
                server.restart();
                Ok(server)
            }
            Err(error) => panic!("prepare a MySQL server: {error}"),
        }
    }

    /// The server with default options that the tests of this process share, for one that leaves the
    /// server as it is and writes in tables or a schema of its own.
    ///
    /// It runs while somebody holds it.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    ///
    /// # Panics
    ///
    /// As [`start`](Self::start).
    pub fn shared(product: Product) -> Result<Arc<Self>, Absent> {
        shared::server(product)
    }

    /// Which implementation it is.
    #[must_use]
    pub fn product(&self) -> Product {
        self.options.product
    }

    /// Where it listens, in clear and with TLS.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.port.addr()
    }

    /// Its Unix socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.dir.join("s")
    }

    /// `mysql://USER:PASSWORD@127.0.0.1:PORT/test`, for this account by TCP; what is said of TLS is
    /// the client's to add.
    #[must_use]
    pub fn url(&self, account: Account) -> String {
        let (user, password) = (encoded(account.user), encoded(account.password));
        format!("mysql://{user}:{password}@{}/test", self.addr())
    }

    /// The authority that signed the server's certificate and the client's.
    ///
    /// The server's is good for `localhost`, `db.test`, `127.0.0.1` and `::1`.
    #[must_use]
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// The authority's certificate as a file.
    #[must_use]
    pub fn authority_file(&self) -> PathBuf {
        self.dir.join("authority.pem")
    }

    /// What a client shows where its certificate is demanded.
    #[must_use]
    pub fn client_identity(&self) -> &Identity {
        &self.client
    }

    /// The client's certificate and key as files.
    #[must_use]
    pub fn client_files(&self) -> &Files {
        &self.client_files
    }

    /// The public key, in PEM, under which MySQL takes passwords in clear; none on MariaDB.
    ///
    /// # Panics
    ///
    /// As [`sql`](Self::sql).
    #[must_use]
    pub fn public_key(&self) -> Option<String> {
        let table = self.sql("SHOW STATUS LIKE 'Caching_sha2_password_rsa_public_key'");
        table.cell(0, 1).map(str::to_owned)
    }

    /// Lets MySQL forget which passwords it has seen, so that the next login of each account has to
    /// show its own in full. MariaDB remembers none.
    ///
    /// # Panics
    ///
    /// As [`sql`](Self::sql).
    pub fn forget_passwords(&self) {
        self.sql("FLUSH PRIVILEGES");
    }

    /// The version that the server reports, such as `10.11.14-MariaDB`.
    ///
    /// # Panics
    ///
    /// As [`sql`](Self::sql).
    #[must_use]
    pub fn version(&self) -> String {
        let table = self.sql("SELECT VERSION()");
        table.cell(0, 0).unwrap_or_default().to_owned()
    }

    /// Runs a statement on the control connection, as root, in no schema.
    ///
    /// The connection is one and the same for all calls, so that what a statement leaves behind is
    /// there for the next.
    ///
    /// # Panics
    ///
    /// When the server replies with an error, does not run, or does not answer within 30 s.
    #[track_caller]
    pub fn sql(&self, statement: &str) -> Table {
        match self.try_sql(statement) {
            Ok(table) => table,
            Err(error) => panic!("run {statement}: {error}"),
        }
    }

    /// As [`sql`](Self::sql), with the server's error as a result.
    ///
    /// # Errors
    ///
    /// What the server replied.
    ///
    /// # Panics
    ///
    /// When it does not run, or does not answer within 30 s.
    #[track_caller]
    pub fn try_sql(&self, statement: &str) -> Result<Table, SqlError> {
        let mut running = self.lock();
        let Some(Running { cli, keeper }) = running.as_mut() else {
            panic!("run {statement}: the server is stopped");
        };
        match cli.run(statement) {
            Ok(answer) => answer,
            Err(error) => panic!("run {statement}: {error}; {}", printed(keeper)),
        }
    }

    /// What the server sees of its clients, without the control connection.
    ///
    /// # Panics
    ///
    /// As [`sql`](Self::sql).
    #[must_use]
    pub fn processes(&self) -> Vec<Process> {
        let own = self.lock().as_ref().map_or(0, |running| running.cli.id());
        Process::list(&self.sql("SHOW FULL PROCESSLIST"), own)
    }

    /// Closes the connections of all clients but the control connection, and says how many.
    ///
    /// # Panics
    ///
    /// As [`sql`](Self::sql).
    pub fn kill_clients(&self) -> usize {
        let processes = self.processes();
        let killed = processes.iter().filter(|process| {
            // One that has gone by itself is not there to be killed.
            self.try_sql(&format!("KILL {}", process.id)).is_ok()
        });
        killed.count()
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

    /// Ends the process at once, as a crash would; its port stays reserved, and refuses.
    pub fn stop(&self) {
        *self.lock() = None;
    }

    /// Ends the process if it runs, starts another on the same port and the same data, and waits until
    /// it answers. What was committed is there.
    ///
    /// # Panics
    ///
    /// When it does not start, with what it printed.
    pub fn restart(&self) {
        let mut running = self.lock();
        // Port and data are free before the next process wants them.
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

    fn prepare(program: Program, options: Options) -> io::Result<Self> {
        let dir = TempDir::new("arknet-mysql")?;
        let port = HeldPort::take()?;
        let (authority, client, client_files) = certify(dir.path()).map_err(io::Error::other)?;
        template::copy_to(&dir.join("data"), options.product, &program)?;
        Ok(Self {
            running: Mutex::new(None),
            program,
            options,
            port,
            authority,
            client,
            client_files,
            dir,
        })
    }

    fn launch(&self) -> Running {
        let keeper = match Keeper::spawn(self.command()) {
            Ok(keeper) => keeper,
            Err(error) => panic!("{error}"),
        };
        let ready = keeper.peer().stderr().line_containing(READY, READY_WITHIN);
        match ready.and_then(|_| Cli::connect(self.addr())) {
            Ok(cli) => Running { cli, keeper },
            Err(error) => panic!(
                "start {}: {error}; {}",
                self.program.path.display(),
                printed(&keeper)
            ),
        }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program.path);
        // Before all others, or it is none.
        command.arg("--no-defaults");
        command.args(&self.program.places);
        command.args(self.product().arguments());
        command.args([
            argument("datadir", &self.dir.join("data")),
            argument("socket", &self.socket()),
            argument("pid-file", &self.dir.join("pid")),
            format!("--bind-address={}", self.addr().ip()),
            format!("--port={}", self.addr().port()),
        ]);
        command.args(self.options.arguments(self.dir.path()));
        command.current_dir(self.dir.path());
        command
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
