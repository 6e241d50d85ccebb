//! Who we are: a certificate chain and its private key.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use rustls::sign::CertifiedKey;

use super::error::Error;
use super::pem;
use super::provider::provider;

/// A certificate chain with the private key of its first certificate. Cheap to clone.
///
/// `Debug` prints the number of certificates, never the key.
#[derive(Clone)]
pub struct Identity(Arc<CertifiedKey>);

impl Identity {
    /// Parses a certificate chain, own certificate first, and its private key (PKCS#8, PKCS#1
    /// or SEC1) from PEM text. Both may be the same text.
    ///
    /// # Errors
    ///
    /// [`Error::NoCertificate`], [`Error::NoPrivateKey`], [`Error::InvalidPem`] when the text
    /// is not what it should be; [`Error::EncryptedKey`] for a key under a passphrase;
    /// [`Error::KeyMismatch`] when the key is another certificate's;
    /// [`Error::InvalidIdentity`] when key or certificate cannot be used for TLS.
    pub fn from_pem(
        certificate_chain: impl AsRef<[u8]>,
        private_key: impl AsRef<[u8]>,
    ) -> Result<Self, Error> {
        let chain = pem::certificates(certificate_chain.as_ref(), "the certificate chain")?;
        let key = pem::private_key(private_key.as_ref())?;
        match CertifiedKey::from_der(chain, key, &provider()) {
            Ok(certified) => Ok(Self(Arc::new(certified))),
            Err(error) => Err(match Error::from(error) {
                Error::KeyMismatch => Error::KeyMismatch,
                Error::Certificate(fault) => {
                    Error::InvalidIdentity(format!("the first certificate is {fault}"))
                }
                Error::Internal(why) => Error::InvalidIdentity(why),
                other => Error::InvalidIdentity(other.to_string()),
            }),
        }
    }

    /// The same from two files, of at most 8 MiB each.
    ///
    /// # Errors
    ///
    /// [`Error::ReadFile`] and [`Error::FileTooLarge`] besides those of
    /// [`from_pem`](Self::from_pem).
    pub fn from_pem_files(
        certificate_chain: impl AsRef<Path>,
        private_key: impl AsRef<Path>,
    ) -> Result<Self, Error> {
        let chain = pem::read_file(certificate_chain.as_ref())?;
        let key = pem::read_file(private_key.as_ref())?;
        Self::from_pem(chain, key)
    }

    pub(super) fn certified_key(&self) -> Arc<CertifiedKey> {
        Arc::clone(&self.0)
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity")
            .field("certificates", &self.0.cert.len())
            .finish_non_exhaustive()
    }
}
