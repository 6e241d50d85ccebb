//! The same over TLS and over Unix domain sockets, both ends of it an owner's.

use arknet::owner::net::{Client, Server, Session};
use arknet::tcp::{ClientConfig, Framing, ServerConfig};
use arknet::tls::{self, Authorities};
use arknet_testkit::certs::{Authority, Usage};

use super::rig::{everywhere, text};
use crate::support::Stage;

#[derive(Default)]
struct World {
    heard: Vec<String>,
    gone: usize,
}

fn both_ways(stage: &mut Stage<World>, address: &str, server: ServerConfig, client: ClientConfig) {
    let framing = Framing::LengthPrefix;
    let server = Server::start(stage, address, server.framing(framing.clone()), |_, _| {
        |_: &mut World, session: &Session, message: &[u8]| {
            session.send(format!("{}?", text(message))).unwrap();
        }
    })
    .unwrap();
    let client = client.framing(framing);
    let client = Client::run(
        stage,
        server.local_addr().to_string(),
        client,
        |cx, mut connection| async move {
            for word in ["one", "two", &"x".repeat(100_000)] {
                connection.send(word).unwrap();
                let answer = connection.recv_with(text).await.unwrap().unwrap();
                assert_eq!(answer, format!("{word}?"));
                cx.with(|world| world.heard.push(answer));
            }
            drop(connection);
            cx.with(|world| world.gone += 1);
        },
    )
    .unwrap();
    stage.until(|world| world.gone == 1);
    assert_eq!(stage.world.heard.len(), 3);
    while !server.is_empty() || client.session().is_some() {
        let _ = stage.update();
    }
}

#[test]
fn over_tls() {
    let authority = Authority::new("tests").unwrap();
    let issued = authority.issue(&["127.0.0.1"], Usage::Server).unwrap();
    let identity = tls::Identity::from_pem(issued.cert_pem(), issued.key_pem()).unwrap();
    let server = tls::ServerConfig::builder()
        .identity(identity)
        .build()
        .unwrap();
    let roots = Authorities::from_pem(authority.cert_pem()).unwrap();
    let client = tls::ClientConfig::builder().roots(roots).build().unwrap();
    everywhere::<World>(|stage| {
        both_ways(
            stage,
            "127.0.0.1:0",
            ServerConfig::new().tls(server.clone()),
            ClientConfig::new().tls(client.clone()),
        );
    });
}

#[cfg(unix)]
#[test]
fn over_unix_domain_sockets() {
    let folder = arknet_testkit::temp::TempDir::new("owner-net").unwrap();
    let path = folder.path().join("socket");
    everywhere::<World>(|stage| {
        both_ways(
            stage,
            &format!("unix:{}", path.display()),
            ServerConfig::new(),
            ClientConfig::new(),
        );
    });
}
