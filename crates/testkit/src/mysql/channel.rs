//! A client's socket, with TLS over it from some moment on or without.

use std::io::{self, Read, Write};
use std::net::TcpStream;
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use arknet_proto::mysql::packet::HEADER;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::control::Line;

/// One read.
const READ_BYTES: usize = 64 * 1024;

/// A login has small packets; one that announces more than this is none.
const MAX_LOGIN_PACKET: usize = 64 * 1024;

#[derive(Debug)]
pub(super) enum Socket {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
}

pub(super) enum Channel {
    Clear(Socket),
    Tls(Box<StreamOwned<ServerConnection, Socket>>),
}

impl Socket {
    /// Another handle of the same socket.
    pub(super) fn line(&self) -> io::Result<Line> {
        Ok(match self {
            Self::Tcp(stream) => Line::Tcp(stream.try_clone()?),
            #[cfg(unix)]
            Self::Unix(stream) => Line::Unix(stream.try_clone()?),
        })
    }

    pub(super) fn is_local(&self) -> bool {
        !matches!(self, Self::Tcp(_))
    }
}

impl Channel {
    /// From now on everything is encrypted. Nothing of what the client sends may have been read ahead.
    pub(super) fn start_tls(self, config: Arc<ServerConfig>) -> io::Result<Self> {
        let Self::Clear(socket) = self else {
            return Err(io::Error::other("begin TLS: it has begun"));
        };
        let tls = ServerConnection::new(config).map_err(io::Error::other)?;
        Ok(Self::Tls(Box::new(StreamOwned::new(tls, socket))))
    }

    /// Reads one packet with its header to the end of `into`, and not a byte more. False at the end.
    pub(super) fn read_packet(&mut self, into: &mut Vec<u8>) -> io::Result<bool> {
        let mut header = [0; HEADER];
        match self.read_exact(&mut header) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            read => read?,
        }
        let [low, middle, high, _] = header;
        let len = u32::from_le_bytes([low, middle, high, 0]) as usize;
        if len > MAX_LOGIN_PACKET {
            return Err(io::Error::other("read login: its packet is too large"));
        }
        into.extend_from_slice(&header);
        let start = into.len();
        into.resize(start + len, 0);
        self.read_exact(into.get_mut(start..).unwrap_or_default())?;
        Ok(true)
    }

    /// Reads what there is to the end of `into`. False at the end of the stream.
    pub(super) fn fill(&mut self, into: &mut Vec<u8>) -> io::Result<bool> {
        let start = into.len();
        into.resize(start + READ_BYTES, 0);
        let read = self.read(into.get_mut(start..).unwrap_or_default());
        into.truncate(start + *read.as_ref().unwrap_or(&0));
        match read {
            // A client that ends without TLS's farewell has ended all the same.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            read => read.map(|len| len > 0),
        }
    }

    pub(super) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Clear(socket) => socket.write_all(bytes),
            Self::Tls(tls) => {
                tls.write_all(bytes)?;
                tls.flush()
            }
        }
    }

    /// Says farewell.
    pub(super) fn close(&mut self) {
        if let Self::Tls(tls) = self {
            tls.conn.send_close_notify();
            // A client that reads no more does not hear it.
            let _ = tls.flush();
        }
    }
}

impl Read for Channel {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Clear(socket) => socket.read(into),
            Self::Tls(tls) => tls.read(into),
        }
    }
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
