//! What a driver talks through: TCP, TLS over it, a Unix socket.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arknet_testkit::certs::{Authority, Identity};
use rustls::client::WantsClientCert;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, ConfigBuilder, RootCertStore, StreamOwned};

/// A server on this machine that says nothing for so long says nothing any more.
const SILENCE: Duration = Duration::from_secs(40);

pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Stream {
    pub(crate) fn tcp(addr: SocketAddr) -> Self {
        let stream = TcpStream::connect(addr).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(SILENCE)).unwrap();
        Self::Tcp(stream)
    }

    pub(crate) fn unix(path: &Path) -> Self {
        let stream = UnixStream::connect(path).unwrap();
        stream.set_read_timeout(Some(SILENCE)).unwrap();
        Self::Unix(stream)
    }

    /// TLS from here on, with a server at 127.0.0.1 that this trust is for.
    pub(crate) fn start_tls(self, trust: &Arc<ClientConfig>) -> Self {
        let Self::Tcp(stream) = self else {
            panic!("TLS is over TCP");
        };
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let client = ClientConnection::new(Arc::clone(trust), name).unwrap();
        Self::Tls(Box::new(StreamOwned::new(client, stream)))
    }
}

/// A client that trusts this authority only.
pub(crate) fn trust(authority: &Authority) -> Arc<ClientConfig> {
    Arc::new(verifying(authority).with_no_client_auth())
}

/// A client that trusts this authority only, and shows a certificate of its own.
pub(crate) fn trust_and_show(authority: &Authority, identity: &Identity) -> Arc<ClientConfig> {
    let key = PrivateKeyDer::Pkcs8(identity.key_der().into());
    let chain = vec![CertificateDer::from(identity.cert_der())];
    let config = verifying(authority).with_client_auth_cert(chain, key);
    Arc::new(config.unwrap())
}

fn verifying(authority: &Authority) -> ConfigBuilder<ClientConfig, WantsClientCert> {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from(authority.cert_der()))
        .unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(into),
            Self::Unix(stream) => stream.read(into),
            Self::Tls(stream) => stream.read(into),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.flush(),
            Self::Unix(stream) => stream.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}
