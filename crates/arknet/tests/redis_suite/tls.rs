//! Whom TLS refuses, and what it says.

use std::time::Duration;

use arknet::redis::{Client, Config, Error, ErrorKind, TlsMode, cmd};
use arknet::{Lanes, tls};
use arknet_testkit::certs::{Authority, Usage};
use arknet_testkit::need;
use arknet_testkit::servers::redis::{Product, RedisServer, Transport};

use crate::harness::LIMIT;

/// What a first request comes to with this configuration.
fn ping(config: Config) -> Result<(), Error> {
    let lanes = Lanes::sharded(1).unwrap();
    let config = config.request_timeout(Some(LIMIT));
    let told = lanes.block_on(async {
        let client = Client::connect(config, &lanes).await?;
        let told = client.run(cmd::<()>("PING")).await;
        client.close(LIMIT).await;
        told
    });
    told.unwrap()
}

fn roots(authority: &Authority) -> tls::Authorities {
    tls::Authorities::from_pem(authority.cert_pem()).unwrap()
}

#[test]
fn a_server_of_an_unknown_authority_is_refused() {
    let server = need!(RedisServer::shared(Product::Redis, Transport::Tls));
    let stranger = Authority::new("a stranger").unwrap();
    let config = Config::from_url(&server.url(Transport::Tls)).unwrap();
    let error = ping(config.clone().tls_roots(roots(&stranger))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Tls, "{error}");
    // Whoever asks for encryption alone gets it.
    ping(config.tls(TlsMode::Required)).unwrap();
}

#[test]
fn a_certificate_for_another_name_is_refused_unless_names_do_not_matter() {
    let server = need!(RedisServer::shared(Product::Redis, Transport::Tls));
    let config = Config::from_url(&server.url(Transport::Tls)).unwrap();
    let config = config
        .tls_roots(roots(server.authority()))
        .tls_server_name("elsewhere.test");
    let error = ping(config.clone()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Tls, "{error}");
    ping(config.clone().tls(TlsMode::VerifyCa)).unwrap();
    ping(config.tls_server_name("localhost")).unwrap();
}

#[test]
fn a_server_that_demands_a_certificate_takes_no_other() {
    let server = need!(RedisServer::shared(Product::Redis, Transport::Mtls));
    let config = Config::from_url(&server.url(Transport::Mtls)).unwrap();
    let config = config.tls_roots(roots(server.authority()));
    let error = ping(config.clone()).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Tls | ErrorKind::Lost),
        "{error:?}"
    );
    let stranger = Authority::new("a stranger").unwrap();
    let theirs = stranger.issue(&["client"], Usage::Client).unwrap();
    let identity = tls::Identity::from_pem(theirs.cert_pem(), theirs.key_pem()).unwrap();
    let error = ping(config.clone().tls_identity(identity)).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Tls | ErrorKind::Lost),
        "{error:?}"
    );
    let client = server.client_identity();
    let identity = tls::Identity::from_pem(client.cert_pem(), client.key_pem()).unwrap();
    ping(config.tls_identity(identity)).unwrap();
}

#[test]
fn a_server_without_tls_is_refused_before_a_secret_is_sent() {
    let server = need!(RedisServer::shared(Product::Redis, Transport::Tcp));
    for mode in [TlsMode::Required, TlsMode::VerifyCa, TlsMode::VerifyFull] {
        let config = Config::new(server.addr())
            .unwrap()
            .password("secret")
            .tls(mode)
            // It waits for the end of a line, and says nothing.
            .connect_timeout(Duration::from_millis(300));
        let error = ping(config.tls_roots(roots(server.authority()))).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Tls | ErrorKind::Timeout),
            "{error:?}"
        );
    }
}

#[test]
fn a_server_with_tls_is_no_server_without() {
    let server = need!(RedisServer::shared(Product::Redis, Transport::Tls));
    let config = Config::new(server.tls_addr())
        .unwrap()
        .connect_timeout(Duration::from_millis(300));
    assert!(ping(config).is_err());
}
