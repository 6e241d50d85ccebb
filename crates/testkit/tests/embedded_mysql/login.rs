//! Who is let in, and by what.

use arknet_proto::mysql::auth::AuthError;
use arknet_proto::mysql::handshake::{Config, HandshakeError, Tls};
use arknet_proto::mysql::value::Value;
use arknet_testkit::mysql::{EmbeddedServer, Options};

use super::driver::Driver;
use super::stream::{Stream, trust};
use super::{account, start};

fn server() -> EmbeddedServer {
    let options = Options::default()
        .native("old", "s3cret")
        .native("old_empty", "")
        .caching_sha2("new", "pässword")
        .tls();
    EmbeddedServer::start(options).unwrap()
}

fn code(result: Result<Driver, HandshakeError>) -> u16 {
    match result.map(drop) {
        Err(HandshakeError::Server(error)) => error.code(),
        other => panic!("{other:?}"),
    }
}

fn by_tcp(server: &EmbeddedServer, config: Config) -> Result<Driver, HandshakeError> {
    Driver::connect(Stream::tcp(server.addr()), config)
}

fn by_tls(server: &EmbeddedServer, config: Config) -> Result<Driver, HandshakeError> {
    let trust = trust(server.authority());
    Driver::connect_tls(Stream::tcp(server.addr()), config, &trust)
}

fn by_unix(server: &EmbeddedServer, mut config: Config) -> Result<Driver, HandshakeError> {
    config.local = true;
    Driver::connect(Stream::unix(&server.socket()), config)
}

#[test]
fn a_password_is_proved_by_either_plugin_on_every_way_in() {
    let server = server();
    for enter in [by_tls, by_unix] {
        for (user, password) in [("old", "s3cret"), ("new", "pässword"), ("old_empty", "")] {
            server.forget_passwords();
            for _cold_and_warm in 0..2 {
                let mut client = enter(&server, account(user, password)).unwrap();
                let who = client.query("SELECT USER()").unwrap()[0].values();
                assert_eq!(who, [[Value::Text(format!("{user}@localhost"))]]);
                assert_eq!(code(enter(&server, account(user, "wrong"))), 1045);
            }
        }
        assert_eq!(code(enter(&server, account("new", ""))), 1045);
        assert_eq!(code(enter(&server, account("nobody", "x"))), 1045);
    }
}

#[test]
fn a_password_that_was_seen_is_enough_in_clear_and_none_is_sent_before() {
    let server = server();
    let refused = AuthError::PublicKeyRefused {
        plugin: "caching_sha2_password",
    };
    let cold = by_tcp(&server, account("new", "pässword")).map(drop);
    assert_eq!(cold, Err(refused.into()));
    drop(by_tls(&server, account("new", "pässword")).unwrap());
    drop(by_tcp(&server, account("new", "pässword")).unwrap());
    drop(by_tcp(&server, account("old", "s3cret")).unwrap());
}

#[test]
fn without_tls_it_offers_none() {
    let server = start();
    let mut config = account("root", "");
    config.tls = Tls::Required;
    let refused = Driver::connect(Stream::tcp(server.addr()), config).map(drop);
    assert_eq!(refused, Err(HandshakeError::NoTls));
}

#[test]
fn one_client_too_many_is_told_so() {
    let server = EmbeddedServer::start(Options::default().max_clients(1)).unwrap();
    let first = super::connect(&server);
    assert_eq!(code(by_tcp(&server, account("root", ""))), 1040);
    drop(first);
    server
        .wait_until(std::time::Duration::from_secs(20), |stats| stats.open == 0)
        .unwrap();
    drop(super::connect(&server));
}
