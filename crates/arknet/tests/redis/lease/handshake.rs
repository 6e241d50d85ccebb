//! How a session begins: who logs in, what the server knows, and what is said when it will not have us.

use std::time::{Duration, Instant};

use arknet::pool::PoolConfig;
use arknet::redis::{Config, Error, ErrorKind, Pool, Protocol, ResetPolicy, TlsMode, cmd};
use arknet::tls;
use arknet::{Lanes, Outcome};
use arknet_testkit::need;
use arknet_testkit::servers::redis::{Options, RedisServer, Transport};

use super::scripted::{Scripted, session};
use super::{config, echo, pool_of_one, tell};

/// What a password may be made of.
const PASSWORD: &str = "p@ss:/?#%&+=[] \"'é";

async fn fails(config: Config, lanes: &Lanes) -> Error {
    let pool = Pool::new(config, PoolConfig::new(), lanes).unwrap();
    let began = Instant::now();
    let error = pool.acquire().await.unwrap_err();
    assert!(
        began.elapsed() < Duration::from_secs(1),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(error.outcome(), Outcome::NotSent);
    for shown in [error.to_string(), format!("{error:?}"), format!("{pool:?}")] {
        assert!(!shown.contains("p@ss"), "{shown}");
    }
    error
}

async fn who_am_i(config: Config, lanes: &Lanes) -> String {
    let pool = pool_of_one(config, ResetPolicy::Automatic, lanes);
    let mut lease = pool.acquire().await.unwrap();
    let user: String = lease.run(cmd("ACL WHOAMI")).await.unwrap();
    lease.run(cmd::<()>("WATCH").arg("k")).await.unwrap();
    drop(lease);
    // And after a reset.
    let again: String = pool
        .acquire()
        .await
        .unwrap()
        .run(cmd("ACL WHOAMI"))
        .await
        .unwrap();
    assert_eq!(again, user);
    user
}

#[test]
fn users_log_in_with_any_password_in_both_versions_over_every_transport() {
    let options = Options::default().password(PASSWORD).user("app", PASSWORD);
    let server = need!(RedisServer::start(options));
    tell(|lanes| async move {
        let authority = tls::Authorities::from_pem(server.authority().cert_pem()).unwrap();
        for transport in [Transport::Tcp, Transport::Tls, Transport::Unix] {
            for protocol in [
                Protocol::Resp3WithFallback,
                Protocol::Resp3,
                Protocol::Resp2,
            ] {
                let trusting = |url: &str| {
                    let config = Config::from_url(url).unwrap().protocol(protocol);
                    config.tls_roots(authority.clone())
                };
                let default = trusting(&server.url(transport));
                assert_eq!(who_am_i(default, &lanes).await, "default");
                let app = trusting(&server.url_as(transport, "app", PASSWORD));
                assert_eq!(who_am_i(app, &lanes).await, "app");
            }
        }
        let raw = Config::new(server.addr())
            .unwrap()
            .user("app")
            .password(PASSWORD);
        assert_eq!(who_am_i(raw, &lanes).await, "app");
    });
}

#[test]
fn a_wrong_password_is_said_at_once_and_shown_nowhere() {
    let options = Options::default().password("right").user("app", "right");
    let server = need!(RedisServer::start(options));
    tell(|lanes| async move {
        for protocol in [Protocol::Resp3WithFallback, Protocol::Resp2] {
            let config = || config(&server).protocol(protocol);
            for wrong in [
                config().password(PASSWORD),
                config().user("app").password(PASSWORD),
                config().user("nobody").password(PASSWORD),
                Config::new(server.addr()).unwrap().protocol(protocol),
            ] {
                let error = fails(wrong, &lanes).await;
                assert_eq!(error.kind(), ErrorKind::Auth, "{error}");
            }
        }
    });
}

#[test]
fn a_database_that_is_not_there_is_named() {
    let server = need!(RedisServer::start(Options::default()));
    tell(|lanes| async move {
        let pool = Pool::new(
            config(&server).database(99),
            PoolConfig::new().acquire_timeout(Duration::from_millis(300)),
            &lanes,
        );
        let error = pool.unwrap().acquire().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Handshake, "{error}");
        assert!(error.to_string().contains("SELECT"), "{error}");
    });
}

#[test]
fn a_server_without_hello_is_spoken_to_in_the_older_version() {
    let server = Scripted::start([session(|mut peer| {
        peer.expect(&[
            ("RESET", "+RESET\r\n"),
            ("HELLO 3 AUTH app secret SETNAME me", "-ERR unknown command `HELLO`, with args beginning with: `3`, `AUTH`, `app`, `secret`, \r\n"),
            ("SELECT 2", "-NOAUTH Authentication required.\r\n"),
        ]);
        for _ in 0..2 {
            peer.request().unwrap();
            peer.reply("-NOAUTH Authentication required.\r\n");
        }
        peer.expect(&[
            ("AUTH app secret", "+OK\r\n"),
            ("CLIENT SETNAME me", "-ERR unknown command\r\n"),
            ("SELECT 2", "+OK\r\n"),
        ]);
        for _ in 0..2 {
            peer.request().unwrap();
            peer.reply("-ERR unknown command\r\n");
        }
        peer.expect(&[("ECHO older", "$5\r\nolder\r\n")]);
        peer.end();
    })]);
    tell(|lanes| async move {
        let config = Config::from_url(&server.url()).unwrap();
        let config = config
            .user("app")
            .password("secret")
            .client_name("me")
            .database(2);
        let pool = pool_of_one(config, ResetPolicy::Automatic, &lanes);
        echo(&mut pool.acquire().await.unwrap(), "older").await;
        pool.close(Duration::from_secs(1)).await;
    });
}

#[test]
fn what_a_server_quotes_of_a_login_is_not_shown() {
    let server = Scripted::start([session(|mut peer| {
        peer.request().unwrap();
        peer.reply("+RESET\r\n");
        peer.request().unwrap();
        peer.reply("-ERR unknown command `HELLO`, with args beginning with: `3`, `AUTH`, `default`, `p@ss`, \r\n");
        peer.end();
    })]);
    tell(|lanes| async move {
        let config = Config::from_url(&server.url()).unwrap();
        let config = config.password("p@ss").protocol(Protocol::Resp3);
        let short = PoolConfig::new().acquire_timeout(Duration::from_millis(300));
        let pool = Pool::new(config, short, &lanes).unwrap();
        let error = pool.acquire().await.unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(
            shown.contains("unknown command") && !shown.contains("p@ss"),
            "{shown}"
        );
        pool.close(Duration::from_secs(1)).await;
    });
}

/// The modes of TLS against a server whose certificate is for `localhost` and 127.0.0.1.
#[test]
fn each_mode_of_tls_verifies_what_it_says() {
    let server = need!(RedisServer::start(Options::default()));
    tell(|lanes| async move {
        let authority = tls::Authorities::from_pem(server.authority().cert_pem()).unwrap();
        let other = arknet_testkit::certs::Authority::new("somebody else").unwrap();
        let other = tls::Authorities::from_pem(other.cert_pem()).unwrap();
        let at = |mode| Config::new(server.tls_addr()).unwrap().tls(mode);
        for mode in [TlsMode::Required, TlsMode::VerifyCa, TlsMode::VerifyFull] {
            let config = at(mode).tls_roots(authority.clone());
            assert_eq!(
                who_am_i(config.clone(), &lanes).await,
                "default",
                "{mode:?}"
            );
            let named = config.tls_server_name("example.org");
            let unknown = at(mode).tls_roots(other.clone());
            if mode == TlsMode::VerifyFull {
                let error = fails(named, &lanes).await;
                assert_eq!(error.kind(), ErrorKind::Tls, "{error}");
            } else {
                assert_eq!(who_am_i(named, &lanes).await, "default", "{mode:?}");
            }
            if mode == TlsMode::Required {
                assert_eq!(who_am_i(unknown, &lanes).await, "default");
            } else {
                let error = fails(unknown, &lanes).await;
                assert_eq!(error.kind(), ErrorKind::Tls, "{error}");
            }
        }
    });
}

#[test]
fn a_server_that_demands_a_certificate_gets_one() {
    let server = need!(RedisServer::start(
        Options::default().demand_client_certificates()
    ));
    tell(|lanes| async move {
        let roots = tls::Authorities::from_pem(server.authority().cert_pem()).unwrap();
        let identity = server.client_identity();
        let identity = tls::Identity::from_pem(identity.cert_pem(), identity.key_pem()).unwrap();
        let without = Config::new(server.tls_addr())
            .unwrap()
            .tls(TlsMode::VerifyFull)
            .tls_roots(roots);
        let with = without.clone().tls_identity(identity);
        assert_eq!(who_am_i(with, &lanes).await, "default");
        let short = PoolConfig::new().acquire_timeout(Duration::from_millis(500));
        let pool = Pool::new(without, short, &lanes).unwrap();
        let error = pool.acquire().await.unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Tls | ErrorKind::Connect),
            "{error:?}"
        );
    });
}

#[test]
fn a_server_without_tls_gets_nothing_secret() {
    let server = Scripted::start([session(|mut peer| {
        let seen = peer.raw();
        assert!(!seen.windows(4).any(|window| window == b"p@ss"), "{seen:?}");
        peer.reply("-ERR Protocol error: unbalanced quotes in request\r\n");
        peer.gone();
    })]);
    tell(|lanes| async move {
        let config = Config::from_url(&server.url()).unwrap().password("p@ss");
        let error = fails(config.tls(TlsMode::Required), &lanes).await;
        assert_eq!(error.kind(), ErrorKind::Tls, "{error}");
    });
}
