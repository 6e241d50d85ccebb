//! A port that is kept while connections to it are refused.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use mio::net::{TcpListener, TcpStream};
use socket2::{Domain, Socket, Type};

/// Connections that the system completes before the proxy accepts them. A test that opens more at
/// once waits for the proxy's thread.
const BACKLOG: i32 = 1024;

pub(crate) struct Port {
    addr: SocketAddr,
    listener: Option<TcpListener>,
    /// A second socket, bound but not listening, so that nobody else is given the port while the
    /// listener is closed. Only Linux lets the two share it.
    _hold: Option<Socket>,
}

impl Port {
    /// Takes a free port on the loopback address of `like`'s family.
    pub(crate) fn take(like: SocketAddr) -> io::Result<Self> {
        let ip: IpAddr = match like {
            SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        };
        let any = SocketAddr::new(ip, 0);
        if cfg!(target_os = "linux") {
            let hold = bound(any)?;
            let addr = local_addr(&hold)?;
            return Ok(Self {
                addr,
                listener: None,
                _hold: Some(hold),
            });
        }
        let listener = TcpListener::bind(any)?;
        Ok(Self {
            addr: listener.local_addr()?,
            listener: Some(listener),
            _hold: None,
        })
    }

    pub(crate) fn addr(&self) -> SocketAddr {
        self.addr
    }

    pub(crate) fn is_listening(&self) -> bool {
        self.listener.is_some()
    }

    /// Begins to listen, if it does not yet, and lets `register` have the listener.
    pub(crate) fn listen(
        &mut self,
        register: impl FnOnce(&mut TcpListener) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut listener = match self.listener.take() {
            Some(listener) => listener,
            None => listener(self.addr)?,
        };
        register(&mut listener)?;
        self.listener = Some(listener);
        Ok(())
    }

    /// Stops to listen: the system refuses whoever connects, and resets whoever waits.
    pub(crate) fn refuse(&mut self) {
        self.listener = None;
    }

    /// The next connection, or none when there is none.
    pub(crate) fn accept(&self) -> io::Result<Option<TcpStream>> {
        let Some(listener) = &self.listener else {
            return Ok(None);
        };
        match listener.accept() {
            Ok((stream, _)) => Ok(Some(stream)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn listener(addr: SocketAddr) -> io::Result<TcpListener> {
    let socket = bound(addr)?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(TcpListener::from_std(socket.into()))
}

fn bound(addr: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(addr), Type::STREAM, None)?;
    // On Windows the option would let others steal the port.
    if cfg!(unix) {
        socket.set_reuse_address(true)?;
    }
    socket.bind(&addr.into())?;
    Ok(socket)
}

fn local_addr(socket: &Socket) -> io::Result<SocketAddr> {
    socket
        .local_addr()?
        .as_socket()
        .ok_or_else(|| io::Error::other("socket has no IP address"))
}
