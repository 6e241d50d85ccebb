//! Every plugin that a server has, with the right password and without.

use std::io::{Read, Write};

use arknet_proto::mysql::auth::{AuthError, Plugin, Plugins, ServerKey};
use arknet_proto::mysql::handshake::{Config, HandshakeError};
use arknet_proto::mysql::value::Value;

use super::driver::Driver;
use super::servers::{Server, account};

fn enters<S: Read + Write>(stream: S, config: Config) {
    let user = config.user.clone();
    let mut client = Driver::connect(stream, config).unwrap();
    let who = client.query("SELECT USER()").unwrap();
    assert_eq!(
        who[0].values(),
        [[Value::Text(format!("{user}@localhost"))]]
    );
}

fn is_refused<S: Read + Write>(stream: S, config: Config, code: u16) {
    match Driver::connect(stream, config).map(drop) {
        Err(HandshakeError::Server(error)) => assert_eq!(error.code(), code, "{error}"),
        other => panic!("{other:?}"),
    }
}

fn enters_with_its_password_only(server: &Server, user: &str, password: &str) {
    enters(server.stream(), account(user, password));
    is_refused(server.stream(), account(user, "wrong"), 1045);
    if !password.is_empty() {
        is_refused(server.stream(), account(user, ""), 1045);
    }
}

pub(crate) fn of_mariadb(server: &Server) {
    let mut admin = server.connect();
    for sql in [
        "CREATE USER native@localhost IDENTIFIED BY 'pässword'",
        "CREATE USER signed@localhost IDENTIFIED VIA ed25519 USING PASSWORD('secret')",
        "CREATE USER nobody@localhost",
    ] {
        admin.query(sql).unwrap();
    }
    for (user, password) in [("native", "pässword"), ("signed", "secret"), ("nobody", "")] {
        enters_with_its_password_only(server, user, password);
    }
    let mut config = account("native", "pässword");
    config.database = Some("nowhere".into());
    is_refused(server.stream(), config, 1044);

    let mut config = account("signed", "secret");
    config.plugins = Plugins::default().without(Plugin::Ed25519);
    assert_eq!(
        Driver::connect(server.stream(), config).map(drop),
        Err(AuthError::NotAllowed {
            name: "client_ed25519"
        }
        .into())
    );
}

pub(crate) fn of_mariadb_11(server: &Server) {
    let mut admin = server.connect();
    admin
        .query("CREATE USER curved@localhost IDENTIFIED VIA parsec USING PASSWORD('secret')")
        .unwrap();
    for _ in 0..2 {
        enters_with_its_password_only(server, "curved", "secret");
    }
}

pub(crate) fn of_mysql(server: &Server) {
    let mut admin = server.connect();
    for sql in [
        "CREATE USER cached@localhost IDENTIFIED WITH caching_sha2_password BY 'pässword'",
        "CREATE USER sha@localhost IDENTIFIED WITH sha256_password BY 'secret'",
        "CREATE USER nobody@localhost IDENTIFIED WITH caching_sha2_password BY ''",
    ] {
        admin.query(sql).unwrap();
    }
    // Cold, on a channel where everybody listens: nothing is sent without leave.
    for (user, plugin) in [
        ("cached", "caching_sha2_password"),
        ("sha", "sha256_password"),
    ] {
        let refused = AuthError::PublicKeyRefused { plugin };
        assert_eq!(
            Driver::connect(server.stream(), account(user, "pässword")).map(drop),
            Err(refused.into())
        );
    }
    let fetching = |user, password| {
        let mut config = account(user, password);
        config.server_key = ServerKey::Fetch;
        config
    };
    is_refused(server.stream(), fetching("cached", "wrong"), 1045);
    is_refused(server.stream(), fetching("cached", ""), 1045);
    enters(server.stream(), fetching("cached", "pässword"));
    // Warm: the password is known, and needs no key.
    enters(server.stream(), account("cached", "pässword"));
    is_refused(server.stream(), fetching("cached", "wrong"), 1045);
    for _ in 0..2 {
        enters(server.stream(), fetching("sha", "secret"));
        is_refused(server.stream(), fetching("sha", "wrong"), 1045);
        is_refused(server.stream(), fetching("sha", ""), 1045);
    }
    enters(server.stream(), account("nobody", ""));
    is_refused(server.stream(), fetching("nobody", "wrong"), 1045);

    // Cold again, with a key that is known before.
    let pem = admin
        .query("SHOW STATUS LIKE 'Caching_sha2_password_rsa_public_key'")
        .unwrap();
    let pem: String = pem[0].rows[0].as_row().get(1).unwrap();
    admin.query("FLUSH PRIVILEGES").unwrap();
    let mut config = account("cached", "pässword");
    config.server_key = ServerKey::Pinned(pem.into_bytes());
    enters(server.stream(), config);

    // Cold, where nobody listens.
    admin.query("FLUSH PRIVILEGES").unwrap();
    for (user, password) in [("cached", "pässword"), ("sha", "secret"), ("nobody", "")] {
        let mut config = account(user, password);
        config.local = true;
        enters(server.unix_stream(), config);
    }
}
