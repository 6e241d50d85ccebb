//! Every account of every server, over every way to it.

use arknet::Lanes;
use arknet::mysql::{Config, Conn, Error, ErrorKind, TlsMode, query};
use arknet::tls::Authorities;
use arknet_testkit::servers::mysql::{MySqlServer, Options, Product};

use super::support::{beside, beside_all, config, on_a_lane};

fn account(server: &MySqlServer, user: &str, password: &str) -> Config {
    let config = Config::new(server.addr())
        .unwrap()
        .user(user)
        .password(password);
    config.database("test").fetch_server_key(true)
}

fn authorities(server: &MySqlServer) -> Authorities {
    Authorities::from_pem_file(server.authority_file()).unwrap()
}

/// Whether the connection is encrypted, as the server sees it.
async fn enters(config: Config, lanes: &Lanes) -> bool {
    let mut conn = Conn::connect(config, lanes).await.unwrap();
    let cipher: Option<(String, String)> = conn
        .run(query("SHOW SESSION STATUS LIKE 'Ssl_cipher'"))
        .await
        .unwrap();
    conn.close().await;
    !cipher.unwrap().1.is_empty()
}

async fn code(config: Config, lanes: &Lanes) -> (ErrorKind, u16) {
    let error = Conn::connect(config, lanes).await.unwrap_err();
    let code = error.server().map_or(0, |error| error.code());
    (error.kind(), code)
}

#[test]
fn every_account_enters_with_its_password_only() {
    beside_all(async |server, lanes| {
        for known in server.product().accounts() {
            if server.product() == Product::MariaDb && known.user == "ed25519_empty" {
                // It lets nobody in whose ed25519 password is empty.
                continue;
            }
            for round in 0..2 {
                if round == 0 {
                    server.forget_passwords();
                }
                let right = account(server, known.user, known.password);
                assert!(!enters(right.clone(), lanes).await, "{known:?}");
                let tls = right
                    .tls(TlsMode::VerifyFull)
                    .tls_roots(authorities(server));
                assert!(enters(tls, lanes).await, "{known:?}");
                let wrong = account(server, known.user, "wrong");
                assert_eq!(
                    code(wrong.clone(), lanes).await,
                    (ErrorKind::Auth, 1045),
                    "{known:?}"
                );
                let wrong = wrong.tls(TlsMode::Required);
                assert_eq!(
                    code(wrong, lanes).await,
                    (ErrorKind::Auth, 1045),
                    "{known:?}"
                );
                let empty = account(server, known.user, "");
                if !known.password.is_empty() {
                    assert_eq!(
                        code(empty, lanes).await,
                        (ErrorKind::Auth, 1045),
                        "{known:?}"
                    );
                }
            }
        }
    });
}

#[test]
fn a_password_leaves_in_clear_for_nobody() {
    beside(Product::MySql, async |server, lanes| {
        for user in ["cached", "sha256"] {
            let known = server.product().accounts();
            let known = known.iter().find(|account| account.user == user).unwrap();
            server.forget_passwords();
            let refuses = account(server, user, known.password).fetch_server_key(false);
            let error = Conn::connect(refuses.clone(), lanes).await.unwrap_err();
            assert_eq!(
                (error.kind(), error.server()),
                (ErrorKind::Auth, None),
                "{error}"
            );
            let pinned = refuses.clone().server_key(server.public_key().unwrap());
            assert!(!enters(pinned, lanes).await);
            server.forget_passwords();
            let garbage =
                refuses.server_key("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----");
            let error = Conn::connect(garbage, lanes).await.unwrap_err();
            assert!(error.to_string().contains("RSA key"), "{error}");
        }
    });
}

#[test]
fn names_and_certificates_are_verified_as_the_mode_says() {
    beside_all(async |server, lanes| {
        let roots = authorities(server);
        let tls = |mode| config(server).tls(mode).tls_roots(roots.clone());
        for mode in [TlsMode::Required, TlsMode::VerifyCa, TlsMode::VerifyFull] {
            assert!(enters(tls(mode), lanes).await);
        }
        assert!(enters(tls(TlsMode::VerifyFull).tls_server_name("db.test"), lanes).await);
        let other = tls(TlsMode::VerifyFull).tls_server_name("other.test");
        assert_eq!(code(other, lanes).await, (ErrorKind::Tls, 0));
        let other = tls(TlsMode::VerifyCa).tls_server_name("other.test");
        assert!(enters(other, lanes).await);
        // Nobody trusts this authority but this test.
        let stranger = config(server).tls(TlsMode::VerifyCa);
        assert_eq!(code(stranger, lanes).await, (ErrorKind::Tls, 0));
        let demanding = server.product().tls_only();
        let clear = account(server, demanding.user, demanding.password);
        assert_eq!(code(clear.clone(), lanes).await.0, ErrorKind::Auth);
        assert!(enters(clear.tls(TlsMode::Required), lanes).await);
    });
}

#[test]
fn a_client_shows_its_certificate() {
    beside_all(async |server, lanes| {
        let demanding = server.product().certified();
        let config = account(server, demanding.user, demanding.password)
            .tls(TlsMode::VerifyFull)
            .tls_roots(authorities(server));
        assert_eq!(code(config.clone(), lanes).await.0, ErrorKind::Auth);
        let files = server.client_files();
        let identity = arknet::tls::Identity::from_pem_files(&files.cert, &files.key);
        assert!(enters(config.tls_identity(identity.unwrap()), lanes).await);
    });
}

#[test]
fn a_server_without_tls_is_told_from_one_that_refuses() {
    on_a_lane(async |lanes| {
        let server = match MySqlServer::start(Options::new(Product::MariaDb).without_tls()) {
            Ok(server) => server,
            Err(absent) => return absent.skip(),
        };
        let error = Conn::connect(config(&server).tls(TlsMode::Required), lanes)
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Handshake);
        assert!(!enters(config(&server), lanes).await);
    });
}

#[test]
#[cfg(unix)]
fn a_unix_socket_is_a_way_in() {
    beside_all(async |server, lanes| {
        let known = server.product().app();
        let url = format!("unix:{}", server.socket().display());
        let config = Config::from_url(&url).unwrap();
        let config = config.user(known.user).password(known.password);
        server.forget_passwords();
        assert!(!enters(config.database("test"), lanes).await);
    });
}

#[test]
fn a_url_is_all_it_takes() {
    beside_all(async |server, lanes| {
        let url = server.url(server.product().app());
        let config = Config::from_url(&format!("{url}?fetch_server_key=true")).unwrap();
        assert!(!enters(config, lanes).await);
        let nowhere = account(
            server,
            server.product().app().user,
            server.product().app().password,
        );
        let error = Conn::connect(nowhere.database("nowhere"), lanes)
            .await
            .unwrap_err();
        assert_eq!(error.server().unwrap().code(), 1049, "{error}");
        let guest = server.product().guest();
        let guest = account(server, guest.user, guest.password);
        assert_eq!(code(guest, lanes).await, (ErrorKind::Auth, 1044));
    });
}

#[test]
fn a_compressed_connection_is_a_connection() {
    beside_all(async |server, lanes| {
        for tls in [TlsMode::Disabled, TlsMode::Required] {
            let config = config(server).compressed(true).tls(tls);
            let mut conn = Conn::connect(config, lanes).await.unwrap();
            let on: Option<(String, String)> = conn
                .run(query("SHOW SESSION STATUS LIKE 'Compression'"))
                .await
                .unwrap();
            assert_eq!(on.unwrap().1, "ON");
            let text: Option<String> = conn.run(query("SELECT REPEAT('x', 100000)")).await.unwrap();
            assert_eq!(text.unwrap().len(), 100_000);
            conn.close().await;
        }
    });
}

#[test]
fn nobody_is_there() {
    on_a_lane(async |lanes| {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let error = Conn::connect(Config::new(address).unwrap(), lanes).await;
        assert!(matches!(error, Err(Error::Connect { .. })), "{error:?}");
    });
}
