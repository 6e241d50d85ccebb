//! A client's configuration.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::sign::SingleCertAndKey;
use rustls_pki_types::ServerName;
use rustls_platform_verifier::Verifier;

use super::authorities::Roots;
use super::error::Error;
use super::identity::Identity;
use super::info::Version;
use super::options::Options;
use super::provider::provider;
use super::verify::{AcceptAnyCertificate, AcceptAnyName};

/// The configuration of a TLS client. Cheap to clone; clones share the remembered sessions.
#[derive(Clone)]
pub struct ClientConfig(Arc<rustls::ClientConfig>);

impl ClientConfig {
    /// A client that verifies its servers against the roots of the operating system.
    ///
    /// # Errors
    ///
    /// [`Error::PlatformRoots`] when they cannot be loaded.
    pub fn new() -> Result<Self, Error> {
        Self::builder().build()
    }

    /// Starts a configuration, with the defaults of [`new`](Self::new).
    pub fn builder() -> ClientConfigBuilder {
        ClientConfigBuilder {
            roots: Roots::Platform,
            identity: None,
            accept_any_certificate: false,
            accept_any_name: false,
            options: Options::default(),
        }
    }

    /// A configuration that no builder makes, such as one with a single cipher suite.
    #[cfg(test)]
    pub(super) fn from_rustls(config: rustls::ClientConfig) -> Self {
        Self(Arc::new(config))
    }

    pub(super) fn for_connection(&self) -> Arc<rustls::ClientConfig> {
        Arc::clone(&self.0)
    }
}

impl fmt::Debug for ClientConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientConfig")
            .field("identity", &self.0.client_auth_cert_resolver.has_certs())
            .field("alpn", &self.0.alpn_protocols)
            .finish_non_exhaustive()
    }
}

/// Builds a [`ClientConfig`].
#[derive(Clone, Debug)]
#[must_use]
pub struct ClientConfigBuilder {
    roots: Roots,
    identity: Option<Identity>,
    accept_any_certificate: bool,
    accept_any_name: bool,
    options: Options,
}

impl ClientConfigBuilder {
    /// Against which authorities servers are verified. Default: [`Roots::Platform`].
    pub fn roots(mut self, roots: impl Into<Roots>) -> Self {
        self.roots = roots.into();
        self
    }

    /// The certificate and key for servers that ask for one (mTLS). Default: none.
    pub fn identity(mut self, identity: Identity) -> Self {
        self.identity = Some(identity);
        self
    }

    /// The application protocols that are offered, the preferred one first, 1 to 255 bytes
    /// each. Default: none. Whether the server agreed is in [`Info::alpn`](super::Info).
    pub fn alpn<P: Into<Vec<u8>>>(mut self, protocols: impl IntoIterator<Item = P>) -> Self {
        self.options.set_alpn(protocols);
        self
    }

    /// The oldest version that is spoken. Default: [`Version::Tls12`].
    pub fn minimum_version(mut self, version: Version) -> Self {
        self.options.minimum = version;
        self
    }

    /// The newest version that is spoken. Default: [`Version::Tls13`].
    pub fn maximum_version(mut self, version: Version) -> Self {
        self.options.maximum = version;
        self
    }

    /// Accepts every certificate of every server: anybody on the way can read and change
    /// everything. For experiments only; [`build`](Self::build) logs a warning.
    pub fn dangerous_accept_any_certificate(mut self) -> Self {
        self.accept_any_certificate = true;
        self
    }

    /// Verifies the chain of a server's certificate, and not the name in it: whoever has a certificate of a trusted
    /// authority passes for the server. For authorities that issue to nobody else.
    pub fn accept_any_name(mut self) -> Self {
        self.accept_any_name = true;
        self
    }

    /// Checks everything and builds the configuration. Loads the roots of the system from
    /// disk where they are asked for: build once, clone often.
    ///
    /// # Errors
    ///
    /// [`Error::PlatformRoots`], [`Error::InvalidAlpn`], [`Error::NoVersion`].
    pub fn build(self) -> Result<ClientConfig, Error> {
        let alpn = self.options.checked_alpn()?;
        let builder = rustls::ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(self.options.versions()?)?
            .dangerous()
            .with_custom_certificate_verifier(self.verifier()?);
        let mut config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(
                identity.certified_key(),
            ))),
        };
        config.alpn_protocols = alpn;
        // rustls remembers the tickets of 256 servers, and never sends 0-RTT data unasked.
        config.enable_early_data = false;
        // The record pump takes the keys over after the handshake; they do not leave it.
        config.enable_secret_extraction = true;
        Ok(ClientConfig(Arc::new(config)))
    }

    fn verifier(&self) -> Result<Arc<dyn ServerCertVerifier>, Error> {
        if self.accept_any_certificate {
            tracing::warn!(
                "TLS client accepts any certificate: its servers are not authenticated and its \
                 traffic can be read and changed on the way"
            );
            return Ok(Arc::new(AcceptAnyCertificate::new(provider())));
        }
        let verifier = self.chain_verifier()?;
        if self.accept_any_name {
            return Ok(Arc::new(AcceptAnyName::new(verifier)));
        }
        Ok(verifier)
    }

    fn chain_verifier(&self) -> Result<Arc<dyn ServerCertVerifier>, Error> {
        let platform = |error: rustls::Error| Error::PlatformRoots(error.to_string());
        Ok(match &self.roots {
            Roots::Platform => Arc::new(Verifier::new(provider()).map_err(platform)?),
            Roots::PlatformAnd(more) => Arc::new(
                Verifier::new_with_extra_roots(more.certificates().iter().cloned(), provider())
                    .map_err(platform)?,
            ),
            Roots::Authorities(only) => {
                WebPkiServerVerifier::builder_with_provider(only.store(), provider())
                    .build()
                    .map_err(|error| Error::Internal(error.to_string()))?
            }
        })
    }
}

/// The name to verify, from a DNS name or the literal of an IP address, which may stand in
/// brackets or carry a zone as in URLs and socket addresses; certificates know neither.
pub(super) fn server_name(host: &str) -> Result<ServerName<'static>, Error> {
    let refuse = |reason| Error::InvalidServerName {
        host: host.to_owned(),
        reason,
    };
    if host.is_empty() {
        return Err(refuse("the host name is empty"));
    }
    if host.contains('\0') {
        return Err(refuse("the host name contains a NUL byte"));
    }
    let bare = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(host);
    let unzoned = bare
        .split_once('%')
        .map_or(bare, |(address, _zone)| address);
    if let Ok(address) = unzoned.parse::<IpAddr>() {
        return Ok(ServerName::IpAddress(address.into()));
    }
    ServerName::try_from(host.to_owned())
        .map_err(|_| refuse("it is neither a DNS name nor an IP address"))
}
