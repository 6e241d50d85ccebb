//! A loopback port for a server that must be told its number beforehand.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use socket2::{Domain, Socket, Type};

/// A free port, kept for whoever is told of it.
///
/// The socket is bound and does not listen: on Linux a server that sets `SO_REUSEADDR` may bind beside
/// it, and the system gives the port to nobody else, not even between a stop and a restart.
#[derive(Debug)]
pub(super) struct HeldPort {
    addr: SocketAddr,
    _hold: Option<Socket>,
}

impl HeldPort {
    pub(super) fn take() -> io::Result<Self> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        if cfg!(unix) {
            socket.set_reuse_address(true)?;
        }
        socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
        let addr = socket
            .local_addr()?
            .as_socket()
            .ok_or_else(|| io::Error::other("take a port: the socket has no IP address"))?;
        Ok(Self {
            addr,
            // Elsewhere the two could not share it, and the server must have it.
            _hold: cfg!(target_os = "linux").then_some(socket),
        })
    }

    pub(super) fn addr(&self) -> SocketAddr {
        self.addr
    }
}
