//! The owner's side of an embedded server.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::doors::{Door, knock};
use super::hub::Hub;
use super::{Options, Rule, Stats};
use crate::TempDir;
use crate::certs::{Authority, Identity, Usage};

/// The names in the server's certificate.
const NAMES: &[&str] = &["localhost", "127.0.0.1", "::1"];

/// An embedded MySQL-speaking server on a loopback port of its own; see the [module](super).
///
/// Dropping the server ends it, and every connection with it.
#[derive(Debug)]
pub struct EmbeddedServer {
    hub: Arc<Hub>,
    addr: SocketAddr,
    authority: Option<Authority>,
    doors: Vec<Door>,
    /// Holds the Unix socket, and goes after the threads.
    dir: TempDir,
}

impl EmbeddedServer {
    /// Starts a server.
    ///
    /// # Errors
    ///
    /// When the system has no port, file or thread left, or a certificate cannot be made.
    pub fn start(options: Options) -> io::Result<Self> {
        let dir = TempDir::new("arknet-embedded")?;
        let (mut authority, mut tls) = (None, None);
        if options.tls {
            let made = Authority::new("arknet embedded server").map_err(io::Error::other)?;
            let identity = made.issue(NAMES, Usage::Server).map_err(io::Error::other)?;
            tls = Some(configure(&identity)?);
            authority = Some(made);
        }
        let hub = Arc::new(Hub::new(options, tls));
        let (tcp, addr) = Door::tcp(&hub)?;
        #[cfg_attr(not(unix), expect(unused_mut, reason = "there is no second door"))]
        let mut server = Self {
            hub,
            addr,
            authority,
            doors: vec![tcp],
            dir,
        };
        #[cfg(unix)]
        server
            .doors
            .push(Door::unix(&server.hub, &server.socket())?);
        Ok(server)
    }

    /// Where it listens, in clear and with TLS.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Its Unix socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.dir.join("s")
    }

    /// The authority of the server's certificate.
    ///
    /// # Panics
    ///
    /// When it was started without TLS.
    #[must_use]
    pub fn authority(&self) -> &Authority {
        match &self.authority {
            Some(authority) => authority,
            None => panic!("the server at {} was started without TLS", self.addr),
        }
    }

    /// Adds a rule behind those that are there.
    pub fn add(&self, rule: Rule) {
        self.hub.add(rule);
    }

    /// Takes all rules back.
    pub fn clear_rules(&self) {
        self.hub.clear_rules();
    }

    /// Forgets which passwords it has seen, so that the next login of each account of
    /// `caching_sha2_password` has to show its own in full.
    pub fn forget_passwords(&self) {
        self.hub.forget_passwords();
    }

    /// Closes all clients, and says how many.
    pub fn close_all(&self) -> usize {
        self.hub.close_all()
    }

    /// What it has seen so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.hub.stats()
    }

    /// Waits until the counts are as `reached` wants them.
    ///
    /// # Errors
    ///
    /// `TimedOut` after `within`, with the counts in the message.
    pub fn wait_until(
        &self,
        within: Duration,
        reached: impl Fn(&Stats) -> bool,
    ) -> io::Result<Stats> {
        self.hub.wait_until(within, reached).map_err(|stats| {
            let message = format!("wait for server: not reached within {within:?}: {stats:?}");
            io::Error::new(io::ErrorKind::TimedOut, message)
        })
    }
}

impl Drop for EmbeddedServer {
    fn drop(&mut self) {
        self.hub.end();
        knock(self.addr, &self.socket());
        for door in &mut self.doors {
            door.join();
        }
    }
}

fn configure(identity: &Identity) -> io::Result<Arc<ServerConfig>> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let key = PrivateKeyDer::Pkcs8(identity.key_der().into());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(vec![CertificateDer::from(identity.cert_der())], key)
        .map_err(io::Error::other)?;
    Ok(Arc::new(config))
}
