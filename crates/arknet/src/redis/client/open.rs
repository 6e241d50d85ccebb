//! Making a connection, from the resolution of the name to the end of the login.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;

use arknet_proto::redis::exchange::{Handshake, HandshakeError, Progress, Speaks};
use arknet_proto::redis::{ProtocolError, Scanner};
use bytes::{Buf, BytesMut};

use super::outgoing::Outgoing;
use crate::error::Outcome;
use crate::link::{self, Address, DialError, Place, Transport, TransportError};
use crate::redis::config::Config;
use crate::redis::error::{Doing, Error};

/// A connection whose session has begun.
pub(in crate::redis) struct Opened {
    pub(in crate::redis) transport: Transport,
    /// What has arrived behind the login.
    pub(in crate::redis) received: BytesMut,
    pub(in crate::redis) speaks: Speaks,
}

/// Makes a connection for the task that awaits this.
pub(in crate::redis) async fn open(
    config: &Config,
    address: &Arc<Address>,
) -> Result<Opened, Error> {
    let deadline = link::after(config.connect_timeout);
    let opening = open_without_limit(config, address);
    match tokio::time::timeout_at(deadline.into(), opening).await {
        Ok(opened) => opened,
        Err(_) => Err(Error::Timeout {
            doing: Doing::Connect,
            within: config.connect_timeout,
            outcome: Outcome::NotSent,
        }),
    }
}

async fn open_without_limit(config: &Config, address: &Arc<Address>) -> Result<Opened, Error> {
    let dialer = config.dialer(Place::Here)?;
    let dialed = dialer.dial().await;
    let mut transport = dialed.map_err(|error| not_dialed(error, address))?;
    let mut received = BytesMut::new();
    poll_fn(|cx| transport.poll_handshake(cx, &mut received))
        .await
        .map_err(|error| not_carried(error, address.clone()))?;
    let speaks = log_in(config, &mut transport, &mut received)
        .await
        .map_err(|refusal| refusal.error(address))?;
    Ok(Opened {
        transport,
        received,
        speaks,
    })
}

/// Begins the session. What arrives behind its last reply stays in `received`.
async fn log_in(
    config: &Config,
    transport: &mut Transport,
    received: &mut BytesMut,
) -> Result<Speaks, Refusal> {
    let mut outgoing = Outgoing::default();
    let mut handshake = Handshake::new(config.login.clone(), outgoing.refill());
    let mut scanner = Scanner::new(config.limits);
    loop {
        poll_fn(|cx| transport.poll_flush(cx, &mut outgoing)).await?;
        let mut answer = Vec::new();
        while let Some(frame) = scanner.scan(received)? {
            let bytes = received.get(..frame.len).unwrap_or_default();
            let progress = handshake.handle_frame(frame.kind, bytes, &mut answer)?;
            received.advance(frame.len);
            if let Progress::Done(speaks) = progress {
                return Ok(speaks);
            }
        }
        if let Progress::Done(speaks) = handshake.progress() {
            return Ok(speaks);
        }
        if !answer.is_empty() {
            *outgoing.refill() = answer;
            continue;
        }
        if poll_fn(|cx| transport.poll_receive(cx, received)).await? == 0 {
            return Err(TransportError::from(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the server hung up during the login",
            ))
            .into());
        }
    }
}

/// Why a session did not begin.
#[derive(Debug)]
enum Refusal {
    Transport(TransportError),
    Protocol(ProtocolError),
    Handshake(HandshakeError),
}

impl From<TransportError> for Refusal {
    fn from(error: TransportError) -> Self {
        Self::Transport(error)
    }
}

impl From<ProtocolError> for Refusal {
    fn from(error: ProtocolError) -> Self {
        Self::Protocol(error)
    }
}

impl From<HandshakeError> for Refusal {
    fn from(error: HandshakeError) -> Self {
        Self::Handshake(error)
    }
}

impl Refusal {
    fn error(self, address: &Arc<Address>) -> Error {
        let address = address.clone();
        match self {
            Self::Transport(error) => not_carried(error, address),
            Self::Protocol(source) => Error::Protocol {
                address,
                source: Arc::new(source),
                outcome: Outcome::NotSent,
            },
            Self::Handshake(HandshakeError::Auth(error)) => Error::Auth {
                address,
                error: Arc::new(error),
            },
            Self::Handshake(source) => Error::Handshake {
                address,
                source: Arc::new(source),
            },
        }
    }
}

fn not_carried(error: TransportError, address: Arc<Address>) -> Error {
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

fn not_dialed(error: DialError, address: &Arc<Address>) -> Error {
    let address = address.clone();
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
