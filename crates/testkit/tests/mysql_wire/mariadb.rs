//! A MariaDB of our own, with its data in a folder that goes with it.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use arknet_proto::mysql::auth::Secret;
use arknet_proto::mysql::handshake::Config;
use arknet_testkit::TempDir;
use arknet_testkit::process::{Peer, which};

use super::driver::Driver;

/// Starting takes a tenth of a second on an idle machine.
const READY_WITHIN: Duration = Duration::from_secs(20);

pub(crate) struct MariaDb {
    address: SocketAddr,
    _peer: Peer,
    _folder: TempDir,
}

impl MariaDb {
    /// `None` where MariaDB is not installed.
    pub(crate) fn start() -> Option<Self> {
        let (server, install) = (which("mariadbd")?, which("mariadb-install-db")?);
        let folder = TempDir::new("arknet-maria").unwrap();
        let data = folder.join("data");
        init(&install, &data);
        let address = free_address();
        let mut command = Command::new(server);
        command.args([
            "--no-defaults",
            "--user=root",
            "--skip-log-bin",
            "--max-allowed-packet=64M",
        ]);
        command.arg("--plugin-load-add=auth_ed25519");
        command.arg("--local-infile=ON");
        command.arg("--innodb-buffer-pool-size=64M");
        command.arg("--innodb-log-file-size=192M");
        command.arg("--innodb-flush-log-at-trx-commit=0");
        command.arg(format!("--datadir={}", data.display()));
        command.arg(format!("--socket={}", folder.join("s.sock").display()));
        command.arg(format!("--pid-file={}", folder.join("pid").display()));
        command.arg(format!("--bind-address={}", address.ip()));
        command.arg(format!("--port={}", address.port()));
        let peer = Peer::spawn(command).unwrap();
        let this = Self {
            address,
            _peer: peer,
            _folder: folder,
        };
        this.wait();
        Some(this)
    }

    fn wait(&self) {
        let deadline = Instant::now() + READY_WITHIN;
        while TcpStream::connect(self.address).is_err() {
            assert!(
                Instant::now() < deadline,
                "mariadbd is not ready after {READY_WITHIN:?}"
            );
            std::thread::yield_now();
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

    /// A client of an administrator.
    pub(crate) fn connect(&self) -> Driver<TcpStream> {
        Driver::connect(self.stream(), root()).unwrap()
    }
}

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

fn init(install: &Path, data: &Path) {
    let output = Command::new(install)
        .args([
            "--no-defaults",
            "--user=root",
            "--auth-root-authentication-method=normal",
        ])
        .arg(format!("--datadir={}", data.display()))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}

fn free_address() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap()
}
