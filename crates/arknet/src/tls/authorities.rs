//! Whom we trust: certificate authorities.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use rustls::RootCertStore;
use rustls_pki_types::CertificateDer;

use super::error::Error;
use super::pem;

/// A set of certificate authorities, at least one. Cheap to clone.
#[derive(Clone)]
pub struct Authorities(Arc<Inner>);

struct Inner {
    store: Arc<RootCertStore>,
    certificates: Vec<CertificateDer<'static>>,
}

impl Authorities {
    /// Parses all certificates of a PEM text as trust anchors.
    ///
    /// # Errors
    ///
    /// [`Error::NoCertificate`] or [`Error::InvalidPem`] when the text is not what it should
    /// be, [`Error::InvalidAuthority`] when a certificate in it cannot be a trust anchor.
    pub fn from_pem(certificates: impl AsRef<[u8]>) -> Result<Self, Error> {
        let certificates = pem::certificates(certificates.as_ref(), "the authorities")?;
        let mut store = RootCertStore::empty();
        for (index, certificate) in certificates.iter().enumerate() {
            store
                .add(certificate.clone())
                .map_err(|error| Error::InvalidAuthority {
                    index,
                    reason: match Error::from(error) {
                        Error::Certificate(fault) => fault.to_string(),
                        other => other.to_string(),
                    },
                })?;
        }
        Ok(Self(Arc::new(Inner {
            store: Arc::new(store),
            certificates,
        })))
    }

    /// The same from a file of at most 8 MiB.
    ///
    /// # Errors
    ///
    /// [`Error::ReadFile`] and [`Error::FileTooLarge`] besides those of
    /// [`from_pem`](Self::from_pem).
    pub fn from_pem_file(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::from_pem(pem::read_file(path.as_ref())?)
    }

    pub(super) fn store(&self) -> Arc<RootCertStore> {
        Arc::clone(&self.0.store)
    }

    pub(super) fn certificates(&self) -> &[CertificateDer<'static>] {
        &self.0.certificates
    }
}

impl fmt::Debug for Authorities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authorities")
            .field("certificates", &self.0.certificates.len())
            .finish_non_exhaustive()
    }
}

/// Against which authorities a client verifies its servers.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Roots {
    /// Those that the operating system trusts. The default.
    #[default]
    Platform,
    /// Those of the operating system and these.
    PlatformAnd(Authorities),
    /// Only these.
    Authorities(Authorities),
}

impl From<Authorities> for Roots {
    fn from(authorities: Authorities) -> Self {
        Self::Authorities(authorities)
    }
}
