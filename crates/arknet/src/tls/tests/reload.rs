//! A server's certificate is replaced while it runs.

use super::pair::Pair;
use super::pki::Authority;
use crate::tls::{ClientConfig, ServerConfig};

#[test]
fn new_handshakes_see_the_new_certificate_and_old_connections_stay() {
    let authority = Authority::new();
    let (before, after) = (
        authority.issue(&["localhost"]),
        authority.issue(&["localhost"]),
    );
    let server = ServerConfig::builder()
        .identity(before.identity())
        .build()
        .unwrap();
    let clone = server.clone();
    let fresh_client = || authority.client();

    let mut old = Pair::connected(&fresh_client(), "localhost", &server);
    let mut under_way = Pair::new(&fresh_client(), "localhost", &server);
    clone.reload(after.identity());
    let new = Pair::connected(&fresh_client(), "localhost", &server);
    under_way.run();

    let shown = |pair: &Pair| pair.client.info().peer_certificates.clone();
    assert_ne!(shown(&old), shown(&new));
    assert_eq!(shown(&old), shown(&under_way));
    old.client.seal(b"still here");
    old.run();
    assert_eq!(&old.server.plain[..], b"still here");
}

#[test]
fn reloading_while_handshakes_run_in_other_threads_is_safe() {
    let authority = Authority::new();
    let server = authority.server();
    let client: ClientConfig = authority.client();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..20 {
                    Pair::connected(&client, "localhost", &server);
                }
            });
        }
        for _ in 0..20 {
            server.reload(authority.issue(&["localhost"]).identity());
        }
    });
}
