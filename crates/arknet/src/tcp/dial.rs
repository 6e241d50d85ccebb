//! How a client connects, in the words of the endpoint.

use std::time::Duration;

use crate::endpoint::client::Connector;
use crate::endpoint::{Error, Peer};
use crate::link::{self, DialError, Transport};

/// Knows where to connect, how, and within what time.
pub(crate) struct Dialer {
    pub(super) link: link::Dialer,
    pub(super) within: Duration,
}

impl Connector for Dialer {
    async fn connect(&self) -> Result<Transport, Error> {
        self.link.dial().await.map_err(|error| self.failed(error))
    }

    fn timed_out(&self) -> Error {
        Error::ConnectTimeout {
            address: self.link.address.to_string(),
            within: self.within,
        }
    }
}

impl Dialer {
    fn failed(&self, error: DialError) -> Error {
        match error {
            DialError::Resolve { host, source } => Error::Resolve { host, source },
            DialError::Connect(source) => Error::Connect {
                address: self.link.address.to_string(),
                source,
            },
            #[cfg(feature = "tls")]
            DialError::Tls { peer, source } => Error::Tls {
                peer: Peer::new(peer),
                source,
            },
        }
    }
}
