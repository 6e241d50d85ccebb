//! What can go wrong with TLS, in words that name the cause.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::{InconsistentKeys, InvalidMessage};

use super::alert::Alert;
use super::certificate_fault::CertificateFault;
use super::pem::MAX_PEM_BYTES;
use super::pump::MAX_HANDSHAKE_BYTES;

/// An error of a TLS configuration or connection.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A PEM file could not be read.
    #[error("read PEM file {}: {source}", path.display())]
    ReadFile {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: Arc<io::Error>,
    },
    /// A PEM file is larger than any sensible one.
    #[error("read PEM file {}: larger than {MAX_PEM_BYTES} bytes", path.display())]
    FileTooLarge {
        /// The file.
        path: PathBuf,
    },
    /// PEM text is damaged.
    #[error("parse PEM of {what}: {reason}")]
    InvalidPem {
        /// What the text should hold.
        what: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// PEM text holds no `CERTIFICATE` section.
    #[error("parse PEM of {what}: no certificate in it")]
    NoCertificate {
        /// What the text should hold.
        what: &'static str,
    },
    /// PEM text holds no private key.
    #[error("parse PEM of the private key: no PKCS#8, PKCS#1 or SEC1 key in it")]
    NoPrivateKey,
    /// The private key is encrypted with a passphrase.
    #[error(
        "parse PEM of the private key: the key is encrypted with a passphrase, which is not \
         supported; decrypt it first, as with `openssl pkey -in encrypted.pem -out plain.pem`"
    )]
    EncryptedKey,
    /// The private key or its certificate cannot be used.
    #[error("load identity: {0}")]
    InvalidIdentity(String),
    /// The private key does not belong to the certificate.
    #[error("load identity: the private key does not belong to the first certificate")]
    KeyMismatch,
    /// A certificate of an authority cannot be used as a trust anchor.
    #[error("load authorities: certificate {index} cannot be a trust anchor: {reason}")]
    InvalidAuthority {
        /// Its position in the PEM text, from 0.
        index: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// The roots of the operating system could not be loaded.
    #[error("load the system's root certificates: {0}")]
    PlatformRoots(String),
    /// A server was configured without a certificate.
    #[error("configure TLS server: no identity given")]
    NoIdentity,
    /// A protocol for ALPN is empty or longer than its length byte can say.
    #[error("configure TLS: an ALPN protocol has {length} bytes, allowed are 1 to 255")]
    InvalidAlpn {
        /// Its length in bytes.
        length: usize,
    },
    /// The oldest allowed version is newer than the newest.
    #[error("configure TLS: the minimum version is above the maximum version")]
    NoVersion,
    /// A client was asked to connect to something that is neither a DNS name nor an address.
    #[error("start TLS to {host:?}: {reason}")]
    InvalidServerName {
        /// What was given.
        host: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The peer's certificate was refused.
    #[error("verify the peer's certificate: {0}")]
    Certificate(#[source] CertificateFault),
    /// The peer presented no certificate where one is required.
    #[error("verify the peer's certificate: the peer presented none")]
    NoPeerCertificate,
    /// The peer ended the connection with an alert.
    #[error("the peer ended TLS with the alert {0}")]
    AlertReceived(Alert),
    /// Client and server have no application protocol in common.
    #[error("agree on an application protocol (ALPN): the client offered none of ours")]
    NoCommonProtocol,
    /// Client and server have no version, cipher suite, or key exchange in common.
    #[error("agree on TLS parameters with the peer: {0}")]
    Incompatible(String),
    /// What the peer sends is not TLS, or not a TLS message that can be parsed.
    #[error("read TLS record: the peer sent bytes that are not valid TLS ({0})")]
    Malformed(String),
    /// A record failed authentication: damaged or forged.
    #[error("read TLS record: a record failed authentication")]
    BadRecord,
    /// A record is larger than the protocol allows.
    #[error("read TLS record: a record carries more than 16384 bytes")]
    OversizedRecord,
    /// The peer's unfinished handshake message grew past the limit.
    #[error("read TLS handshake: an unfinished message exceeds {MAX_HANDSHAKE_BYTES} bytes")]
    HandshakeTooLarge,
    /// The peer broke a rule of the protocol.
    #[error("the peer broke the TLS protocol: {0}")]
    Misbehaved(String),
    /// The stream ended without `close_notify`: data may be missing.
    #[error("the TLS stream was cut: it ended without close_notify")]
    Truncated,
    /// The stream ended before the handshake did.
    #[error("the TLS stream was cut: it ended before the handshake did")]
    HandshakeTruncated,
    /// Data was to be sent before the handshake has finished.
    #[error("send over TLS: the handshake has not finished")]
    Handshaking,
    /// Data was to be sent after `close_notify`.
    #[error("send over TLS: close_notify was sent already")]
    Closed,
    /// So many records were sent with one key that more would be unsafe (TLS 1.2, which
    /// cannot renew its keys).
    #[error("send over TLS 1.2: the key has sealed {limit} records, its limit; reconnect")]
    KeyExhausted {
        /// The number of records that one key may seal.
        limit: u64,
    },
    /// A fault of this library or of the cryptography below it.
    #[error("TLS failed internally: {0}")]
    Internal(String),
}

/// The coarse class of an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Files, certificates, keys, names or options that the application gave are unusable.
    Configuration,
    /// The peer's certificate was refused, or missing.
    Certificate,
    /// The peer refused us with an alert.
    Refused,
    /// The two sides have nothing in common.
    Incompatible,
    /// The peer does not speak TLS correctly.
    Protocol,
    /// The stream ended early.
    Truncated,
    /// The connection was used at the wrong time.
    Usage,
    /// The cipher's limit was reached.
    Exhausted,
    /// A fault on our side.
    Internal,
}

impl Error {
    /// The error's coarse class.
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::ReadFile { .. }
            | Self::FileTooLarge { .. }
            | Self::InvalidPem { .. }
            | Self::NoCertificate { .. }
            | Self::NoPrivateKey
            | Self::EncryptedKey
            | Self::InvalidIdentity(_)
            | Self::KeyMismatch
            | Self::InvalidAuthority { .. }
            | Self::PlatformRoots(_)
            | Self::NoIdentity
            | Self::InvalidAlpn { .. }
            | Self::NoVersion
            | Self::InvalidServerName { .. } => ErrorKind::Configuration,
            Self::Certificate(_) | Self::NoPeerCertificate => ErrorKind::Certificate,
            Self::AlertReceived(_) => ErrorKind::Refused,
            Self::NoCommonProtocol | Self::Incompatible(_) => ErrorKind::Incompatible,
            Self::Malformed(_)
            | Self::BadRecord
            | Self::OversizedRecord
            | Self::HandshakeTooLarge
            | Self::Misbehaved(_) => ErrorKind::Protocol,
            Self::Truncated | Self::HandshakeTruncated => ErrorKind::Truncated,
            Self::Handshaking | Self::Closed => ErrorKind::Usage,
            Self::KeyExhausted { .. } => ErrorKind::Exhausted,
            Self::Internal(_) => ErrorKind::Internal,
        }
    }
}

impl From<rustls::Error> for Error {
    fn from(error: rustls::Error) -> Self {
        use rustls::Error as E;
        match error {
            E::InvalidCertificate(fault) => Self::Certificate(fault.into()),
            E::NoCertificatesPresented => Self::NoPeerCertificate,
            E::AlertReceived(alert) => Self::AlertReceived(Alert::new(alert.into())),
            E::NoApplicationProtocol => Self::NoCommonProtocol,
            E::PeerIncompatible(why) => Self::Incompatible(format!("{why:?}")),
            E::InvalidMessage(InvalidMessage::HandshakePayloadTooLarge) => Self::HandshakeTooLarge,
            E::InvalidMessage(why) => Self::Malformed(format!("{why:?}")),
            E::PeerMisbehaved(why) => Self::Misbehaved(format!("{why:?}")),
            E::DecryptError => Self::BadRecord,
            E::PeerSentOversizedRecord => Self::OversizedRecord,
            E::InconsistentKeys(InconsistentKeys::KeyMismatch) => Self::KeyMismatch,
            E::General(why) => Self::Internal(why),
            unexpected @ (E::InappropriateMessage { .. }
            | E::InappropriateHandshakeMessage { .. }) => Self::Misbehaved(unexpected.to_string()),
            other => Self::Internal(other.to_string()),
        }
    }
}
