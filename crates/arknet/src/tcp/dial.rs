//! Making a connection: names, families, and the first address that answers.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::net::TcpStream;
#[cfg(unix)]
use tokio::net::UnixStream;

use super::Address;
use crate::endpoint::Error;
use crate::endpoint::client::Connector;
use crate::endpoint::transport::Transport;
use crate::io::tokio::{Socket, TcpOptions};

/// How long an attempt has before the next address is tried beside it (RFC 8305, section 5).
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

/// Addresses of a name that are tried. A name with more is a mistake, or an attack.
const ADDRESSES: usize = 32;

/// Knows where to connect, and how.
pub(crate) struct Dialer {
    pub(super) address: Address,
    pub(super) options: TcpOptions,
    pub(super) within: Duration,
    #[cfg(feature = "tls")]
    pub(super) tls: Option<(crate::tls::ClientConfig, String)>,
}

impl Connector for Dialer {
    async fn connect(&self) -> Result<Transport, Error> {
        let failed = |source| Error::Connect {
            address: self.address.to_string(),
            source,
        };
        let socket = match &self.address {
            Address::Ip(address) => TcpStream::connect(address).await.and_then(adopt),
            Address::Name(host, port) => race(resolve(host, *port).await?).await.and_then(adopt),
            #[cfg(unix)]
            Address::Unix(path) => {
                let stream = UnixStream::connect(path).await;
                stream.and_then(UnixStream::into_std).and_then(Socket::unix)
            }
            #[cfg(not(unix))]
            Address::Unix(_) => Err(io::ErrorKind::Unsupported.into()),
        };
        let socket = socket.map_err(failed)?;
        socket.configure(&self.options).map_err(failed)?;
        self.secure(socket)
    }

    fn timed_out(&self) -> Error {
        Error::ConnectTimeout {
            address: self.address.to_string(),
            within: self.within,
        }
    }
}

impl Dialer {
    fn secure(&self, socket: Socket) -> Result<Transport, Error> {
        #[cfg(feature = "tls")]
        if let Some((tls, host)) = &self.tls {
            let peer = crate::endpoint::Peer::new(socket.peer_address().ok());
            let pump = crate::tls::Pump::client(tls, host)
                .map_err(|source| Error::Tls { peer, source })?;
            let secure = crate::endpoint::transport::Secure::new(socket, pump);
            return Ok(Transport::Secure(Box::new(secure)));
        }
        Ok(Transport::Plain(socket))
    }
}

/// Hands a connected socket to the lane.
fn adopt(stream: TcpStream) -> io::Result<Socket> {
    stream.into_std().and_then(Socket::tcp)
}

async fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, Error> {
    let failed = |source| Error::Resolve {
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
