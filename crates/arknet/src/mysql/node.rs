//! One server, as all connections to it know it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use arknet_proto::mysql::handshake::{self, HandshakeError};
use arknet_proto::mysql::{Limits, ProtocolError, ServerError};

use super::{Config, Error};
use crate::error::Outcome;
use crate::link::{Address, DialError, Dialer, RuntimeEnded, TransportError};
#[cfg(feature = "tls")]
use crate::tls;

/// The largest packet that every server takes unless somebody has made it smaller: the least default of all versions.
/// Nobody is asked for the real limit before it is needed.
const SMALL_PACKET: usize = 1 << 20;

/// Connections at once that end other connections' statements. A server that is so slow that there would be more has no use
/// for them.
const MOST_KILLING: usize = 8;

/// What is done with a session that its user may have changed, before the next one gets it.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum ResetPolicy {
    /// It is reset, without waiting for it, after every statement that was not said to be
    /// [`stateless`](super::Query::stateless): nobody can know what another one leaves behind. Where the server cannot
    /// reset, as some proxies, the connection is closed instead. The default.
    #[default]
    Automatic,
    /// Every session is reset, also one that nothing was run on.
    Always,
    /// The connection of a session that may have changed is closed. For proxies that hang up on a command that they do not
    /// know.
    Discard,
}

/// A server and what its connections have in common.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) address: Arc<Address>,
    pub(super) database: Option<String>,
    pub(super) limits: Limits,
    pub(super) max_result: usize,
    pub(super) statements: usize,
    /// Whether what nobody waits for is ended on the server.
    pub(super) kills: bool,
    pub(super) connect_timeout: Duration,
    pub(super) request_timeout: Option<Duration>,
    pub(super) policy: ResetPolicy,
    dialer: Dialer,
    handshake: handshake::Config,
    #[cfg(feature = "tls")]
    tls: Option<(tls::ClientConfig, String)>,
    verifies: bool,
    /// The server has said that it cannot reset a session.
    lacks_reset: AtomicBool,
    /// The server has reset a session.
    has_reset: AtomicBool,
    /// Its `max_allowed_packet`; 0 until it is asked for.
    max_packet: AtomicUsize,
    resets: AtomicU64,
    prepared: AtomicU64,
    killed: AtomicU64,
    killing: AtomicUsize,
}

impl Node {
    /// # Errors
    ///
    /// [`Error::Config`] for what cannot work.
    pub(super) fn new(config: &Config, policy: ResetPolicy) -> Result<Self, Error> {
        Ok(Self {
            address: Arc::new(config.address.clone()),
            database: config.database.clone(),
            limits: config.limits,
            max_result: config.max_result,
            statements: config.statements,
            kills: config.kills,
            connect_timeout: config.connect_timeout,
            request_timeout: config.request_timeout,
            policy,
            dialer: config.dialer(),
            handshake: config.handshake()?,
            #[cfg(feature = "tls")]
            tls: config.tls.client(&config.address).map_err(Error::config)?,
            verifies: config.verifies(),
            lacks_reset: AtomicBool::new(false),
            has_reset: AtomicBool::new(false),
            max_packet: AtomicUsize::new(0),
            resets: AtomicU64::new(0),
            prepared: AtomicU64::new(0),
            killed: AtomicU64::new(0),
            killing: AtomicUsize::new(0),
        })
    }

    pub(super) fn dialer(&self) -> &Dialer {
        &self.dialer
    }

    /// The handshake of a new connection, with random bytes of its own.
    pub(super) fn handshake(&self) -> Result<handshake::Config, Error> {
        let mut config = self.handshake.clone();
        aws_lc_rs::rand::fill(&mut config.random)
            .map_err(|_| Error::config("the system has no random bytes"))?;
        Ok(config)
    }

    /// The configuration of TLS, and the name that the server is to have.
    #[cfg(feature = "tls")]
    pub(super) fn tls(&self) -> Option<&(tls::ClientConfig, String)> {
        self.tls.as_ref()
    }

    /// Whether the name of the server is verified.
    pub(super) fn verifies(&self) -> bool {
        self.verifies
    }

    /// Whether a session of this server can be reset, as far as is known.
    pub(super) fn can_reset(&self) -> bool {
        self.policy != ResetPolicy::Discard && !self.lacks_reset.load(Ordering::Relaxed)
    }

    /// Whether it is known that it can.
    pub(super) fn has_reset(&self) -> bool {
        self.has_reset.load(Ordering::Relaxed)
    }

    pub(super) fn note_reset(&self) {
        if !self.has_reset() {
            self.has_reset.store(true, Ordering::Relaxed);
        }
    }

    pub(super) fn count_reset(&self) {
        self.resets.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn resets(&self) -> u64 {
        self.resets.load(Ordering::Relaxed)
    }

    pub(super) fn count_prepared(&self) {
        self.prepared.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn prepared(&self) -> u64 {
        self.prepared.load(Ordering::Relaxed)
    }

    /// Takes note of a statement that is to be ended, unless too many are.
    pub(super) fn begin_kill(&self) -> bool {
        let begun = self
            .killing
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |killing| {
                (killing < MOST_KILLING).then_some(killing + 1)
            });
        begun.is_ok()
    }

    pub(super) fn end_kill(&self) {
        self.killing.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn count_kill(&self) {
        self.killed.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn killed(&self) -> u64 {
        self.killed.load(Ordering::Relaxed)
    }

    /// The largest packet that may be sent without asking.
    pub(super) fn max_packet(&self) -> usize {
        match self.max_packet.load(Ordering::Relaxed) {
            0 => SMALL_PACKET,
            known => known,
        }
    }

    /// Whether the server has been asked for its limit.
    pub(super) fn knows_max_packet(&self) -> bool {
        self.max_packet.load(Ordering::Relaxed) != 0
    }

    pub(super) fn note_max_packet(&self, limit: u64) {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX).max(1);
        self.max_packet.store(limit, Ordering::Relaxed);
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
        let is_about_the_account = match &error {
            HandshakeError::Auth(_) => true,
            HandshakeError::Server(error) => denies(error),
            HandshakeError::Config(error) => return Error::config(error.to_string()),
            _ => false,
        };
        let source = Arc::new(error);
        if is_about_the_account {
            Error::Auth { address, source }
        } else {
            Error::Handshake { address, source }
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

    /// The server has said that it ends the connection, without having been asked.
    pub(super) fn dismissed(&self, error: &ServerError) -> Error {
        self.lost(io::Error::new(
            io::ErrorKind::ConnectionAborted,
            format!("the server has said: {error}"),
        ))
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

    pub(super) fn undo_failed(&self, error: &ServerError) -> Error {
        self.lost(io::Error::other(format!(
            "a transaction could not be rolled back: {error}"
        )))
    }

    pub(super) fn reset_failed(&self, error: &ServerError) -> Error {
        // Only a server that has never done it does not know how.
        if !self.has_reset() {
            self.lacks_reset.store(true, Ordering::Relaxed);
        }
        self.lost(io::Error::other(format!(
            "the session could not be reset: {error}"
        )))
    }
}

/// Whether a server refuses the account, and not the connection: access denied (1044 to a schema, 1045, 1698), a plugin that
/// is missing (1251, 1524), an account that is locked (3118, 4151) or lacks a factor (3955), a password that has expired
/// (1862).
fn denies(error: &ServerError) -> bool {
    matches!(
        error.code(),
        1044 | 1045 | 1251 | 1524 | 1698 | 1862 | 3118 | 3955 | 4151
    )
}
