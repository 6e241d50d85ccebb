//! Connected pairs of sockets over loopback, both ends in this process.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use crate::measure::config::TransportConfig;
use crate::measure::error::Error;

/// How long a connection over loopback may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Strangers that may connect to our port before we give up: it is ours alone by luck only.
const STRANGERS: usize = 100;

/// A connection's two ends, not blocking, without Nagle's delay.
#[derive(Debug)]
pub struct Pair {
    /// The end that asks.
    pub client: TcpStream,
    /// The end that answers.
    pub server: TcpStream,
}

/// Connects as many pairs as the configuration has clients; pair `k` is client `k`.
///
/// Each is accepted before the next is connected, so that the ends are known to belong together.
///
/// # Errors
/// When the loopback address cannot be bound, connected to or accepted from.
pub fn connect(config: &TransportConfig) -> Result<Vec<Pair>, Error> {
    let at = SocketAddr::new(config.address_family.loopback(), 0);
    let listener = TcpListener::bind(at).map_err(Error::setup(format!("bind {at}")))?;
    let at = listener
        .local_addr()
        .map_err(Error::setup("read the bound address"))?;
    let pair = |k| pair(&listener, at).map_err(Error::setup(format!("connect client {k} to {at}")));
    (0..config.clients).map(pair).collect()
}

fn pair(listener: &TcpListener, at: SocketAddr) -> io::Result<Pair> {
    let client = TcpStream::connect_timeout(&at, CONNECT_TIMEOUT)?;
    let ours = client.local_addr()?;
    for _ in 0..STRANGERS {
        let (server, peer) = listener.accept()?;
        if peer != ours {
            continue;
        }
        for end in [&client, &server] {
            end.set_nodelay(true)?;
            end.set_nonblocking(true)?;
        }
        return Ok(Pair { client, server });
    }
    Err(io::Error::other(
        "strangers keep connecting to the benchmark's port",
    ))
}
