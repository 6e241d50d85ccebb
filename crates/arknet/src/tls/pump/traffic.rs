//! After the handshake: application data, and the few other messages that may come.
//!
//! The rules and their limits are rustls's: key updates, tickets, alerts and requests for a
//! new handshake are answered, refused or tolerated as it would, so that no peer can tell.

use bytes::{Buf, BytesMut};
use rustls::client::ClientConnectionData;
use rustls::crypto::cipher::InboundPlainMessage;
use rustls::kernel::KernelConnection;
use rustls::server::ServerConnectionData;
use rustls::{ContentType, ExtractedSecrets, ProtocolVersion, SupportedCipherSuite};

use super::Received;
use super::handshake::MAX_HANDSHAKE_BYTES;
use super::opener::Opener;
use super::record::{self, Front};
use super::sealer::{MAX_OVERHEAD, Sealer};
use crate::tls::alert::Alert;
use crate::tls::error::Error;

/// Handshake messages that may follow the handshake.
const HELLO_REQUEST: u8 = 0;
const CLIENT_HELLO: u8 = 1;
const NEW_SESSION_TICKET: u8 = 4;
const KEY_UPDATE: u8 = 24;

/// The type and the 24-bit length of a handshake message.
const MESSAGE_HEADER: usize = 4;

/// Levels of alerts.
const WARNING: u8 = 1;
const FATAL: u8 = 2;

/// The records that are kept back of a key's limit: the key update itself, and an alert.
const RESERVED_RECORDS: u64 = 2;

/// rustls's half of a connection after the handshake: it derives new keys and keeps tickets.
pub(super) enum Kernel {
    Server(KernelConnection<ServerConnectionData>),
    Client(KernelConnection<ClientConnectionData>),
}

pub(in crate::tls) struct Traffic {
    opener: Opener,
    sealer: Sealer,
    kernel: Kernel,
    suite: SupportedCipherSuite,
    tolerance: Tolerance,
    /// The beginning of a handshake message whose end is in a later record.
    unfinished: Vec<u8>,
    /// The peer asked for new keys of ours; they are due with the next data (RFC 8446
    /// section 4.6.3), so that requests without data cannot make us talk.
    key_update_owed: bool,
    peer_has_closed: bool,
    closed: bool,
}

impl Traffic {
    pub(super) fn new(
        suite: SupportedCipherSuite,
        secrets: ExtractedSecrets,
        kernel: Kernel,
    ) -> Result<Self, Error> {
        let (sent, seal) = secrets.tx;
        let (read, open) = secrets.rx;
        Ok(Self {
            opener: Opener::new(suite, read, open)?,
            sealer: Sealer::new(suite, sent, seal)?,
            kernel,
            suite,
            tolerance: Tolerance::default(),
            unfinished: Vec::new(),
            key_update_owed: false,
            peer_has_closed: false,
            closed: false,
        })
    }

    pub(super) fn peer_has_closed(&self) -> bool {
        self.peer_has_closed
    }

    pub(super) fn receive(
        &mut self,
        incoming: &mut BytesMut,
        plain: &mut BytesMut,
        room: usize,
        outgoing: &mut BytesMut,
        received: &mut Received,
    ) -> Result<(), Error> {
        let max_expansion = match self.suite {
            SupportedCipherSuite::Tls13(_) => record::MAX_EXPANSION_TLS13,
            SupportedCipherSuite::Tls12(_) => record::MAX_EXPANSION_TLS12,
        };
        loop {
            if self.peer_has_closed {
                // What follows close_notify is to be ignored (RFC 8446 section 6.1).
                incoming.clear();
                return Ok(());
            }
            let length = match record::front(incoming, max_expansion) {
                Front::Short => return Ok(()),
                Front::Whole(_) if received.plain >= room => {
                    received.more = true;
                    return Ok(());
                }
                Front::Whole(length) => length,
                Front::Oversized => {
                    return Err(self.fail(
                        Alert::RECORD_OVERFLOW,
                        Error::OversizedRecord,
                        outgoing,
                    ));
                }
                Front::Invalid => {
                    let error = Error::Malformed("the header of a record".to_owned());
                    return Err(self.fail(Alert::DECODE_ERROR, error, outgoing));
                }
            };
            let (record, _) = incoming.split_at_mut(length);
            let before = plain.len();
            let result = self.take_record(record, plain, outgoing);
            received.plain += plain.len() - before;
            incoming.advance(length);
            result?;
        }
    }

    fn take_record(
        &mut self,
        record: &mut [u8],
        plain: &mut BytesMut,
        outgoing: &mut BytesMut,
    ) -> Result<(), Error> {
        let Some((&mut [kind, ..], payload)) = record.split_first_chunk_mut::<{ record::HEADER }>()
        else {
            return Err(Error::Internal("a record without a header".to_owned()));
        };
        if kind == record::CHANGE_CIPHER_SPEC
            || (self.is_tls13() && kind != record::APPLICATION_DATA)
        {
            // Not even encrypted any more: whoever sent this has no key.
            return Err(self.unexpected("a record in the clear", outgoing));
        }
        let InboundPlainMessage { typ, payload, .. } = match self.opener.open(kind, payload) {
            Ok(message) => message,
            Err(error) => {
                let alert = match &error {
                    Error::BadRecord => Alert::BAD_RECORD_MAC,
                    Error::OversizedRecord => Alert::RECORD_OVERFLOW,
                    Error::Misbehaved(_) => Alert::UNEXPECTED_MESSAGE,
                    _ => Alert::INTERNAL_ERROR,
                };
                return Err(self.fail(alert, error, outgoing));
            }
        };
        if let Err(error) = self.tolerance.record(payload.len()) {
            return Err(self.fail(Alert::UNEXPECTED_MESSAGE, error, outgoing));
        }
        if !self.unfinished.is_empty() && typ != ContentType::Handshake {
            return Err(self.unexpected("another message inside a handshake message", outgoing));
        }
        match typ {
            ContentType::ApplicationData => {
                self.tolerance.data();
                plain.extend_from_slice(payload);
                Ok(())
            }
            ContentType::Alert => self.take_alert(payload, outgoing),
            ContentType::Handshake => self.take_handshake(payload, outgoing),
            _ => Err(self.unexpected("a record of an unknown type", outgoing)),
        }
    }

    fn take_alert(&mut self, payload: &[u8], outgoing: &mut BytesMut) -> Result<(), Error> {
        let &[level, code] = payload else {
            let error = Error::Malformed("an alert that has not two bytes".to_owned());
            return Err(self.fail(Alert::DECODE_ERROR, error, outgoing));
        };
        let alert = Alert::new(code);
        if alert == Alert::CLOSE_NOTIFY {
            self.peer_has_closed = true;
            return Ok(());
        }
        // TLS 1.3 knows no warnings, except this one (RFC 8446 section 6.1).
        if level == WARNING && (!self.is_tls13() || alert == Alert::USER_CANCELED) {
            return match self.tolerance.warning() {
                Ok(()) => Ok(()),
                Err(error) => Err(self.fail(Alert::UNEXPECTED_MESSAGE, error, outgoing)),
            };
        }
        Err(Error::AlertReceived(alert))
    }

    fn take_handshake(&mut self, payload: &[u8], outgoing: &mut BytesMut) -> Result<(), Error> {
        if self.unfinished.is_empty() {
            let rest = self.take_messages(payload, outgoing)?;
            self.unfinished.extend_from_slice(rest);
        } else {
            if self.unfinished.len().saturating_add(payload.len()) > MAX_HANDSHAKE_BYTES {
                let error = Error::HandshakeTooLarge;
                return Err(self.fail(Alert::DECODE_ERROR, error, outgoing));
            }
            let mut joined = std::mem::take(&mut self.unfinished);
            joined.extend_from_slice(payload);
            let rest = self.take_messages(&joined, outgoing)?.len();
            self.unfinished = joined.split_off(joined.len() - rest);
        }
        Ok(())
    }

    /// Handles the whole messages at the front of `bytes`; what remains is returned.
    fn take_messages<'a>(
        &mut self,
        mut bytes: &'a [u8],
        outgoing: &mut BytesMut,
    ) -> Result<&'a [u8], Error> {
        while let Some((&[kind, a, b, c], rest)) = bytes.split_first_chunk::<MESSAGE_HEADER>() {
            let length = u32::from_be_bytes([0, a, b, c]) as usize;
            if length > MAX_HANDSHAKE_BYTES {
                return Err(self.fail(Alert::DECODE_ERROR, Error::HandshakeTooLarge, outgoing));
            }
            let Some((body, rest)) = rest.split_at_checked(length) else {
                break;
            };
            self.take_message(kind, body, rest.is_empty(), outgoing)?;
            bytes = rest;
        }
        Ok(bytes)
    }

    fn take_message(
        &mut self,
        kind: u8,
        body: &[u8],
        is_last: bool,
        outgoing: &mut BytesMut,
    ) -> Result<(), Error> {
        let is_tls13 = self.is_tls13();
        match (&mut self.kernel, kind) {
            (Kernel::Client(kernel), NEW_SESSION_TICKET) if is_tls13 => {
                match kernel.handle_new_session_ticket(body) {
                    Ok(()) => Ok(()),
                    Err(error) => Err(self.fail(Alert::DECODE_ERROR, error.into(), outgoing)),
                }
            }
            // The key changes here, and a message must not span the change (RFC 8446
            // section 5.1).
            (_, KEY_UPDATE) if is_tls13 && is_last => self.take_key_update(body, outgoing),
            (Kernel::Client(_), HELLO_REQUEST) | (Kernel::Server(_), CLIENT_HELLO) if !is_tls13 => {
                match self.tolerance.renegotiation() {
                    Ok(()) => self.send_alert(WARNING, Alert::NO_RENEGOTIATION, outgoing),
                    Err(error) => Err(self.fail(Alert::UNEXPECTED_MESSAGE, error, outgoing)),
                }
            }
            _ => Err(self.unexpected("a handshake message after the handshake", outgoing)),
        }
    }

    fn take_key_update(&mut self, body: &[u8], outgoing: &mut BytesMut) -> Result<(), Error> {
        if let Err(error) = self.tolerance.key_update() {
            return Err(self.fail(Alert::UNEXPECTED_MESSAGE, error, outgoing));
        }
        match body {
            [0] => {}
            [1] => self.key_update_owed = true,
            [_] => {
                let error = Error::Malformed("a key update of an unknown kind".to_owned());
                return Err(self.fail(Alert::ILLEGAL_PARAMETER, error, outgoing));
            }
            _ => {
                let error = Error::Malformed("a key update of a wrong length".to_owned());
                return Err(self.fail(Alert::DECODE_ERROR, error, outgoing));
            }
        }
        let (sequence, secrets) = match &mut self.kernel {
            Kernel::Server(kernel) => kernel.update_rx_secret()?,
            Kernel::Client(kernel) => kernel.update_rx_secret()?,
        };
        self.opener = Opener::new(self.suite, sequence, secrets)?;
        Ok(())
    }

    pub(super) fn seal(&mut self, plain: &[u8], outgoing: &mut BytesMut) -> Result<(), Error> {
        if self.closed {
            return Err(Error::Closed);
        }
        if plain.is_empty() {
            return Ok(());
        }
        let records = plain.len().div_ceil(record::MAX_FRAGMENT);
        outgoing.reserve(
            plain
                .len()
                .saturating_add(records.saturating_mul(MAX_OVERHEAD)),
        );
        if self.key_update_owed {
            self.update_keys(false, outgoing)?;
            self.key_update_owed = false;
        }
        for fragment in plain.chunks(record::MAX_FRAGMENT) {
            self.renew_worn_key(outgoing)?;
            self.sealer
                .seal(record::APPLICATION_DATA, fragment, outgoing)?;
        }
        Ok(())
    }

    /// A key that has sealed its share is replaced; TLS 1.2 cannot, and ends.
    fn renew_worn_key(&mut self, outgoing: &mut BytesMut) -> Result<(), Error> {
        if self.sealer.remaining() > RESERVED_RECORDS {
            return Ok(());
        }
        if self.is_tls13() {
            return self.update_keys(false, outgoing);
        }
        let limit = self.sealer.limit();
        self.close_notify(outgoing);
        Err(Error::KeyExhausted { limit })
    }

    /// Announces a new key, sealed with the old one, and changes to it.
    pub(super) fn update_keys(
        &mut self,
        ask_peer: bool,
        outgoing: &mut BytesMut,
    ) -> Result<(), Error> {
        let message = [KEY_UPDATE, 0, 0, 1, u8::from(ask_peer)];
        let (sequence, secrets) = match &mut self.kernel {
            Kernel::Server(kernel) => kernel.update_tx_secret()?,
            Kernel::Client(kernel) => kernel.update_tx_secret()?,
        };
        self.sealer.seal(record::HANDSHAKE, &message, outgoing)?;
        self.sealer = Sealer::new(self.suite, sequence, secrets)?;
        Ok(())
    }

    pub(super) fn close_notify(&mut self, outgoing: &mut BytesMut) {
        if !self.closed {
            // Sealing two bytes fails only where nothing could be sealed any more, and then
            // there is nobody left to tell.
            let _ = self.send_alert(WARNING, Alert::CLOSE_NOTIFY, outgoing);
            self.closed = true;
        }
    }

    fn unexpected(&mut self, what: &str, outgoing: &mut BytesMut) -> Error {
        self.fail(
            Alert::UNEXPECTED_MESSAGE,
            Error::Misbehaved(what.to_owned()),
            outgoing,
        )
    }

    /// Tells the peer why, and passes `error` on.
    fn fail(&mut self, alert: Alert, error: Error, outgoing: &mut BytesMut) -> Error {
        if !self.closed {
            let _ = self.send_alert(FATAL, alert, outgoing);
            self.closed = true;
        }
        error
    }

    fn send_alert(
        &mut self,
        level: u8,
        alert: Alert,
        outgoing: &mut BytesMut,
    ) -> Result<(), Error> {
        self.sealer
            .seal(record::ALERT, &[level, alert.code()], outgoing)
    }

    fn is_tls13(&self) -> bool {
        self.suite.version().version == ProtocolVersion::TLSv1_3
    }

    /// Seals any record, for tests of the other side.
    #[cfg(test)]
    pub(in crate::tls) fn seal_raw(&mut self, kind: u8, payload: &[u8], outgoing: &mut BytesMut) {
        self.sealer.seal(kind, payload, outgoing).unwrap();
    }

    #[cfg(test)]
    pub(in crate::tls) fn set_key_limit(&mut self, records: u64) {
        self.sealer.set_limit(records);
    }
}

/// How often a peer may do what costs it little and us something. The numbers are those of
/// rustls and BoringSSL.
struct Tolerance {
    empty_records: u8,
    warnings: u8,
    renegotiations: u8,
    key_updates: u8,
}

impl Default for Tolerance {
    fn default() -> Self {
        Self {
            empty_records: Self::EMPTY_RECORDS,
            warnings: 4,
            renegotiations: 1,
            key_updates: Self::KEY_UPDATES,
        }
    }
}

impl Tolerance {
    /// In a row.
    const EMPTY_RECORDS: u8 = 32;
    /// Without data in between.
    const KEY_UPDATES: u8 = 32;

    fn record(&mut self, length: usize) -> Result<(), Error> {
        if length > 0 {
            self.empty_records = Self::EMPTY_RECORDS;
            return Ok(());
        }
        spend(
            &mut self.empty_records,
            "more than 32 empty records in a row",
        )
    }

    fn data(&mut self) {
        self.key_updates = Self::KEY_UPDATES;
    }

    fn warning(&mut self) -> Result<(), Error> {
        spend(&mut self.warnings, "more than 4 warnings")
    }

    fn renegotiation(&mut self) -> Result<(), Error> {
        spend(
            &mut self.renegotiations,
            "a second request for a new handshake",
        )
    }

    fn key_update(&mut self) -> Result<(), Error> {
        spend(
            &mut self.key_updates,
            "more than 32 key updates without data",
        )
    }
}

fn spend(allowance: &mut u8, excess: &str) -> Result<(), Error> {
    match allowance.checked_sub(1) {
        Some(rest) => {
            *allowance = rest;
            Ok(())
        }
        None => Err(Error::Misbehaved(excess.to_owned())),
    }
}
