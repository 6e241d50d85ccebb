//! A server's configuration, whose certificate can be replaced while it runs.

use std::fmt;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use rustls::crypto::aws_lc_rs::Ticketer;
use rustls::server::{ClientHello, ResolvesServerCert, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;

use super::authorities::Authorities;
use super::error::Error;
use super::identity::Identity;
use super::info::Version;
use super::options::Options;
use super::provider::provider;

/// Whether clients must show who they are.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum ClientAuth {
    /// Clients are not asked for a certificate. The default.
    #[default]
    None,
    /// Clients are asked; one that presents nothing is let in, one that presents a
    /// certificate of another authority is not.
    Optional(Authorities),
    /// Only clients with a certificate of these authorities are let in (mTLS).
    ///
    /// In TLS 1.3 the client's handshake ends before the server has seen its certificate: a
    /// client that is refused believes to be connected until the alert reaches it.
    Required(Authorities),
}

/// The configuration of a TLS server. Cheap to clone; clones share the certificate.
#[derive(Clone)]
pub struct ServerConfig(Arc<Shared>);

struct Shared {
    config: rustls::ServerConfig,
    identity: RwLock<Identity>,
}

impl ServerConfig {
    /// Starts a configuration; an [`identity`](ServerConfigBuilder::identity) is needed.
    pub fn builder() -> ServerConfigBuilder {
        ServerConfigBuilder {
            identity: None,
            client_auth: ClientAuth::None,
            options: Options::default(),
        }
    }

    /// Replaces the certificate that handshakes present from now on, in all clones. Safe at
    /// any time: open connections and handshakes under way keep what they started with, and
    /// sessions of before can still be resumed.
    pub fn reload(&self, identity: Identity) {
        // Poison means that a thread panicked between two states; there is only one store.
        *self
            .0
            .identity
            .write()
            .unwrap_or_else(PoisonError::into_inner) = identity;
    }

    /// The configuration of one connection, and where its handshake leaves the name that the
    /// client asked for. rustls shows that name to the certificate resolver only, so each
    /// connection brings its own.
    pub(super) fn for_connection(&self) -> (Arc<rustls::ServerConfig>, Arc<Presented>) {
        let identity = self
            .0
            .identity
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let presented = Arc::new(Presented {
            key: identity.certified_key(),
            server_name: OnceLock::new(),
        });
        let mut config = self.0.config.clone();
        config.cert_resolver = Arc::clone(&presented) as Arc<dyn ResolvesServerCert>;
        (Arc::new(config), presented)
    }
}

impl fmt::Debug for ServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let identity = self
            .0
            .identity
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        f.debug_struct("ServerConfig")
            .field("identity", &*identity)
            .finish_non_exhaustive()
    }
}

/// What one handshake presents, and what it was asked for.
pub(super) struct Presented {
    key: Arc<CertifiedKey>,
    server_name: OnceLock<String>,
}

impl Presented {
    pub(super) fn server_name(&self) -> Option<String> {
        self.server_name.get().cloned()
    }
}

impl ResolvesServerCert for Presented {
    fn resolve(&self, client_hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        if let Some(name) = client_hello.server_name() {
            // A second hello repeats the name of the first; rustls refuses another.
            let _ = self.server_name.set(name.to_owned());
        }
        Some(Arc::clone(&self.key))
    }
}

impl fmt::Debug for Presented {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Presented")
            .field("server_name", &self.server_name)
            .finish_non_exhaustive()
    }
}

/// Builds a [`ServerConfig`].
#[derive(Clone, Debug)]
#[must_use]
pub struct ServerConfigBuilder {
    identity: Option<Identity>,
    client_auth: ClientAuth,
    options: Options,
}

impl ServerConfigBuilder {
    /// The certificate and key that the server presents. Required.
    pub fn identity(mut self, identity: Identity) -> Self {
        self.identity = Some(identity);
        self
    }

    /// Whether clients must present a certificate. Default: [`ClientAuth::None`].
    pub fn client_auth(mut self, client_auth: ClientAuth) -> Self {
        self.client_auth = client_auth;
        self
    }

    /// The application protocols that the server speaks, the preferred one first, 1 to 255
    /// bytes each. Default: none, any client is accepted and nothing is agreed. A client
    /// that names only others is refused; one that names none is accepted.
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

    /// Checks everything and builds the configuration.
    ///
    /// # Errors
    ///
    /// [`Error::NoIdentity`], [`Error::InvalidAlpn`], [`Error::NoVersion`].
    pub fn build(self) -> Result<ServerConfig, Error> {
        let identity = self.identity.ok_or(Error::NoIdentity)?;
        let alpn = self.options.checked_alpn()?;
        let builder = rustls::ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(self.options.versions()?)?;
        let verifier = match self.client_auth {
            ClientAuth::None => WebPkiClientVerifier::no_client_auth(),
            ClientAuth::Optional(authorities) => verifier(&authorities, true)?,
            ClientAuth::Required(authorities) => verifier(&authorities, false)?,
        };
        let never_asked = Presented {
            key: identity.certified_key(),
            server_name: OnceLock::new(),
        };
        let mut config = builder
            .with_client_cert_verifier(verifier)
            .with_cert_resolver(Arc::new(never_asked));
        config.alpn_protocols = alpn;
        // Sealed tickets instead of a table of sessions: no memory per client, and none that
        // an attacker could fill. 0-RTT stays off (`max_early_data_size` is 0).
        config.ticketer = Ticketer::new()?;
        // The record pump takes the keys over after the handshake; they do not leave it.
        config.enable_secret_extraction = true;
        Ok(ServerConfig(Arc::new(Shared {
            config,
            identity: RwLock::new(identity),
        })))
    }
}

fn verifier(
    authorities: &Authorities,
    optional: bool,
) -> Result<Arc<dyn rustls::server::danger::ClientCertVerifier>, Error> {
    let builder = WebPkiClientVerifier::builder_with_provider(authorities.store(), provider());
    let builder = if optional {
        builder.allow_unauthenticated()
    } else {
        builder
    };
    builder
        .build()
        .map_err(|error| Error::Internal(error.to_string()))
}
