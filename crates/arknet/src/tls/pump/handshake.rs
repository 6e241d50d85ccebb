//! The handshake, by rustls's unbuffered connections.
//!
//! rustls is fed one whole record at a time. Then it is known at every moment which bytes it
//! has seen and not yet given up, and that nothing after the handshake's last record has been
//! touched when the keys are taken over.

use std::mem;
use std::sync::Arc;

use bytes::{Buf, BytesMut};
use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{ConnectionState, EncodeError, EncodeTlsData, UnbufferedStatus};
use rustls::{CommonState, HandshakeKind};
use rustls_pki_types::ServerName;

use super::record::{self, Front};
use super::traffic::{Kernel, Traffic};
use crate::tls::client::{ClientConfig, server_name};
use crate::tls::error::Error;
use crate::tls::info::{Info, Version};
use crate::tls::server::{Presented, ServerConfig};

/// The most bytes of records that an unfinished handshake message may occupy. rustls's own
/// limit for a message is 64 KiB; a chain that comes near it is an attack.
pub(in crate::tls) const MAX_HANDSHAKE_BYTES: usize = 64 * 1024;

/// A fatal alert in the clear, as it is before any key: decode error (RFC 8446, section 6.2).
const DECODE_ERROR: [u8; 7] = [21, 3, 3, 0, 2, 2, 50];

pub(super) struct Handshake {
    side: Side,
    /// Records that rustls has read, but still holds on to.
    held: BytesMut,
}

enum Side {
    Server {
        connection: UnbufferedServerConnection,
        presented: Arc<Presented>,
    },
    Client {
        connection: UnbufferedClientConnection,
        server_name: Option<String>,
    },
}

impl Handshake {
    pub(super) fn server(config: &ServerConfig) -> Result<Self, Error> {
        let (config, presented) = config.for_connection();
        let connection = UnbufferedServerConnection::new(config)?;
        Ok(Self::new(Side::Server {
            connection,
            presented,
        }))
    }

    pub(super) fn client(config: &ClientConfig, host: &str) -> Result<Self, Error> {
        let name = server_name(host)?;
        let server_name = match &name {
            ServerName::DnsName(name) => Some(name.as_ref().to_owned()),
            _ => None,
        };
        let connection = UnbufferedClientConnection::new(config.for_connection(), name)?;
        Ok(Self::new(Side::Client {
            connection,
            server_name,
        }))
    }

    fn new(side: Side) -> Self {
        Self {
            side,
            held: BytesMut::new(),
        }
    }

    /// Feeds whole records until the handshake is complete (`true`) or input runs out. One that fails leaves an alert in
    /// `outgoing`.
    pub(super) fn advance(
        &mut self,
        incoming: &mut BytesMut,
        outgoing: &mut BytesMut,
    ) -> Result<bool, Error> {
        let before = outgoing.len();
        let advanced = self.feed_all(incoming, outgoing);
        // rustls has no alert for a message above its limit, nor for one above ours.
        if let Err(Error::HandshakeTooLarge) = advanced
            && outgoing.len() == before
        {
            outgoing.extend_from_slice(&DECODE_ERROR);
        }
        advanced
    }

    fn feed_all(
        &mut self,
        incoming: &mut BytesMut,
        outgoing: &mut BytesMut,
    ) -> Result<bool, Error> {
        // Whatever rustls wants to say unasked: a client's first message.
        self.drive(outgoing)?;
        while self.common().is_handshaking() {
            match record::front(incoming, record::MAX_EXPANSION_TLS12) {
                Front::Short => return Ok(false),
                Front::Whole(length) => self.feed(incoming.split_to(length), outgoing)?,
                Front::Invalid | Front::Oversized => {
                    // rustls says what is wrong with the header, and finds the alert for it.
                    let header = incoming.split_to(incoming.len().min(record::HEADER));
                    self.feed(header, outgoing)?;
                    return Err(Error::Malformed("the header of a record".to_owned()));
                }
            }
        }
        Ok(true)
    }

    fn feed(&mut self, record: BytesMut, outgoing: &mut BytesMut) -> Result<(), Error> {
        if self.held.len().saturating_add(record.len()) > MAX_HANDSHAKE_BYTES {
            return Err(Error::HandshakeTooLarge);
        }
        if self.held.is_empty() {
            self.held = record;
        } else {
            self.held.extend_from_slice(&record);
        }
        self.drive(outgoing)
    }

    /// Takes the keys over.
    pub(super) fn finish(self: Box<Self>) -> Result<(Traffic, Info), Error> {
        if !self.held.is_empty() {
            return Err(Error::Misbehaved(
                "a message spans the end of the handshake".to_owned(),
            ));
        }
        let common = self.common();
        let suite = common
            .negotiated_cipher_suite()
            .ok_or_else(|| Error::Internal("no cipher suite was agreed".to_owned()))?;
        let info = self.info(common)?;
        let (secrets, kernel) = match self.side {
            Side::Server { connection, .. } => {
                let (secrets, kernel) = connection.dangerous_into_kernel_connection()?;
                (secrets, Kernel::Server(kernel))
            }
            Side::Client { connection, .. } => {
                let (secrets, kernel) = connection.dangerous_into_kernel_connection()?;
                (secrets, Kernel::Client(kernel))
            }
        };
        Ok((Traffic::new(suite, secrets, kernel)?, info))
    }

    fn info(&self, common: &CommonState) -> Result<Info, Error> {
        let server_name = match &self.side {
            Side::Server { presented, .. } => presented.server_name(),
            Side::Client { server_name, .. } => server_name.clone(),
        };
        Ok(Info {
            version: common
                .protocol_version()
                .and_then(Version::from_wire)
                .ok_or_else(|| Error::Internal("no known version was agreed".to_owned()))?,
            cipher_suite: common
                .negotiated_cipher_suite()
                .and_then(|suite| suite.suite().as_str())
                .unwrap_or("unregistered"),
            alpn: common.alpn_protocol().map(<[u8]>::to_vec),
            server_name,
            resumed: common.handshake_kind() == Some(HandshakeKind::Resumed),
            peer_certificates: common
                .peer_certificates()
                .unwrap_or_default()
                .iter()
                .map(|certificate| certificate.to_vec())
                .collect(),
        })
    }

    fn common(&self) -> &CommonState {
        match &self.side {
            Side::Server { connection, .. } => connection,
            Side::Client { connection, .. } => connection,
        }
    }

    fn drive(&mut self, outgoing: &mut BytesMut) -> Result<(), Error> {
        let result = match &mut self.side {
            Side::Server { connection, .. } => drive(connection, &mut self.held, outgoing),
            Side::Client { connection, .. } => drive(connection, &mut self.held, outgoing),
        };
        if self.held.is_empty() {
            // Lets go of the read buffer that the record was a part of.
            mem::take(&mut self.held);
        }
        result
    }
}

/// What the two unbuffered connections have in common, which rustls has no name for.
trait Connection {
    type Data;

    fn common(&self) -> &CommonState;

    fn process<'c, 'i>(&'c mut self, fed: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data>;
}

impl Connection for UnbufferedServerConnection {
    type Data = ServerConnectionData;

    fn common(&self) -> &CommonState {
        self
    }

    fn process<'c, 'i>(&'c mut self, fed: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(fed)
    }
}

impl Connection for UnbufferedClientConnection {
    type Data = ClientConnectionData;

    fn common(&self) -> &CommonState {
        self
    }

    fn process<'c, 'i>(&'c mut self, fed: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(fed)
    }
}

/// Lets `connection` work until it needs more input, and removes what it gave up of `held`.
fn drive<C: Connection>(
    connection: &mut C,
    held: &mut BytesMut,
    outgoing: &mut BytesMut,
) -> Result<(), Error> {
    loop {
        let UnbufferedStatus { discard, state } = connection.process(held);
        let step = match state {
            Ok(ConnectionState::EncodeTlsData(message)) => encode(message, outgoing).map(|()| true),
            Ok(ConnectionState::TransmitTlsData(transmit)) => {
                // It is in `outgoing`, which is sent whatever happens next.
                transmit.done();
                Ok(true)
            }
            Ok(ConnectionState::BlockedHandshake | ConnectionState::WriteTraffic(_)) => Ok(false),
            Ok(state) => Err(Error::Internal(format!("{state:?} during the handshake"))),
            Err(error) => Err(error.into()),
        };
        held.advance(discard.min(held.len()));
        match step {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(error) => {
                flush_alert(connection, held, outgoing);
                return Err(error);
            }
        }
    }
}

fn encode<D>(mut message: EncodeTlsData<'_, D>, outgoing: &mut BytesMut) -> Result<(), Error> {
    let size = match message.encode(&mut []) {
        Err(EncodeError::InsufficientSize(size)) => size.required_size,
        Ok(_) | Err(EncodeError::AlreadyEncoded) => return Ok(()),
    };
    let start = outgoing.len();
    outgoing.resize(start.saturating_add(size), 0);
    let (_, room) = outgoing.split_at_mut(start);
    message
        .encode(room)
        .map(|_| ())
        .map_err(|error| Error::Internal(error.to_string()))
}

/// After an error rustls still gives out the messages that it queued, before it looks at any
/// input again.
fn flush_alert<C: Connection>(connection: &mut C, held: &mut BytesMut, outgoing: &mut BytesMut) {
    while connection.common().wants_write() {
        let UnbufferedStatus {
            state: Ok(ConnectionState::EncodeTlsData(alert)),
            ..
        } = connection.process(held)
        else {
            return;
        };
        if encode(alert, outgoing).is_err() {
            return;
        }
    }
}
