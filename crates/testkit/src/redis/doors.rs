//! Where clients come in: TCP, TLS, and a Unix socket.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

#[cfg(unix)]
use mio::net::UnixListener;
use mio::{Interest, Registry, Token};
use rustls::{ServerConfig, ServerConnection};

use super::wire::{Socket, Wire};
use crate::proxy::port::Port;

const TCP: Token = Token(1);
const TLS: Token = Token(2);
#[cfg(unix)]
const UNIX: Token = Token(3);

/// A client that has come in.
pub(super) struct Guest {
    pub(super) wire: Wire,
    /// As CLIENT LIST shows them: the client's address and the server's.
    pub(super) addr: String,
    pub(super) local: String,
}

pub(super) struct Doors {
    tcp: Port,
    tls: Option<(Port, Arc<ServerConfig>)>,
    path: PathBuf,
    #[cfg(unix)]
    unix: Option<UnixListener>,
}

impl Doors {
    /// Takes the ports; nobody comes in before [`open`](Self::open). The Unix socket is at `path`.
    pub(super) fn new(path: PathBuf, tls: Option<Arc<ServerConfig>>) -> io::Result<Self> {
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let tls = match tls {
            Some(config) => Some((Port::take(any)?, config)),
            None => None,
        };
        Ok(Self {
            tcp: Port::take(any)?,
            tls,
            path,
            #[cfg(unix)]
            unix: None,
        })
    }

    pub(super) fn addr(&self) -> SocketAddr {
        self.tcp.addr()
    }

    pub(super) fn tls_addr(&self) -> Option<SocketAddr> {
        self.tls.as_ref().map(|(port, _)| port.addr())
    }

    pub(super) fn is_open(&self) -> bool {
        self.tcp.is_listening()
    }

    /// Lets clients in, if they were not.
    pub(super) fn open(&mut self, registry: &Registry) -> io::Result<()> {
        if self.is_open() {
            return Ok(());
        }
        listen(&mut self.tcp, registry, TCP)?;
        if let Some((port, _)) = &mut self.tls {
            listen(port, registry, TLS)?;
        }
        #[cfg(unix)]
        {
            // What an earlier listener has left.
            let _ = std::fs::remove_file(&self.path);
            let mut unix = UnixListener::bind(&self.path)?;
            registry.register(&mut unix, UNIX, Interest::READABLE)?;
            self.unix = Some(unix);
        }
        Ok(())
    }

    /// Refuses whoever comes, as if nobody listened.
    pub(super) fn shut(&mut self) {
        self.tcp.refuse();
        if let Some((port, _)) = &mut self.tls {
            port.refuse();
        }
        #[cfg(unix)]
        {
            self.unix = None;
            let _ = std::fs::remove_file(&self.path);
        }
    }

    /// The next client at any of the doors.
    pub(super) fn next(&self) -> io::Result<Option<Guest>> {
        if let Some(stream) = self.tcp.accept()? {
            return guest(stream, None).map(Some);
        }
        if let Some((port, config)) = &self.tls
            && let Some(stream) = port.accept()?
        {
            let tls = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
            return guest(stream, Some(tls)).map(Some);
        }
        self.next_on_unix()
    }

    #[cfg(unix)]
    fn next_on_unix(&self) -> io::Result<Option<Guest>> {
        let Some(listener) = &self.unix else {
            return Ok(None);
        };
        match listener.accept() {
            Ok((stream, _)) => Ok(Some(Guest {
                wire: Wire::new(Socket::Unix(stream), None),
                addr: format!("{}:0", self.path.display()),
                local: format!("{}:0", self.path.display()),
            })),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    #[cfg(not(unix))]
    fn next_on_unix(&self) -> io::Result<Option<Guest>> {
        Ok(None)
    }
}

fn listen(port: &mut Port, registry: &Registry, token: Token) -> io::Result<()> {
    port.listen(|listener| registry.register(listener, token, Interest::READABLE))
}

fn guest(stream: mio::net::TcpStream, tls: Option<ServerConnection>) -> io::Result<Guest> {
    stream.set_nodelay(true)?;
    Ok(Guest {
        addr: stream.peer_addr()?.to_string(),
        local: stream.local_addr()?.to_string(),
        wire: Wire::new(Socket::Tcp(stream), tls),
    })
}
