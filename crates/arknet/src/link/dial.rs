//! Making a connection: names, families, and the first address that answers.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::net::TcpStream;
#[cfg(unix)]
use tokio::net::UnixStream;

use super::{Address, Transport};
#[cfg(feature = "tls")]
use crate::io::tokio::PeerAddress;
use crate::io::tokio::{Socket, TcpOptions};

/// How long an attempt has before the next address is tried beside it (RFC 8305, section 5).
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

/// Addresses of a name that are tried. A name with more is a mistake, or an attack.
const ADDRESSES: usize = 32;

/// Who will use the socket.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Place {
    /// The task that dials, for as long as the connection lives: a lane may poll the socket by itself.
    Here,
    /// Whichever task holds the connection, on any thread.
    Anywhere,
}

/// Knows where to connect, and how.
#[derive(Clone, Debug)]
pub(crate) struct Dialer {
    pub(crate) address: Address,
    pub(crate) options: TcpOptions,
    pub(crate) place: Place,
    /// The configuration of TLS, and the name that the server is to have.
    #[cfg(feature = "tls")]
    pub(crate) tls: Option<(crate::tls::ClientConfig, String)>,
}

/// Why there is no connection.
#[derive(Debug)]
pub(crate) enum DialError {
    /// The name has no address.
    Resolve { host: String, source: io::Error },
    /// None of the addresses answered; the error is the last one's.
    Connect(io::Error),
    /// The configuration of TLS does not fit the server's name.
    #[cfg(feature = "tls")]
    Tls {
        peer: Option<PeerAddress>,
        source: crate::tls::Error,
    },
}

impl Dialer {
    /// Connects, from the resolution of the name to the last thing before a handshake. There is no deadline: the caller
    /// has one, and drops this future.
    pub(crate) async fn dial(&self) -> Result<Transport, DialError> {
        let socket = match &self.address {
            Address::Ip(address) => self.adopt(TcpStream::connect(address).await),
            Address::Name(host, port) => self.adopt(race(resolve(host, *port).await?).await),
            #[cfg(unix)]
            Address::Unix(path) => self.adopt_unix(UnixStream::connect(path).await),
            #[cfg(not(unix))]
            Address::Unix(_) => Err(io::ErrorKind::Unsupported.into()),
        };
        let socket = socket.map_err(DialError::Connect)?;
        socket
            .configure(&self.options)
            .map_err(DialError::Connect)?;
        self.secure(socket)
    }

    /// Hands a connected socket to who will use it.
    fn adopt(&self, connected: io::Result<TcpStream>) -> io::Result<Socket> {
        match self.place {
            Place::Here => connected
                .and_then(TcpStream::into_std)
                .and_then(Socket::tcp),
            Place::Anywhere => connected.map(Socket::Tcp),
        }
    }

    #[cfg(unix)]
    fn adopt_unix(&self, connected: io::Result<UnixStream>) -> io::Result<Socket> {
        match self.place {
            Place::Here => connected
                .and_then(UnixStream::into_std)
                .and_then(Socket::unix),
            Place::Anywhere => connected.map(Socket::Unix),
        }
    }

    fn secure(&self, socket: Socket) -> Result<Transport, DialError> {
        #[cfg(feature = "tls")]
        if let Some((tls, host)) = &self.tls {
            let pump = crate::tls::Pump::client(tls, host).map_err(|source| DialError::Tls {
                peer: socket.peer_address().ok(),
                source,
            })?;
            return Ok(Transport::Secure(Box::new(super::Secure::new(
                socket, pump,
            ))));
        }
        Ok(Transport::Plain(socket))
    }
}

async fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, DialError> {
    let failed = |source| DialError::Resolve {
        host: host.to_owned(),
        source,
    };
    let addresses = tokio::net::lookup_host((host, port))
        .await
        .map_err(failed)?;
    let addresses = alternate(addresses.take(ADDRESSES));
    if addresses.is_empty() {
        return Err(failed(io::Error::new(
            io::ErrorKind::NotFound,
            "the name has no address",
        )));
    }
    Ok(addresses)
}

/// The families in turn, beginning with that of the first address (RFC 8305, section 4).
fn alternate(addresses: impl Iterator<Item = SocketAddr>) -> Vec<SocketAddr> {
    let (mut first, mut second) = (VecDeque::<SocketAddr>::new(), VecDeque::new());
    for address in addresses {
        let same = first
            .front()
            .is_none_or(|one| one.is_ipv4() == address.is_ipv4());
        if same {
            first.push_back(address);
        } else {
            second.push_back(address);
        }
    }
    let mut ordered = Vec::with_capacity(first.len() + second.len());
    while !first.is_empty() || !second.is_empty() {
        ordered.extend(first.pop_front());
        ordered.extend(second.pop_front());
    }
    ordered
}

/// Connects to the first address that answers: the next is tried when one fails, or has not answered for a while.
async fn race(addresses: Vec<SocketAddr>) -> io::Result<TcpStream> {
    let mut waiting = addresses.into_iter();
    let mut attempts = FuturesUnordered::new();
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    loop {
        match waiting.next() {
            Some(address) => attempts.push(TcpStream::connect(address)),
            None if attempts.is_empty() => return Err(last),
            None => {}
        }
        let answer = if waiting.len() == 0 {
            attempts.next().await
        } else {
            tokio::time::timeout(ATTEMPT_DELAY, attempts.next())
                .await
                .unwrap_or(None)
        };
        match answer {
            Some(Ok(stream)) => return Ok(stream),
            Some(Err(error)) => last = error,
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_alternate_beginning_with_the_first() {
        let addresses = [
            "[::1]:1",
            "[::2]:1",
            "[::3]:1",
            "127.0.0.1:1",
            "127.0.0.2:1",
        ];
        let addresses = addresses.iter().map(|text| text.parse().unwrap());
        let ordered: Vec<String> = alternate(addresses)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            ordered,
            [
                "[::1]:1",
                "127.0.0.1:1",
                "[::2]:1",
                "127.0.0.2:1",
                "[::3]:1"
            ]
        );
    }
}
