//! One server, as all connections to it know it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use arknet_proto::redis::exchange::{HandshakeError, Login, ResetError, ResetFlight, Speaks};
use arknet_proto::redis::{ProtocolError, ReplyLimits};

use super::meters::{Access, Meters};
use super::{Config, Error};
use crate::error::Outcome;
use crate::link::{Address, DialError, Dialer, Place, RuntimeEnded, TransportError};

/// What is done with a session that its user has changed, before the next one gets it.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum ResetPolicy {
    /// It is reset, without waiting for it; one that is as it began is not. A server without `RESET`, as some managed ones,
    /// has its changed connections closed instead. The default.
    #[default]
    Automatic,
    /// Every session is reset, also one that is as it began.
    Always,
    /// The connection of a changed session is closed. For servers and proxies that hang up on a command that they do not
    /// know: nobody asks them for `RESET`.
    Discard,
}

/// A server and what its connections have in common.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) address: Arc<Address>,
    pub(super) login: Login,
    pub(super) limits: ReplyLimits,
    pub(super) connect_timeout: Duration,
    pub(super) request_timeout: Option<Duration>,
    pub(super) policy: ResetPolicy,
    pub(super) meters: Meters,
    dialer: Dialer,
    flights: [ResetFlight; 2],
    /// The server has said that it does not know `RESET`.
    lacks_reset: AtomicBool,
    resets: AtomicU64,
}

impl Node {
    /// # Errors
    ///
    /// [`Error::Config`] for what cannot work.
    pub(super) fn new(config: &Config, access: Access, policy: ResetPolicy) -> Result<Self, Error> {
        let flight = |speaks| ResetFlight::new(&config.login, speaks);
        Ok(Self {
            address: Arc::new(config.address.clone()),
            login: config.login.clone(),
            limits: config.limits,
            connect_timeout: config.connect_timeout,
            request_timeout: config.request_timeout,
            policy,
            meters: Meters::new(access, &config.address.to_string()),
            dialer: config.dialer(Place::Anywhere)?,
            flights: [flight(Speaks::Resp2), flight(Speaks::Resp3)],
            lacks_reset: AtomicBool::new(false),
            resets: AtomicU64::new(0),
        })
    }

    pub(super) fn dialer(&self) -> &Dialer {
        &self.dialer
    }

    pub(super) fn flight(&self, speaks: Speaks) -> &ResetFlight {
        let [resp2, resp3] = &self.flights;
        match speaks {
            Speaks::Resp2 => resp2,
            Speaks::Resp3 => resp3,
        }
    }

    /// Whether a session of this server can be reset, as far as is known.
    pub(super) fn can_reset(&self) -> bool {
        self.policy != ResetPolicy::Discard && !self.lacks_reset.load(Ordering::Relaxed)
    }

    pub(super) fn cannot_reset(&self) {
        self.lacks_reset.store(true, Ordering::Relaxed);
    }

    pub(super) fn count_reset(&self) {
        self.resets.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn resets(&self) -> u64 {
        self.resets.load(Ordering::Relaxed)
    }

    // Failures, in public words. Outcomes are filled in for each request.

    pub(super) fn dial_failed(&self, error: DialError) -> Error {
        let address = self.address.clone();
        match error {
            DialError::Resolve { source, .. } | DialError::Connect(source) => Error::Connect {
                address,
                source: Arc::new(source),
            },
            #[cfg(feature = "tls")]
            DialError::Tls { source, .. } => Error::Tls {
                address,
                source: Arc::new(source),
            },
        }
    }

    /// A failure before the session has begun.
    pub(super) fn handshake_failed(&self, error: TransportError) -> Error {
        let address = self.address.clone();
        match error {
            TransportError::Io(source) => Error::Connect {
                address,
                source: Arc::new(source),
            },
            #[cfg(feature = "tls")]
            TransportError::Tls(source) => Error::Tls {
                address,
                source: Arc::new(source),
            },
        }
    }

    pub(super) fn refused(&self, error: HandshakeError) -> Error {
        let address = self.address.clone();
        match error {
            HandshakeError::Auth(error) => Error::Auth {
                address,
                error: Arc::new(error),
            },
            error => Error::Handshake {
                address,
                source: Arc::new(error),
            },
        }
    }

    pub(super) fn broke_protocol(&self, error: ProtocolError) -> Error {
        Error::Protocol {
            address: self.address.clone(),
            source: Arc::new(error),
            outcome: Outcome::Unknown,
        }
    }

    pub(super) fn lost(&self, source: io::Error) -> Error {
        Error::Lost {
            address: self.address.clone(),
            source: Arc::new(source),
            outcome: Outcome::Unknown,
        }
    }

    pub(super) fn runtime_ended(&self, _: &RuntimeEnded) -> Error {
        self.lost(io::Error::other("the lanes have ended"))
    }

    pub(super) fn transport_failed(&self, error: TransportError) -> Error {
        self.lost(match error {
            TransportError::Io(source) => source,
            #[cfg(feature = "tls")]
            TransportError::Tls(source) => io::Error::other(source),
        })
    }

    pub(super) fn reset_failed(&self, error: ResetError) -> Error {
        if error == ResetError::Unsupported {
            self.cannot_reset();
        }
        self.lost(io::Error::other(format!(
            "the session could not be reset: {error}"
        )))
    }
}
