//! Why a certificate of the peer was refused.

use rustls::CertificateError;

/// What is wrong with the certificate that the peer presented.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateFault {
    /// No trusted authority issued it.
    #[error("issued by an unknown authority")]
    UnknownIssuer,
    /// It was issued for other names than the one that was asked for.
    #[error("not valid for the name {expected}, only for {}", list(presented))]
    NameMismatch {
        /// The DNS name or IP address that the client connected to.
        expected: String,
        /// The names in the certificate.
        presented: Vec<String>,
    },
    /// Its time is over, or that of an authority above it.
    #[error("expired")]
    Expired,
    /// Its time has not begun, or that of an authority above it.
    #[error("not valid yet")]
    NotYetValid,
    /// It was revoked by its issuer.
    #[error("revoked")]
    Revoked,
    /// It was issued for another purpose, such as a server's certificate shown by a client.
    #[error("not issued for this purpose")]
    WrongPurpose,
    /// A signature in the chain, or the peer's own in the handshake, is wrong.
    #[error("badly signed")]
    BadSignature,
    /// It cannot be parsed.
    #[error("badly encoded")]
    BadEncoding,
    /// Anything else, in the verifier's words.
    #[error("{0}")]
    Other(String),
}

impl From<CertificateError> for CertificateFault {
    fn from(error: CertificateError) -> Self {
        use CertificateError as E;
        match error {
            E::UnknownIssuer => Self::UnknownIssuer,
            E::NotValidForName => Self::NameMismatch {
                expected: "of the server".to_owned(),
                presented: Vec::new(),
            },
            E::NotValidForNameContext {
                expected,
                presented,
            } => Self::NameMismatch {
                expected: expected.to_str().into_owned(),
                presented,
            },
            E::Expired | E::ExpiredContext { .. } => Self::Expired,
            E::NotValidYet | E::NotValidYetContext { .. } => Self::NotYetValid,
            E::Revoked => Self::Revoked,
            E::InvalidPurpose | E::InvalidPurposeContext { .. } => Self::WrongPurpose,
            E::BadSignature => Self::BadSignature,
            E::BadEncoding => Self::BadEncoding,
            other => Self::Other(other.to_string()),
        }
    }
}

fn list(names: &[String]) -> String {
    if names.is_empty() {
        "others".to_owned()
    } else {
        names.join(", ")
    }
}
