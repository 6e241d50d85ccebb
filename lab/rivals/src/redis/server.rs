//! A server of this run's own, until the testkit's launcher.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::Command;
use std::time::Duration;

use arknet_testkit::TempDir;
use arknet_testkit::process::Peer;

pub(crate) struct RedisServer {
    _peer: Peer,
    _dir: TempDir,
    address: SocketAddr,
}

impl RedisServer {
    pub(crate) fn start() -> io::Result<Self> {
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        let dir = TempDir::new("arknet-rivals")?;
        let mut command = Command::new("redis-server");
        command
            .args(["--bind", "127.0.0.1", "--save", "", "--port"])
            .arg(address.port().to_string())
            .current_dir(dir.path());
        let peer = Peer::spawn(command)?;
        peer.stdout()
            .line_containing("Ready to accept connections", Duration::from_secs(30))?;
        Ok(Self {
            _peer: peer,
            _dir: dir,
            address,
        })
    }

    pub(crate) fn addr(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn version(&self) -> &'static str {
        ""
    }
}
