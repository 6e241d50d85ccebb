//! The second connection is cheaper than the first.

use super::pair::Pair;
use super::pki::Authority;
use crate::tls::{ClientAuth, ClientConfig, ServerConfig, Version};

#[test]
fn the_second_connection_resumes_the_first() {
    let authority = Authority::new();
    for version in [Version::Tls12, Version::Tls13] {
        let server = authority.server();
        let client = ClientConfig::builder()
            .roots(authority.authorities())
            .maximum_version(version)
            .build()
            .unwrap();
        let first = Pair::connected(&client, "localhost", &server);
        assert!(!first.client.info().resumed && !first.server.info().resumed);
        let mut second = Pair::connected(&client.clone(), "localhost", &server.clone());
        assert!(
            second.client.info().resumed && second.server.info().resumed,
            "{version}"
        );
        second.client.seal(b"resumed");
        second.run();
        assert_eq!(&second.server.plain[..], b"resumed");
        // The server's certificate is remembered with the session.
        assert_eq!(
            second.client.info().peer_certificates,
            first.client.info().peer_certificates
        );
    }
}

#[test]
fn a_resumed_session_keeps_the_clients_certificate() {
    let authority = Authority::new();
    let server = ServerConfig::builder()
        .identity(authority.issue(&["localhost"]).identity())
        .client_auth(ClientAuth::Required(authority.authorities()))
        .build()
        .unwrap();
    let client = ClientConfig::builder()
        .roots(authority.authorities())
        .identity(authority.issue(&["player-1"]).identity())
        .build()
        .unwrap();
    let first = Pair::connected(&client, "localhost", &server);
    let second = Pair::connected(&client, "localhost", &server);
    assert!(second.server.info().resumed);
    assert_eq!(
        second.server.info().peer_certificates,
        first.server.info().peer_certificates
    );
}

#[test]
fn another_server_or_name_does_not_resume() {
    let authority = Authority::new();
    let client = authority.client();
    let server = || {
        let identity = authority.issue(&["localhost", "example.org"]).identity();
        ServerConfig::builder().identity(identity).build().unwrap()
    };
    let one = server();
    Pair::connected(&client, "localhost", &one);
    assert!(
        !Pair::connected(&client, "localhost", &server())
            .client
            .info()
            .resumed
    );
    assert!(
        !Pair::connected(&client, "example.org", &one)
            .client
            .info()
            .resumed
    );
}
