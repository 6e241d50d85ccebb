//! Servers of our own, with their data in folders that go with them.

use std::env;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use arknet_proto::mysql::auth::Secret;
use arknet_proto::mysql::handshake::Config;
use arknet_testkit::TempDir;
use arknet_testkit::process::{Peer, which};
use arknet_testkit::servers::SERVERS_FOLDER;

use super::driver::Driver;

/// Starting takes a tenth of a second, or two thirds for MySQL, on an idle machine.
const READY_WITHIN: Duration = Duration::from_secs(40);

pub(crate) struct Server {
    address: SocketAddr,
    socket: PathBuf,
    _peer: Peer,
    _folder: TempDir,
}

/// A server's program, and what it needs to be told about where it lies.
struct Program {
    path: PathBuf,
    arguments: Vec<String>,
}

impl Server {
    /// MariaDB as the system has it. `None` where it is not installed.
    pub(crate) fn mariadb() -> Option<Self> {
        let (path, install) = (which("mariadbd")?, which("mariadb-install-db")?);
        let folder = folder();
        let arguments = vec!["--plugin-load-add=auth_ed25519".into()];
        let mut init = Command::new(install);
        init.args([
            "--no-defaults",
            "--user=root",
            "--auth-root-authentication-method=normal",
        ]);
        init.arg(data(&folder));
        run(init, "");
        Some(Self::start(&Program { path, arguments }, folder))
    }

    /// MariaDB 11.8, which has parsec. `None` where it has not been unpacked.
    pub(crate) fn mariadb_11() -> Option<Self> {
        let (path, root) = unpacked("mariadb", "mariadbd")?;
        let share = root.join("usr/share/mariadb");
        let mut arguments = located(&root, &share);
        let folder = folder();
        let mut init = Command::new(&path);
        init.args(["--no-defaults", "--user=root", "--bootstrap"])
            .args(&arguments)
            .arg(data(&folder));
        std::fs::create_dir(folder.join("data")).unwrap();
        run(init, &bootstrap(&share));
        arguments.extend(
            [
                "--plugin-load-add=auth_ed25519",
                "--plugin-load-add=auth_parsec",
            ]
            .map(String::from),
        );
        Some(Self::start(&Program { path, arguments }, folder))
    }

    /// MySQL 9. `None` where it has not been unpacked.
    pub(crate) fn mysql() -> Option<Self> {
        let (path, root) = unpacked("mysql", "mysqld")?;
        let mut arguments = located(&root, &root.join("usr/share/mysql"));
        let folder = folder();
        let mut init = Command::new(&path);
        init.args(["--no-defaults", "--user=root", "--initialize-insecure"])
            .args(&arguments)
            .arg(data(&folder));
        run(init, "");
        arguments.extend(
            [
                "--mysqlx=OFF",
                "--secure-file-priv=NULL",
                "--performance-schema=OFF",
            ]
            .map(String::from),
        );
        Some(Self::start(&Program { path, arguments }, folder))
    }

    fn start(program: &Program, folder: TempDir) -> Self {
        let (address, socket) = (free_address(), folder.join("s.sock"));
        let mut command = Command::new(&program.path);
        command.args([
            "--no-defaults",
            "--user=root",
            "--skip-log-bin",
            "--max-allowed-packet=64M",
        ]);
        command.args(["--local-infile=ON", "--innodb-buffer-pool-size=64M"]);
        // A row may take a tenth of the log.
        command.arg("--innodb-flush-log-at-trx-commit=0");
        command.args(&program.arguments).arg(data(&folder));
        command.arg(format!("--socket={}", socket.display()));
        command.arg(format!("--pid-file={}", folder.join("pid").display()));
        command.arg(format!("--bind-address={}", address.ip()));
        command.arg(format!("--port={}", address.port()));
        let peer = Peer::spawn(command).unwrap();
        peer.stderr()
            .line_containing("ready for connections", READY_WITHIN)
            .unwrap();
        Self {
            address,
            socket,
            _peer: peer,
            _folder: folder,
        }
    }

    pub(crate) fn stream(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        stream
    }

    pub(crate) fn unix_stream(&self) -> UnixStream {
        UnixStream::connect(&self.socket).unwrap()
    }

    /// A client of an administrator.
    pub(crate) fn connect(&self) -> Driver<TcpStream> {
        let mut config = root();
        config.database = None;
        let mut client = Driver::connect(self.stream(), config).unwrap();
        client.query("CREATE DATABASE IF NOT EXISTS test").unwrap();
        client.query("USE test").unwrap();
        client
    }
}

/// An administrator, who needs no password, in a schema for tests.
pub(crate) fn root() -> Config {
    let mut config = Config::new("root", random());
    config.database = Some("test".into());
    config
}

pub(crate) fn account(user: &str, password: &str) -> Config {
    let mut config = Config::new(user, random());
    config.passwords = vec![Secret::new(password)];
    config
}

/// Different every time, which is all that these tests need of it.
fn random() -> [u8; 32] {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let mut bytes = [7; 32];
    bytes[..4].copy_from_slice(&NEXT.fetch_add(1, Ordering::Relaxed).to_le_bytes());
    bytes
}

fn folder() -> TempDir {
    TempDir::new("arknet-mysql").unwrap()
}

fn data(folder: &TempDir) -> String {
    format!("--datadir={}", folder.join("data").display())
}

/// A server that was unpacked without being installed, and where its files are.
fn unpacked(name: &str, program: &str) -> Option<(PathBuf, PathBuf)> {
    let cache = || Some(PathBuf::from(env::var_os("HOME")?).join(".cache/arknet/servers"));
    let folder = env::var_os(SERVERS_FOLDER)
        .map(PathBuf::from)
        .or_else(cache)?
        .join(name);
    let path = which(folder.join(program))?;
    Some((path, folder.join("root")))
}

fn located(root: &Path, share: &Path) -> Vec<String> {
    vec![
        format!("--basedir={}", root.join("usr").display()),
        format!("--lc-messages-dir={}", share.display()),
        format!("--character-sets-dir={}", share.join("charsets").display()),
        format!(
            "--plugin-dir={}",
            root.join("usr/lib/mysql/plugin").display()
        ),
    ]
}

fn bootstrap(share: &Path) -> String {
    let mut sql = String::from(
        "create database if not exists mysql;\nuse mysql;\nset @auth_root_socket=NULL;\n",
    );
    for file in [
        "mariadb_system_tables.sql",
        "mariadb_performance_tables.sql",
        "mariadb_system_tables_data.sql",
        "fill_help_tables.sql",
        "mariadb_sys_schema.sql",
    ] {
        sql.push_str(&std::fs::read_to_string(share.join(file)).unwrap());
    }
    sql
}

fn run(mut command: Command, input: &str) {
    use std::io::Write;
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn free_address() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap()
}
