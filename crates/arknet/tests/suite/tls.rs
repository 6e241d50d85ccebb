//! TLS below the endpoints: who is verified, what is told, and what a refusal says. Independent peers, mutual TLS and
//! damaged streams are in `tests/faults/`.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use arknet::tcp::{ClientConfig, Error, ErrorKind, Framing, ReconnectPolicy, Server, connect};
use arknet::tls::{self, Version};
use arknet::{Lanes, Session};
use arknet_testkit::certs::{Authority, Usage};

use crate::harness::{Cell, Host, LIMIT, Role, Style, Transport, log, receive, wait};

mod over_tls {
    mod callbacks {
        in_every_cell!(@models super::super::both_ends_know_what_was_agreed, Tcps, Callbacks);
    }
    mod tasks {
        in_every_cell!(@models super::super::both_ends_know_what_was_agreed, Tcps, Tasks);
    }
}

/// What TLS agreed on, asked on the session's lane.
fn info(session: &arknet::SessionHandle) -> tls::Info {
    let (told, info) = channel();
    let ask = move |session: &mut Session| told.send(session.tls()).unwrap();
    session.post(ask).unwrap();
    receive(&info, "the answer").unwrap()
}

fn both_ends_know_what_was_agreed(cell: Cell) {
    let host = Host::new(cell);
    let (server, _, seen) = host.server(host.server_config(), Role::Echo);
    let (client, log) = host.client(&server, host.client_config());
    log.opened();
    let session = seen.opened();
    for (end, handle) in [("server", &session), ("client", client.handle())] {
        let info = info(handle);
        assert!(info.version >= Version::Tls12, "{end}: {info:?}");
    }
    assert_eq!(info(&session).server_name.as_deref(), Some("localhost"));
    host.finish();
}

/// A TLS server whose certificate has these names, and a client's configuration that trusts its authority.
fn server(lanes: &Lanes, address: &str, names: &[&str]) -> (Server, tls::ClientConfig) {
    let authority = Authority::new("suite").unwrap();
    let issued = authority.issue(names, Usage::Server).unwrap();
    let identity = tls::Identity::from_pem(issued.cert_pem(), issued.key_pem()).unwrap();
    let roots = tls::Authorities::from_pem(authority.cert_pem()).unwrap();
    let config = arknet::tcp::ServerConfig::new()
        .framing(Framing::LengthPrefix)
        .tls(
            tls::ServerConfig::builder()
                .identity(identity)
                .build()
                .unwrap(),
        );
    // It says by which name it was asked.
    let serve = |mut connection: arknet::Connection| async move {
        let name = connection.tls().and_then(|info| info.server_name);
        let name = name.unwrap_or_else(|| "no name".to_owned());
        connection.send(name).await.unwrap();
        while let Ok(Some(_)) = connection.recv().await {}
    };
    let server = Server::serve(lanes, address, config, serve).unwrap();
    let client = tls::ClientConfig::builder().roots(roots).build().unwrap();
    (server, client)
}

fn client(tls: &tls::ClientConfig) -> ClientConfig {
    ClientConfig::new()
        .framing(Framing::LengthPrefix)
        .tls(tls.clone())
}

/// The name by which the server was asked.
fn asked_for(lanes: &Lanes, address: (&str, u16), config: ClientConfig) -> String {
    let name = wait("a name", async {
        let mut connection = connect(lanes, address, config).await.unwrap();
        let name = connection.recv().await.unwrap().unwrap();
        connection.close().await;
        name
    });
    String::from_utf8(name.to_vec()).unwrap()
}

fn refusal(lanes: &Lanes, address: (&str, u16), config: ClientConfig) -> String {
    let began = Instant::now();
    let error = wait("an error", connect(lanes, address, config)).unwrap_err();
    assert!(began.elapsed() < LIMIT / 2, "at once, not by timeout");
    assert!(
        matches!(&*error, Error::Tls { .. }) && error.kind() == ErrorKind::Tls,
        "{error}"
    );
    error.to_string()
}

#[test]
fn a_name_is_verified_and_sent_and_an_address_is_verified_and_not_sent() {
    let lanes = Lanes::shared(2).unwrap();
    let (server, tls) = server(&lanes, "127.0.0.1:0", &["localhost", "127.0.0.1"]);
    let port = server.local_addr().ip().unwrap().port();
    let named = client(&tls).tls_with_name(tls.clone(), "localhost");
    assert_eq!(asked_for(&lanes, ("127.0.0.1", port), named), "localhost");
    assert_eq!(
        asked_for(&lanes, ("localhost", port), client(&tls)),
        "localhost"
    );
    assert_eq!(
        asked_for(&lanes, ("127.0.0.1", port), client(&tls)),
        "no name"
    );
    wait("the lanes end", lanes.shutdown(LIMIT));
}

#[test]
fn what_the_certificate_does_not_say_is_refused_at_once() {
    let lanes = Lanes::shared(2).unwrap();
    let (server, tls) = server(&lanes, "127.0.0.1:0", &["example.org"]);
    let port = server.local_addr().ip().unwrap().port();
    let address = ("127.0.0.1", port);
    let named = |name: &str| client(&tls).tls_with_name(tls.clone(), name);
    assert_eq!(
        asked_for(&lanes, address, named("example.org")),
        "example.org"
    );
    assert!(refusal(&lanes, address, named("example.com")).contains("example.com"));
    assert!(refusal(&lanes, address, client(&tls)).contains("127.0.0.1"));
    let (_, stranger) = crate::harness::certificates();
    let stranger = client(&stranger).tls_with_name(stranger, "example.org");
    refusal(&lanes, address, stranger);
    wait("the lanes end", lanes.shutdown(LIMIT));
}

#[test]
fn an_ipv6_address_is_verified_as_such() {
    if std::net::TcpListener::bind("[::1]:0").is_err() {
        return;
    }
    let lanes = Lanes::shared(2).unwrap();
    let (both, tls) = server(&lanes, "[::1]:0", &["127.0.0.1", "::1"]);
    let port = both.local_addr().ip().unwrap().port();
    assert_eq!(asked_for(&lanes, ("::1", port), client(&tls)), "no name");
    let (only_4, tls) = server(&lanes, "[::1]:0", &["127.0.0.1"]);
    let port = only_4.local_addr().ip().unwrap().port();
    assert!(refusal(&lanes, ("::1", port), client(&tls)).contains("::1"));
    wait("the lanes end", lanes.shutdown(LIMIT));
}

#[test]
fn each_connection_of_a_client_shakes_hands_anew() {
    let host = Host::new(Cell {
        transport: Transport::Tcps,
        style: Style::Callbacks,
        model: crate::harness::Model::Shared4,
    });
    let (probe, seen) = log();
    let policy = ReconnectPolicy::fixed(Duration::from_millis(10));
    let mut server = host.server_on(host.address(), host.server_config(), &probe, Role::Echo);
    let address = server.local_addr().clone();
    let (client, log) = host.client(&server, host.client_config().reconnect(policy));
    for generation in 1..=3 {
        assert_eq!(log.opened().generation(), generation);
        assert_eq!(
            info(&seen.opened()).server_name.as_deref(),
            Some("localhost")
        );
        assert!(info(client.handle()).version >= Version::Tls12);
        client.send("hello").unwrap();
        assert_eq!(log.message(), b"hello");
        wait("the server ends", server.shutdown(LIMIT));
        server = host.server_on(&address, host.server_config(), &probe, Role::Echo);
    }
    host.finish();
}
