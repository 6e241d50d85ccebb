//! Mutual TLS: the server asks its clients who they are, and lets in only those that its authority vouches for.
//!
//! ```sh
//! cargo run -p arknet --example mtls                     # shows it on loopback
//! cargo run -p arknet --example mtls -- 127.0.0.1:7000 server.pem server.key clients.pem
//! ```
#![allow(clippy::print_stdout, reason = "standard output belongs to programs")]

use std::error::Error;
use std::time::Duration;

use arknet::tcp::{ClientConfig, Framing, Server, ServerConfig, connect};
use arknet::tls::{self, Authorities, ClientAuth, Identity};
use arknet::{Handler, Lanes, Session};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, certificate, key, clients] = &arguments[..] else {
        return demo();
    };
    let lanes = Lanes::sharded(2)?;
    let identity = Identity::from_pem_files(certificate, key)?;
    let server = serve(
        &lanes,
        address,
        identity,
        Authorities::from_pem_file(clients)?,
    )?;
    println!("serves on {}", server.local_addr());
    lanes.block_on(std::future::pending())?
}

fn serve(
    lanes: &Lanes,
    address: &str,
    identity: Identity,
    clients: Authorities,
) -> Result<Server, Box<dyn Error>> {
    let tls = tls::ServerConfig::builder()
        .identity(identity)
        .client_auth(ClientAuth::Required(clients))
        .build()?;
    let config = ServerConfig::new().framing(Framing::LengthPrefix).tls(tls);
    Ok(Server::start(lanes, address, config, |_| Greeter)?)
}

/// Greets a client with what it knows of it: its certificate has been verified when the session opens.
struct Greeter;

impl Handler for Greeter {
    fn on_open(&mut self, session: &mut Session) {
        let certificates = session
            .tls()
            .map(|tls| tls.peer_certificates)
            .unwrap_or_default();
        let length = certificates.first().map_or(0, Vec::len);
        if session
            .send(format!("hello, certificate of {length} bytes"))
            .is_err()
        {
            session.close();
        }
    }

    fn on_message(&mut self, _: &mut Session, _: &[u8]) {}
}

/// A client with a certificate is let in, one without is not.
pub(crate) fn demo() -> Result<(), Box<dyn Error>> {
    let authority = Authority::new()?;
    let trusted = Authorities::from_pem(authority.0.pem())?;
    let lanes = Lanes::sharded(2)?;
    let identity = authority.issue("127.0.0.1", ExtendedKeyUsagePurpose::ServerAuth)?;
    let server = serve(&lanes, "127.0.0.1:0", identity, trusted.clone())?;

    let stranger = tls::ClientConfig::builder().roots(trusted);
    let member = authority.issue("member.example", ExtendedKeyUsagePurpose::ClientAuth)?;
    let member = stranger.clone().identity(member);
    lanes.block_on(async {
        let config = ClientConfig::new().framing(Framing::LengthPrefix);
        let config = config.tls(member.build()?);
        let mut connection = connect(&lanes, server.local_addr(), config).await?;
        let greeting = connection.recv().await?.ok_or("no greeting")?;
        println!("the member hears: {}", String::from_utf8_lossy(&greeting));
        connection.close().await;

        // In TLS 1.3 the client is done before the server has seen its certificate: the refusal comes with the first
        // message that it waits for.
        let config = ClientConfig::new().framing(Framing::LengthPrefix);
        let config = config.tls(stranger.build()?);
        let refused = match connect(&lanes, server.local_addr(), config).await {
            Ok(mut connection) => connection.recv().await.err(),
            Err(refused) => Some(refused),
        };
        println!(
            "the stranger hears: {}",
            refused.ok_or("a stranger was let in")?
        );
        Ok::<(), Box<dyn Error>>(())
    })??;
    server.shutdown(Duration::from_secs(5)).wait()?;
    Ok(())
}

/// Made at run time, for this demonstration.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Result<Self, rcgen::Error> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        CertifiedIssuer::self_signed(params, KeyPair::generate()?).map(Self)
    }

    fn issue(
        &self,
        name: &str,
        usage: ExtendedKeyUsagePurpose,
    ) -> Result<Identity, Box<dyn Error>> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new([name.to_owned()])?;
        params.extended_key_usages = vec![usage];
        let certificate = params.signed_by(&key, &self.0)?;
        Ok(Identity::from_pem(certificate.pem(), key.serialize_pem())?)
    }
}
