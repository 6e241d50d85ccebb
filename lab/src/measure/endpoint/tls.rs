//! Certificates for one run: an authority that only its clients know.

use arknet::tls::{Authorities, ClientConfig, Identity, ServerConfig};
use arknet_testkit::certs::{Authority, Usage};

use crate::measure::Error;
use crate::measure::config::AddressFamily;

/// A server's identity for the loopback address, and clients that verify it.
pub(super) fn configurations(family: AddressFamily) -> Result<(ServerConfig, ClientConfig), Error> {
    let authority =
        Authority::new("arknet-lab").map_err(Error::setup("make a certificate authority"))?;
    let identity = authority
        .issue(&[&family.loopback().to_string()], Usage::Server)
        .map_err(Error::setup("issue a certificate"))?;
    let identity = Identity::from_pem(identity.cert_pem(), identity.key_pem());
    let roots = Authorities::from_pem(authority.cert_pem());
    let configure = |e| Error::setup("configure TLS")(e);
    let server = ServerConfig::builder()
        .identity(identity.map_err(configure)?)
        .build();
    let client = ClientConfig::builder()
        .roots(roots.map_err(configure)?)
        .build();
    Ok((server.map_err(configure)?, client.map_err(configure)?))
}
