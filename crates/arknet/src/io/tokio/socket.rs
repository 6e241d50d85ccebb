//! Connected stream sockets: TCP, and Unix domain sockets where there are any.

use std::fmt;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::BytesMut;
use socket2::{SockAddr, SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, Interest};
use tokio::net::TcpStream;
#[cfg(unix)]
use tokio::net::UnixStream;

use crate::io::Stream;
#[cfg(target_os = "linux")]
use crate::io::direct::DirectSocket;

/// The address of one end of a stream.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum PeerAddress {
    /// An IP address and a port.
    Ip(SocketAddr),
    /// A Unix domain socket; `None` for one without a name, as clients have.
    Unix(Option<PathBuf>),
}

impl PeerAddress {
    /// The IP address and port, if it is one.
    pub fn ip(&self) -> Option<SocketAddr> {
        match self {
            Self::Ip(address) => Some(*address),
            Self::Unix(_) => None,
        }
    }
}

impl fmt::Display for PeerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(address) => address.fmt(f),
            Self::Unix(Some(path)) => write!(f, "unix:{}", path.display()),
            Self::Unix(None) => f.write_str("unix:(unnamed)"),
        }
    }
}

/// The options of a TCP socket.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct TcpOptions {
    pub(crate) no_delay: bool,
    pub(crate) keepalive: Option<Keepalive>,
    pub(crate) send_buffer: Option<usize>,
    pub(crate) receive_buffer: Option<usize>,
}

/// When the kernel asks a silent peer whether it is still there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Keepalive {
    pub(crate) idle: Duration,
    pub(crate) interval: Duration,
    pub(crate) probes: u32,
}

/// A connected stream socket, registered with the runtime that it was made in.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
    /// Of a lane that polls its own sockets.
    #[cfg(target_os = "linux")]
    Direct(DirectSocket),
}

impl Socket {
    /// Registers an accepted or connected TCP socket with the lane or the runtime that the caller runs in.
    pub(crate) fn tcp(stream: std::net::TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        #[cfg(target_os = "linux")]
        let stream = match DirectSocket::adopt(stream.into()) {
            Ok(adopted) => return adopted.map(Self::Direct),
            Err(stream) => stream.into(),
        };
        Ok(Self::Tcp(TcpStream::from_std(stream)?))
    }

    /// Registers a Unix domain socket with the lane or the runtime that the caller runs in.
    #[cfg(unix)]
    pub(crate) fn unix(stream: std::os::unix::net::UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        #[cfg(target_os = "linux")]
        let stream = match DirectSocket::adopt(stream.into()) {
            Ok(adopted) => return adopted.map(Self::Direct),
            Err(stream) => stream.into(),
        };
        Ok(Self::Unix(UnixStream::from_std(stream)?))
    }

    fn as_ref(&self) -> SockRef<'_> {
        match self {
            Self::Tcp(stream) => SockRef::from(stream),
            #[cfg(unix)]
            Self::Unix(stream) => SockRef::from(stream),
            #[cfg(target_os = "linux")]
            Self::Direct(socket) => socket.options(),
        }
    }

    /// Whether there may be something to read that only the task was woken for, and not the waker that asked for it.
    #[inline]
    pub(crate) fn may_read_unannounced(&self) -> bool {
        match self {
            Self::Tcp(_) => false,
            #[cfg(unix)]
            Self::Unix(_) => false,
            #[cfg(target_os = "linux")]
            Self::Direct(socket) => socket.may_read(),
        }
    }

    /// Whether a read may find something, by what the reactor has said so far: no system call, and nobody is woken later.
    #[inline]
    pub(crate) fn is_readable(&self) -> bool {
        match self {
            Self::Tcp(stream) => stream.try_io(Interest::READABLE, || Ok(())).is_ok(),
            #[cfg(unix)]
            Self::Unix(stream) => stream.try_io(Interest::READABLE, || Ok(())).is_ok(),
            #[cfg(target_os = "linux")]
            Self::Direct(socket) => socket.may_read(),
        }
    }

    /// Asks the system, without waiting, whether the connection is as it should be while nothing is expected on it: open,
    /// and nothing to be read.
    pub(crate) fn is_quiet(&self) -> bool {
        let mut byte = [MaybeUninit::uninit()];
        let peeked = self.as_ref().peek(&mut byte);
        peeked.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Sets the options; a Unix domain socket has only the buffers.
    pub(crate) fn configure(&self, options: &TcpOptions) -> io::Result<()> {
        let socket = self.as_ref();
        if socket.local_addr()?.as_socket().is_some() {
            socket.set_tcp_nodelay(options.no_delay)?;
            if let Some(keepalive) = options.keepalive {
                let parameters = TcpKeepalive::new()
                    .with_time(keepalive.idle)
                    .with_interval(keepalive.interval)
                    .with_retries(keepalive.probes);
                socket.set_tcp_keepalive(&parameters)?;
            }
        }
        if let Some(bytes) = options.send_buffer {
            socket.set_send_buffer_size(bytes)?;
        }
        if let Some(bytes) = options.receive_buffer {
            socket.set_recv_buffer_size(bytes)?;
        }
        Ok(())
    }

    /// The address of this end.
    pub(crate) fn local_address(&self) -> io::Result<PeerAddress> {
        Ok(address(&self.as_ref().local_addr()?))
    }

    /// The address of the other end.
    pub(crate) fn peer_address(&self) -> io::Result<PeerAddress> {
        Ok(address(&self.as_ref().peer_addr()?))
    }

    /// Makes the drop of the socket cut the connection at once, so that the peer learns that data was lost.
    pub(crate) fn cut_on_drop(&self) {
        // A socket that cannot be told is closed by the kernel all the same, only more gently. On a Unix domain socket
        // it says nothing.
        let _ = self.as_ref().set_linger(Some(Duration::ZERO));
    }
}

fn address(address: &SockAddr) -> PeerAddress {
    match address.as_socket() {
        Some(address) => PeerAddress::Ip(address),
        None => PeerAddress::Unix(address.as_pathname().map(PathBuf::from)),
    }
}

impl Stream for Socket {
    #[inline]
    fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut BytesMut,
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Tcp(stream) => poll_read(stream, cx, into),
            #[cfg(unix)]
            Self::Unix(stream) => poll_read(stream, cx, into),
            #[cfg(target_os = "linux")]
            Self::Direct(socket) => socket.poll_receive(cx, into),
        }
    }

    #[inline]
    fn poll_send(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            #[cfg(unix)]
            Self::Unix(stream) => Pin::new(stream).poll_write(cx, bytes),
            #[cfg(target_os = "linux")]
            Self::Direct(socket) => socket.poll_send(cx, bytes),
        }
    }

    fn poll_send_vectored(
        &mut self,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Tcp(stream) => Pin::new(stream).poll_write_vectored(cx, pieces),
            #[cfg(unix)]
            Self::Unix(stream) => Pin::new(stream).poll_write_vectored(cx, pieces),
            #[cfg(target_os = "linux")]
            Self::Direct(socket) => socket.poll_send_vectored(cx, pieces),
        }
    }

    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            #[cfg(unix)]
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
            #[cfg(target_os = "linux")]
            Self::Direct(socket) => socket.poll_end(cx),
        }
    }
}

#[inline]
fn poll_read<S: AsyncRead + Unpin>(
    stream: &mut S,
    cx: &mut Context<'_>,
    into: &mut BytesMut,
) -> Poll<io::Result<usize>> {
    // The future lives for this call only; it is the safe way to read into spare capacity.
    pin!(stream.read_buf(into)).poll(cx)
}
