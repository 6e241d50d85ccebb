//! The authority that both ends trust, and what each shows.

use arknet::tls::{Authorities, ClientConfig, ClientConfigBuilder, Identity, ServerConfig};
use arknet_testkit::certs::{Authority, Identity as Issued, Usage};

/// An authority with a server's certificate for `localhost` and `127.0.0.1`, and a client's.
pub(crate) struct Keys {
    pub(crate) authority: Authority,
    pub(crate) server: Issued,
    pub(crate) client: Issued,
}

impl Keys {
    pub(crate) fn new() -> Self {
        let authority = Authority::new("faults").unwrap();
        let server = authority
            .issue(&["localhost", "127.0.0.1"], Usage::Server)
            .unwrap();
        let client = authority.issue(&["client.test"], Usage::Client).unwrap();
        Self {
            authority,
            server,
            client,
        }
    }

    pub(crate) fn authorities(&self) -> Authorities {
        Authorities::from_pem(self.authority.cert_pem()).unwrap()
    }

    pub(crate) fn identity(issued: &Issued) -> Identity {
        Identity::from_pem(issued.cert_pem(), issued.key_pem()).unwrap()
    }

    pub(crate) fn server_config(&self) -> ServerConfig {
        let identity = Self::identity(&self.server);
        ServerConfig::builder().identity(identity).build().unwrap()
    }

    pub(crate) fn client_builder(&self) -> ClientConfigBuilder {
        ClientConfig::builder().roots(self.authorities())
    }

    pub(crate) fn client_config(&self) -> ClientConfig {
        self.client_builder().build().unwrap()
    }
}
