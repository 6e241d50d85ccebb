//! Every plugin, on every way in, with the right password, a wrong one and none, before the server has seen
//! the password and after.

use std::fmt;

use arknet_proto::mysql::auth::{AuthError, Plugin, Plugins, ServerKey};
use arknet_proto::mysql::handshake::{Config, HandshakeError};
use arknet_proto::mysql::value::Value;
use arknet_testkit::need;
use arknet_testkit::servers::mysql::{Account, MySqlServer, Options, Product};

use super::driver::Driver;
use super::servers::account;
use super::stream::{Stream, trust, trust_and_show};

/// How a client comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// TCP, where everybody listens. The server's key may not be used.
    Clear,
    /// TCP, and the key may be fetched from the server.
    ClearWithKey,
    Tls,
    Unix,
}

const WAYS: [Way; 4] = [Way::Clear, Way::ClearWithKey, Way::Tls, Way::Unix];

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    In,
    /// The server's number, and whether it says that a password was used.
    Denied(u16, Option<bool>),
    /// The client did not send its password.
    KeyRefused,
}

struct Case<'a> {
    account: Account,
    way: Way,
    warm: bool,
    password: &'a str,
    /// Nobody gets in: MariaDB 10.11 takes no empty password by ed25519, of its own client neither.
    is_locked: bool,
}

impl fmt::Display for Case<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (user, way) = (self.account.user, self.way);
        let cache = if self.warm { "warm" } else { "cold" };
        write!(
            f,
            "{user} by {way:?}, {cache}, password {:?}",
            self.password
        )
    }
}

impl Case<'_> {
    /// What the manuals of the plugins say.
    fn expected(&self) -> Outcome {
        let is_right = self.password == self.account.password;
        let says_used = match self.account.plugin {
            // It signs with an empty password too.
            "ed25519" => true,
            // The server does not tell.
            "parsec" => false,
            _ => !self.password.is_empty(),
        };
        let denied = Outcome::Denied(1045, Some(says_used));
        let is_seen = self.warm && is_right && self.account.plugin == "caching_sha2_password";
        let needs_key = matches!(
            self.account.plugin,
            "caching_sha2_password" | "sha256_password"
        ) && !self.password.is_empty()
            && !is_seen;
        match self.way {
            Way::Clear if needs_key => Outcome::KeyRefused,
            _ if is_right && !self.is_locked => Outcome::In,
            _ => denied,
        }
    }

    fn run(&self, server: &MySqlServer) -> Outcome {
        server.forget_passwords();
        if self.warm && !self.is_locked {
            // Where nobody listens, the server is shown the right password.
            let right = account(self.account.user, self.account.password);
            drop(enter(server, Way::Unix, right).unwrap());
        }
        match enter(server, self.way, account(self.account.user, self.password)) {
            Ok(mut client) => {
                let who = client.query("SELECT CURRENT_USER()").unwrap();
                let user = format!("{}@%", self.account.user);
                assert_eq!(who[0].values(), [[Value::Text(user)]], "{self}");
                Outcome::In
            }
            Err(HandshakeError::Server(error)) => {
                let says = |what| {
                    error
                        .message()
                        .contains(&format!("(using password: {what})"))
                };
                let used = match (says("YES"), says("NO")) {
                    (true, false) => Some(true),
                    (false, true) => Some(false),
                    _ => None,
                };
                Outcome::Denied(error.code(), used)
            }
            Err(HandshakeError::Auth(AuthError::PublicKeyRefused { plugin })) => {
                assert_eq!(plugin, self.account.plugin);
                Outcome::KeyRefused
            }
            Err(other) => panic!("{self}: {other}"),
        }
    }
}

fn enter(server: &MySqlServer, way: Way, mut config: Config) -> Result<Driver, HandshakeError> {
    match way {
        Way::Clear => Driver::connect(Stream::tcp(server.addr()), config),
        Way::ClearWithKey => {
            config.server_key = ServerKey::Fetch;
            Driver::connect(Stream::tcp(server.addr()), config)
        }
        Way::Tls => {
            let trust = trust(server.authority());
            Driver::connect_tls(Stream::tcp(server.addr()), config, &trust)
        }
        Way::Unix => {
            config.local = true;
            Driver::connect(Stream::unix(&server.socket()), config)
        }
    }
}

/// Runs the cases of one plugin, and says how many there were.
fn matrix(server: &MySqlServer, plugin: &str) -> usize {
    let product = server.product();
    // MariaDB remembers no password, so that every login is its first.
    let caches: &[bool] = match product {
        Product::MySql => &[false, true],
        _ => &[false],
    };
    let mut cases = 0;
    for account in product.accounts() {
        if account.plugin != plugin {
            continue;
        }
        let is_locked = account.user == "ed25519_empty" && product == Product::MariaDb;
        for way in WAYS {
            for &warm in caches {
                for password in ["s3cret", "pässword", ""] {
                    let case = Case {
                        account,
                        way,
                        warm,
                        password,
                        is_locked,
                    };
                    assert_eq!(case.run(server), case.expected(), "{case}");
                    cases += 1;
                }
            }
        }
    }
    cases
}

/// Accounts that ask something of the connection, and one that may do nothing.
fn demands(server: &MySqlServer) {
    let product = server.product();
    let of = |who: Account| account(who.user, who.password);
    let code = |result: Result<Driver, HandshakeError>| match result.map(drop) {
        Err(HandshakeError::Server(error)) => error.code(),
        other => panic!("{other:?}"),
    };
    let tls_only = product.tls_only();
    assert_eq!(code(enter(server, Way::ClearWithKey, of(tls_only))), 1045);
    drop(enter(server, Way::Tls, of(tls_only)).unwrap());

    let certified = product.certified();
    assert_eq!(code(enter(server, Way::Tls, of(certified))), 1045);
    let trust = trust_and_show(server.authority(), server.client_identity());
    drop(Driver::connect_tls(Stream::tcp(server.addr()), of(certified), &trust).unwrap());

    let mut config = of(product.guest());
    config.database = Some("test".into());
    assert_eq!(code(enter(server, Way::Tls, config)), 1044);
    let mut config = of(product.app());
    config.database = Some("nowhere".into());
    assert_eq!(code(enter(server, Way::Tls, config)), 1049);
    assert_eq!(
        code(enter(server, Way::Tls, account("nobody", "s3cret"))),
        1045
    );
}

#[test]
fn mariadb_lets_in_who_proves_it() {
    let server = need!(MySqlServer::start(Options::new(Product::MariaDb)));
    assert_eq!(matrix(&server, "mysql_native_password"), 24);
    assert_eq!(matrix(&server, "ed25519"), 24);
    demands(&server);

    let mut config = account("ed25519", "s3cret");
    config.plugins = Plugins::default().without(Plugin::Ed25519);
    let refused = AuthError::NotAllowed {
        name: "client_ed25519",
    };
    assert_eq!(
        enter(&server, Way::Clear, config).map(drop),
        Err(refused.into())
    );
}

#[test]
fn mariadb_11_lets_in_who_proves_it() {
    let server = need!(MySqlServer::start(Options::new(Product::MariaDb11)));
    assert_eq!(matrix(&server, "mysql_native_password"), 24);
    assert_eq!(matrix(&server, "ed25519"), 24);
    demands(&server);
}

/// Apart, since deriving its keys takes long.
#[test]
fn mariadb_11_lets_in_by_parsec_who_proves_it() {
    let server = need!(MySqlServer::start(Options::new(Product::MariaDb11)));
    assert_eq!(matrix(&server, "parsec"), 24);
}

#[test]
fn mysql_lets_in_who_proves_it() {
    let server = need!(MySqlServer::start(Options::new(Product::MySql)));
    assert_eq!(matrix(&server, "caching_sha2_password"), 48);
    assert_eq!(matrix(&server, "sha256_password"), 48);
    demands(&server);

    // With a key that is known before, nothing is asked of whoever answers.
    for user in ["cached", "sha256"] {
        let accounts = server.product().accounts();
        let known = accounts.iter().find(|known| known.user == user).unwrap();
        server.forget_passwords();
        let mut config = account(user, known.password);
        config.server_key = ServerKey::Pinned(server.public_key().unwrap().into_bytes());
        drop(enter(&server, Way::Clear, config).unwrap());
    }
}

#[test]
fn a_server_without_tls_is_told_nothing_by_a_client_that_requires_it() {
    let options = Options::new(Product::MariaDb).without_tls();
    let server = need!(MySqlServer::start(options));
    let app = server.product().app();
    let refused = enter(&server, Way::Tls, account(app.user, app.password)).map(drop);
    assert_eq!(refused, Err(HandshakeError::NoTls));
    assert_eq!(
        server.sql("SHOW STATUS LIKE 'Aborted_clients'").cell(0, 1),
        Some("0")
    );
}
