//! TLS: a server with a certificate, and clients that verify it.
//!
//! ```sh
//! cargo run -p arknet --example tls                                        # shows it on loopback
//! cargo run -p arknet --example tls -- 127.0.0.1:7000 server.pem server.key
//! ```
//!
//! TLS is a line in the configuration; the handlers and tasks are the same. Here the certificate is made at run time; a
//! program of yours reads one from files, and reads it again with `reload` when it has been renewed.
#![allow(clippy::print_stdout, reason = "standard output belongs to programs")]

use std::error::Error;
use std::time::Duration;

use arknet::tcp::{ClientConfig, Framing, Server, ServerConfig, connect};
use arknet::tls::{self, Authorities, Identity};
use arknet::{Connection, Lanes};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, certificate, key] = &arguments[..] else {
        return demo();
    };
    let lanes = Lanes::sharded(2)?;
    let identity = Identity::from_pem_files(certificate, key)?;
    let server = serve(&lanes, address, identity)?;
    println!("serves on {}", server.local_addr());
    lanes.block_on(std::future::pending())?
}

fn serve(lanes: &Lanes, address: &str, identity: Identity) -> Result<Server, Box<dyn Error>> {
    let tls = tls::ServerConfig::builder().identity(identity).build()?;
    let config = ServerConfig::new().framing(Framing::LengthPrefix).tls(tls);
    Ok(Server::serve(lanes, address, config, answer)?)
}

/// Tells each client what was agreed on.
async fn answer(mut connection: Connection) {
    let agreed = match connection.tls() {
        Some(tls) => format!("{} with {}", tls.version, tls.cipher_suite),
        None => "nothing".to_owned(),
    };
    while let Ok(Some(_)) = connection.recv().await {
        if connection.send(&agreed).await.is_err() {
            return;
        }
    }
}

/// A client that trusts the server's certificate is answered; one that trusts others refuses it.
pub(crate) fn demo() -> Result<(), Box<dyn Error>> {
    let made =
        rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()])?;
    let (certificate, key) = (made.cert.pem(), made.signing_key.serialize_pem());

    let lanes = Lanes::sharded(2)?;
    let server = serve(
        &lanes,
        "127.0.0.1:0",
        Identity::from_pem(&certificate, key)?,
    )?;
    let trusting = tls::ClientConfig::builder()
        .roots(Authorities::from_pem(&certificate)?)
        .build()?;
    // Somebody else's certificate stands for whatever authorities there are that do not know this server.
    let other = stranger()?;
    let doubting = tls::ClientConfig::builder()
        .roots(Authorities::from_pem(other)?)
        .build()?;

    lanes.block_on(async {
        // The name that is verified is the host of the address; `tls_with_name` says another.
        let config = ClientConfig::new()
            .framing(Framing::LengthPrefix)
            .tls(trusting);
        let mut connection = connect(&lanes, server.local_addr(), config).await?;
        connection.send("what did we agree on?").await?;
        let agreed = connection.recv().await?.ok_or("no answer")?;
        println!("agreed on {}", String::from_utf8_lossy(&agreed));
        assert!(agreed.starts_with(b"TLS 1.3"));
        connection.close().await;

        let config = ClientConfig::new().tls(doubting);
        match connect(&lanes, server.local_addr(), config).await {
            Ok(_) => Err("connected to a server that nobody vouches for".into()),
            Err(refused) => {
                println!("refused: {refused}");
                Ok::<(), Box<dyn Error>>(())
            }
        }
    })??;
    server.shutdown(Duration::from_secs(5)).wait()?;
    Ok(())
}

fn stranger() -> Result<String, rcgen::Error> {
    let mut params = rcgen::CertificateParams::new(["other.example".to_owned()])?;
    params
        .distinguished_name
        .push(rcgen::DnType::CommonName, "other.example");
    Ok(params.self_signed(&rcgen::KeyPair::generate()?)?.pem())
}
