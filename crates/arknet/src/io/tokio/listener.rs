//! Listening stream sockets.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::task::{Context, Poll};

use socket2::{Domain, Protocol, Type};
use tokio::net::TcpListener;
#[cfg(unix)]
use tokio::net::UnixListener;

use super::socket::{PeerAddress, Socket};

/// A bound socket that is not yet registered with a runtime.
#[derive(Debug)]
pub(crate) enum Bound {
    Tcp(std::net::TcpListener),
    #[cfg(unix)]
    Unix(std::os::unix::net::UnixListener, PathBuf),
}

/// A listening socket, registered with the runtime that it was made in.
#[derive(Debug)]
pub(crate) enum Listener {
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix(
        UnixListener,
        #[expect(dead_code, reason = "removes the file when dropped")] SocketFile,
    ),
}

/// An accepted socket, on its way to the lane that will own it.
#[derive(Debug)]
pub(crate) enum Accepted {
    Tcp(std::net::TcpStream),
    #[cfg(unix)]
    Unix(std::os::unix::net::UnixStream),
}

/// The file of a Unix domain socket, removed with its listener.
#[derive(Debug)]
pub(crate) struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        // Somebody else may have removed it before; there is nobody to tell.
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Bound {
    /// Binds a TCP socket. `v6_only` is set on IPv6 sockets, whatever the system's default is.
    pub(crate) fn tcp(address: SocketAddr, backlog: i32, v6_only: bool) -> io::Result<Self> {
        let socket = socket2::Socket::new(
            Domain::for_address(address),
            Type::STREAM,
            Some(Protocol::TCP),
        )?;
        if address.is_ipv6() {
            socket.set_only_v6(v6_only)?;
        }
        // Without it a restarted server waits for the last one's connections to leave TIME_WAIT.
        #[cfg(unix)]
        socket.set_reuse_address(true)?;
        socket.set_nonblocking(true)?;
        socket.bind(&address.into())?;
        socket.listen(backlog)?;
        Ok(Self::Tcp(socket.into()))
    }

    /// Binds a Unix domain socket. A file left behind by a process that is gone is replaced; one that is in use is not.
    #[cfg(unix)]
    pub(crate) fn unix(path: &Path) -> io::Result<Self> {
        use std::os::unix::fs::FileTypeExt;
        use std::os::unix::net::{UnixListener, UnixStream};
        // Connecting to any other file is refused as well, and it is not ours to remove.
        let is_socket =
            || std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket());
        let listener = match UnixListener::bind(path) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_socket() => {
                match UnixStream::connect(path) {
                    Err(refused) if refused.kind() == io::ErrorKind::ConnectionRefused => {
                        std::fs::remove_file(path)?;
                        UnixListener::bind(path)?
                    }
                    _ => return Err(error),
                }
            }
            bound => bound?,
        };
        listener.set_nonblocking(true)?;
        Ok(Self::Unix(listener, path.to_owned()))
    }

    /// The bound address, with the port that the system chose.
    pub(crate) fn local_address(&self) -> io::Result<PeerAddress> {
        match self {
            Self::Tcp(listener) => listener.local_addr().map(PeerAddress::Ip),
            #[cfg(unix)]
            Self::Unix(_, path) => Ok(PeerAddress::Unix(Some(path.clone()))),
        }
    }

    /// Registers the socket with the runtime that the caller runs in.
    pub(crate) fn listen(self) -> io::Result<Listener> {
        match self {
            Self::Tcp(listener) => Ok(Listener::Tcp(TcpListener::from_std(listener)?)),
            #[cfg(unix)]
            Self::Unix(listener, path) => Ok(Listener::Unix(
                UnixListener::from_std(listener)?,
                SocketFile(path),
            )),
        }
    }
}

impl Listener {
    /// The next connection. It is not registered with a runtime yet, so that another lane can take it.
    pub(crate) fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<Accepted>> {
        match self {
            Self::Tcp(listener) => {
                let accepted = std::task::ready!(listener.poll_accept(cx));
                Poll::Ready(
                    accepted
                        .and_then(|(stream, _)| stream.into_std())
                        .map(Accepted::Tcp),
                )
            }
            #[cfg(unix)]
            Self::Unix(listener, _) => {
                let accepted = std::task::ready!(listener.poll_accept(cx));
                Poll::Ready(
                    accepted
                        .and_then(|(stream, _)| stream.into_std())
                        .map(Accepted::Unix),
                )
            }
        }
    }
}

impl Accepted {
    /// Registers the socket with the runtime that the caller runs in.
    pub(crate) fn register(self) -> io::Result<Socket> {
        match self {
            Self::Tcp(stream) => Socket::tcp(stream),
            #[cfg(unix)]
            Self::Unix(stream) => Socket::unix(stream),
        }
    }
}
