//! What clients and servers configure alike.

use rustls::SupportedProtocolVersion;
use rustls::version::{TLS12, TLS13};

use super::error::Error;
use super::info::Version;

/// ALPN and versions; both builders hold one.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) alpn: Vec<Vec<u8>>,
    pub(super) minimum: Version,
    pub(super) maximum: Version,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            alpn: Vec::new(),
            minimum: Version::Tls12,
            maximum: Version::Tls13,
        }
    }
}

impl Options {
    pub(super) fn set_alpn<P: Into<Vec<u8>>>(&mut self, protocols: impl IntoIterator<Item = P>) {
        self.alpn = protocols.into_iter().map(Into::into).collect();
    }

    /// Refuses what RFC 7301 section 3.1 cannot express.
    pub(super) fn checked_alpn(&self) -> Result<Vec<Vec<u8>>, Error> {
        match self
            .alpn
            .iter()
            .find(|protocol| !(1..=255).contains(&protocol.len()))
        {
            Some(wrong) => Err(Error::InvalidAlpn {
                length: wrong.len(),
            }),
            None => Ok(self.alpn.clone()),
        }
    }

    pub(super) fn versions(&self) -> Result<Versions, Error> {
        static ONLY_TLS12: [&SupportedProtocolVersion; 1] = [&TLS12];
        static ONLY_TLS13: [&SupportedProtocolVersion; 1] = [&TLS13];
        static BOTH: [&SupportedProtocolVersion; 2] = [&TLS13, &TLS12];
        match (self.minimum, self.maximum) {
            (Version::Tls12, Version::Tls12) => Ok(&ONLY_TLS12),
            (Version::Tls12, Version::Tls13) => Ok(&BOTH),
            (Version::Tls13, Version::Tls13) => Ok(&ONLY_TLS13),
            (Version::Tls13, Version::Tls12) => Err(Error::NoVersion),
        }
    }
}

type Versions = &'static [&'static SupportedProtocolVersion];
