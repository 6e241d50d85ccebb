//! A client's socket, with TLS over it or without.

use std::io::{self, Read, Write};

use mio::event::Source;
use mio::net::TcpStream;
#[cfg(unix)]
use mio::net::UnixStream;
use mio::{Interest, Registry, Token};
use rustls::ServerConnection;

/// Plaintext that rustls may hold encrypted before the socket has taken it.
const TLS_BUFFER: usize = 256 * 1024;

#[derive(Debug)]
pub(super) enum Socket {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
}

/// What a read brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    Bytes,
    Nothing,
    End,
}

pub(super) struct Wire {
    socket: Socket,
    tls: Option<Box<ServerConnection>>,
    handshaking: bool,
}

impl Wire {
    pub(super) fn new(socket: Socket, tls: Option<ServerConnection>) -> Self {
        let tls = tls.map(|mut tls| {
            tls.set_buffer_limit(Some(TLS_BUFFER));
            Box::new(tls)
        });
        Self {
            socket,
            handshaking: tls.is_some(),
            tls,
        }
    }

    pub(super) fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        let both = Interest::READABLE | Interest::WRITABLE;
        match &mut self.socket {
            Socket::Tcp(stream) => stream.register(registry, token, both),
            #[cfg(unix)]
            Socket::Unix(stream) => stream.register(registry, token, both),
        }
    }

    /// Reads at most `room` bytes to the end of `into`.
    pub(super) fn read(&mut self, into: &mut Vec<u8>, room: usize) -> io::Result<Taken> {
        let start = into.len();
        into.resize(start + room, 0);
        let place = into.get_mut(start..).unwrap_or_default();
        let read = match &mut self.tls {
            None => self.socket.read(place),
            Some(tls) => read_tls(tls, &mut self.socket, place),
        };
        let len = *read.as_ref().unwrap_or(&0);
        into.truncate(start + len);
        match read {
            Ok(0) => Ok(Taken::End),
            Ok(_) => Ok(Taken::Bytes),
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(Taken::Nothing),
                _ => Err(error),
            },
        }
    }

    /// Writes what the socket takes of `bytes`; 0 when it takes nothing now.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match &mut self.tls {
            None if bytes.is_empty() => return Ok(0),
            None => self.socket.write(bytes),
            Some(tls) => {
                // Before the handshake's end it would hold it in clear.
                let taken = if tls.is_handshaking() {
                    Ok(0)
                } else {
                    tls.writer().write(bytes)
                };
                taken.and_then(|taken| {
                    write_tls(tls, &mut self.socket)?;
                    Ok(taken)
                })
            }
        };
        match written {
            Err(error) if is_pause(&error) => Ok(0),
            written => written,
        }
    }

    /// Whether all that was written has left for the system.
    pub(super) fn is_flushed(&self) -> bool {
        self.tls.as_ref().is_none_or(|tls| !tls.wants_write())
    }

    /// The name that the client called the server by, once, when the handshake has ended.
    pub(super) fn ended_handshake(&mut self) -> Option<Option<String>> {
        let tls = self.tls.as_ref()?;
        if !self.handshaking || tls.is_handshaking() {
            return None;
        }
        self.handshaking = false;
        Some(tls.server_name().map(str::to_owned))
    }

    /// Says farewell, as far as the socket takes it.
    pub(super) fn close(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
            // A client that reads no more does not hear it.
            let _ = write_tls(tls, &mut self.socket);
        }
    }

    /// Lets the system reset the connection when it is dropped.
    pub(super) fn reset(&mut self) {
        if let Socket::Tcp(stream) = &self.socket {
            let _ = socket2::SockRef::from(stream).set_linger(Some(std::time::Duration::ZERO));
        }
    }
}

impl std::fmt::Debug for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wire")
            .field("socket", &self.socket)
            .field("tls", &self.tls.is_some())
            .finish_non_exhaustive()
    }
}

fn is_pause(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

fn read_tls(tls: &mut ServerConnection, socket: &mut Socket, into: &mut [u8]) -> io::Result<usize> {
    loop {
        match tls.reader().read(into) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // A client that ends without a farewell has ended all the same.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
            read => return read,
        }
        tls.read_tls(socket)?;
        let processed = tls.process_new_packets();
        // The handshake's next flight, or an alert that says what is wrong.
        match write_tls(tls, socket) {
            Err(error) if !is_pause(&error) => return Err(error),
            _ => {}
        }
        processed.map_err(io::Error::other)?;
    }
}

fn write_tls(tls: &mut ServerConnection, socket: &mut Socket) -> io::Result<()> {
    while tls.wants_write() {
        match tls.write_tls(socket) {
            Ok(_) => {}
            Err(error) if is_pause(&error) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl Read for Socket {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(into),
            #[cfg(unix)]
            Self::Unix(stream) => stream.read(into),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            #[cfg(unix)]
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
