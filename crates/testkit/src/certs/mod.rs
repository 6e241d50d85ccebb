//! Certificates at run time: good ones, and each kind of bad one that a verifier must refuse.
//!
//! Keys are ECDSA P-256: quick to make, unlike RSA's, and every peer speaks them. Nothing here is written to disk unless [`write_to`](Identity::write_to) is called.
//!
//! | a verifier must refuse | made by |
//! |---|---|
//! | an expired certificate, one that is not valid yet | [`Authority::issue_valid`] with [`Validity`] |
//! | a certificate for another name | [`Authority::issue`] with that name |
//! | a self-signed certificate | [`Identity::self_signed`] |
//! | a certificate of an authority that it does not trust | a second [`Authority`], even of the same name |
//! | a client's certificate used by a server, and the reverse | [`Usage`] |
//! | an encrypted key | [`Identity::encrypted_key_pem`], [`ENCRYPTED_KEY_PEM`] |

mod identity;

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{fs, io};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose, date_time_ymd,
};

pub use identity::{Files, Identity};

/// A P-256 key in PKCS#8 PEM, encrypted (PBES2, AES-256-CBC) under [`ENCRYPTED_KEY_PASSPHRASE`],
/// for tests that need one where `openssl` is not installed. It belongs to no certificate.
pub const ENCRYPTED_KEY_PEM: &str = include_str!("encrypted-test-key.pem");

/// What opens [`ENCRYPTED_KEY_PEM`].
pub const ENCRYPTED_KEY_PASSPHRASE: &str = "arknet-test";

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Clocks of test machines disagree; a certificate made this moment must be valid to all of them.
const BACKDATED: Duration = DAY;

/// Outlives any test run, and stays far under the ages that verifiers refuse.
const LIFETIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Why a certificate, a key or a file could not be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A name is no DNS name, or the cryptography failed.
    #[error("make certificate for {subject}: {source}")]
    Generate {
        /// Whom the certificate was for.
        subject: String,
        /// What rcgen says.
        source: rcgen::Error,
    },
    /// A file could not be written.
    #[error("write {path}: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// `openssl` is not installed, or refused.
    #[error("encrypt key with openssl: {0}")]
    Openssl(String),
}

/// What a certificate may be used for (RFC 5280 section 4.2.1.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// To prove a server to its clients.
    Server,
    /// To prove a client to its server (mTLS).
    Client,
    /// Both, for peers that are now the one and now the other.
    Both,
}

/// When a certificate is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    /// From yesterday for 30 days.
    Now,
    /// It ended yesterday.
    Expired,
    /// It begins tomorrow.
    NotYet,
}

/// A certificate authority with a key of its own.
///
/// Two authorities never trust each other's certificates, even when they bear the same name.
#[derive(Debug)]
pub struct Authority {
    name: String,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    /// Makes a root authority whose common name is `name`.
    ///
    /// # Errors
    ///
    /// When the cryptography fails.
    pub fn new(name: &str) -> Result<Self, Error> {
        Self::make(name).map_err(|source| Error::Generate {
            subject: name.to_owned(),
            source,
        })
    }

    /// Issues a certificate that is valid now for `names`: DNS names (a wildcard such as
    /// `*.example.test` is one) and IP addresses in text, mixed as one likes.
    ///
    /// # Errors
    ///
    /// When a name is neither, or the cryptography fails.
    pub fn issue(&self, names: &[&str], usage: Usage) -> Result<Identity, Error> {
        self.issue_valid(names, usage, Validity::Now)
    }

    /// Issues a certificate as [`issue`](Authority::issue), valid when `validity` says.
    ///
    /// # Errors
    ///
    /// As [`issue`](Authority::issue).
    pub fn issue_valid(
        &self,
        names: &[&str],
        usage: Usage,
        validity: Validity,
    ) -> Result<Identity, Error> {
        Identity::make(names, |key| {
            let mut params = leaf(names, usage, validity)?;
            params.use_authority_key_identifier_extension = true;
            params.signed_by(key, &self.issuer)
        })
    }

    /// The common name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The authority's own certificate in PEM: what a verifier is told to trust.
    #[must_use]
    pub fn cert_pem(&self) -> String {
        self.issuer.pem()
    }

    /// The authority's own certificate in DER.
    #[must_use]
    pub fn cert_der(&self) -> Vec<u8> {
        self.issuer.der().to_vec()
    }

    /// Writes the certificate as `<stem>.pem` into `dir` and returns its path.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn write_to(&self, dir: impl AsRef<Path>, stem: &str) -> Result<PathBuf, Error> {
        let path = dir.as_ref().join(format!("{stem}.pem"));
        match fs::write(&path, self.cert_pem()) {
            Ok(()) => Ok(path),
            Err(source) => Err(Error::Write { path, source }),
        }
    }

    fn make(name: &str) -> Result<Self, rcgen::Error> {
        let mut params = CertificateParams::default();
        params.distinguished_name = common_name(name);
        // No intermediate below it: the tests' chains have two certificates.
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        set_validity(&mut params, Validity::Now);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        Ok(Self {
            name: name.to_owned(),
            issuer,
        })
    }
}

/// The parameters of a certificate that signs no other.
fn leaf(
    names: &[&str],
    usage: Usage,
    validity: Validity,
) -> Result<CertificateParams, rcgen::Error> {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let subject = names.first().cloned().unwrap_or_default();
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = common_name(&subject);
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = match usage {
        Usage::Server => vec![ExtendedKeyUsagePurpose::ServerAuth],
        Usage::Client => vec![ExtendedKeyUsagePurpose::ClientAuth],
        Usage::Both => {
            vec![
                ExtendedKeyUsagePurpose::ServerAuth,
                ExtendedKeyUsagePurpose::ClientAuth,
            ]
        }
    };
    set_validity(&mut params, validity);
    Ok(params)
}

fn common_name(name: &str) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    distinguished
}

fn set_validity(params: &mut CertificateParams, validity: Validity) {
    // A clock before 1970 is no clock; the certificates are then of 1970.
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or(LIFETIME);
    let (from, to) = match validity {
        Validity::Now => (now.saturating_sub(BACKDATED), now + LIFETIME),
        Validity::Expired => (now.saturating_sub(LIFETIME), now.saturating_sub(DAY)),
        Validity::NotYet => (now + DAY, now + LIFETIME),
    };
    let epoch = date_time_ymd(1970, 1, 1);
    params.not_before = epoch + from;
    params.not_after = epoch + to;
}
