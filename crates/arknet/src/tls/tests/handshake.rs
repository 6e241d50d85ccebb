//! What a handshake agrees on, in both versions and however the bytes arrive.

use super::pair::Pair;
use super::pki::Authority;
use crate::tls::{Alert, ClientConfig, Error, ErrorKind, ServerConfig, Version};

fn pinned(authority: &Authority, version: Version) -> (ClientConfig, ServerConfig) {
    let client = ClientConfig::builder()
        .roots(authority.authorities())
        .minimum_version(version)
        .maximum_version(version)
        .build()
        .unwrap();
    (client, authority.server())
}

#[test]
fn the_newest_version_is_agreed() {
    let authority = Authority::new();
    let pair = Pair::connected(&authority.client(), "localhost", &authority.server());
    for end in [&pair.client, &pair.server] {
        let info = end.info();
        assert_eq!(info.version, Version::Tls13);
        assert_eq!(info.cipher_suite, "TLS13_AES_256_GCM_SHA384");
        assert_eq!(info.server_name.as_deref(), Some("localhost"));
        assert_eq!(info.alpn, None);
        assert!(!info.resumed);
    }
    assert_eq!(pair.client.info().peer_certificates.len(), 1);
    assert!(pair.server.info().peer_certificates.is_empty());
}

#[test]
fn version_1_2_still_works_both_ways() {
    let authority = Authority::new();
    let (client, server) = pinned(&authority, Version::Tls12);
    let mut pair = Pair::connected(&client, "localhost", &server);
    assert_eq!(pair.client.info().version, Version::Tls12);
    assert_eq!(pair.server.info().version, Version::Tls12);
    pair.client.seal(b"from the client");
    pair.server.seal(b"from the server");
    pair.run();
    assert_eq!(&pair.server.plain[..], b"from the client");
    assert_eq!(&pair.client.plain[..], b"from the server");
}

#[test]
fn versions_without_overlap_are_incompatible() {
    let authority = Authority::new();
    let (client, _) = pinned(&authority, Version::Tls12);
    let server = ServerConfig::builder()
        .identity(authority.issue(&["localhost"]).identity())
        .minimum_version(Version::Tls13)
        .build()
        .unwrap();
    let mut pair = Pair::new(&client, "localhost", &server);
    pair.run();
    assert_eq!(pair.server.error().kind(), ErrorKind::Incompatible);
    assert!(matches!(pair.client.error(), Error::AlertReceived(alert) if alert.code() == 70));
}

#[test]
fn every_size_of_piece_gives_the_same_connection() {
    let authority = Authority::new();
    for version in [Version::Tls12, Version::Tls13] {
        let (client, server) = pinned(&authority, version);
        for size in (1..40).chain([64, 100, 250, 511, 1000, 1500, 4096]) {
            let mut pair = Pair::new(&client, "localhost", &server);
            pair.run_in_pieces(size);
            pair.client.seal(b"ping");
            pair.server.seal(b"pong");
            pair.run_in_pieces(size);
            assert_eq!(
                &pair.server.plain[..],
                b"ping",
                "{version} in pieces of {size}"
            );
            assert_eq!(
                &pair.client.plain[..],
                b"pong",
                "{version} in pieces of {size}"
            );
        }
    }
}

/// The two flights of each side cut in two at every byte.
#[test]
fn every_split_of_every_flight_gives_the_same_connection() {
    let authority = Authority::new();
    for version in [Version::Tls12, Version::Tls13] {
        let (client, server) = pinned(&authority, version);
        for at in 0..longest_flight(&client, &server) + SIGNATURES_VARY {
            let mut pair = Pair::new(&client, "localhost", &server);
            let _ = pair.client.receive();
            let mut sent = false;
            for _ in 0..8 {
                for from_client in [true, false] {
                    let Pair { client, server } = &mut pair;
                    let (from, to) = if from_client {
                        (client, server)
                    } else {
                        (server, client)
                    };
                    let flight = from.outgoing.split();
                    let (first, second) = flight.split_at(at.min(flight.len()));
                    to.incoming.extend_from_slice(first);
                    to.receive().unwrap();
                    to.incoming.extend_from_slice(second);
                    to.receive().unwrap();
                    if !sent && !from.pump.is_handshaking() && !to.pump.is_handshaking() {
                        from.seal(b"data right behind the handshake");
                        to.seal(b"and back");
                        sent = true;
                    }
                }
            }
            let total = pair.client.plain.len() + pair.server.plain.len();
            assert_eq!(total, 31 + 8, "{version} split at {at}");
        }
    }
}

/// Signatures in DER differ in length by a few bytes from handshake to handshake.
const SIGNATURES_VARY: usize = 8;

fn longest_flight(client: &ClientConfig, server: &ServerConfig) -> usize {
    let mut pair = Pair::new(client, "localhost", server);
    let _ = pair.client.receive();
    let mut longest = 0;
    while !(pair.client.outgoing.is_empty() && pair.server.outgoing.is_empty()) {
        longest = longest
            .max(pair.client.outgoing.len())
            .max(pair.server.outgoing.len());
        pair.server.incoming.unsplit(pair.client.outgoing.split());
        pair.server.receive().unwrap();
        longest = longest.max(pair.server.outgoing.len());
        pair.client.incoming.unsplit(pair.server.outgoing.split());
        pair.client.receive().unwrap();
    }
    longest
}

#[test]
fn data_in_the_same_read_as_the_end_of_the_handshake_arrives() {
    let authority = Authority::new();
    for version in [Version::Tls12, Version::Tls13] {
        let (client, server) = pinned(&authority, version);
        let mut pair = Pair::new(&client, "localhost", &server);
        let _ = pair.client.receive();
        while pair.client.pump.is_handshaking() {
            pair.server.incoming.unsplit(pair.client.outgoing.split());
            pair.server.receive().unwrap();
            pair.client.incoming.unsplit(pair.server.outgoing.split());
            pair.client.receive().unwrap();
        }
        // In TLS 1.3 the server has not seen the end of the handshake yet.
        pair.client.seal(b"early bird");
        pair.server.incoming.unsplit(pair.client.outgoing.split());
        let received = pair.server.receive().unwrap();
        assert_eq!(received.plain, 10);
        assert_eq!(received.handshake_completed, version == Version::Tls13);
        assert_eq!(&pair.server.plain[..], b"early bird");
    }
}

#[test]
fn an_address_is_verified_and_not_sent_as_a_name() {
    let authority = Authority::new();
    let server = ServerConfig::builder()
        .identity(authority.issue(&["127.0.0.1", "::1"]).identity())
        .build()
        .unwrap();
    for host in ["127.0.0.1", "::1", "[::1]", "::1%lo"] {
        let pair = Pair::connected(&authority.client(), host, &server);
        assert_eq!(pair.server.info().server_name, None, "{host}");
        assert_eq!(pair.client.info().server_name, None, "{host}");
    }
}

#[test]
fn application_protocols_are_agreed_in_the_servers_order() {
    let authority = Authority::new();
    let server = ServerConfig::builder()
        .identity(authority.issue(&["localhost"]).identity())
        .alpn(["h2", "http/1.1"])
        .build()
        .unwrap();
    let client = |protocols: &[&str]| {
        ClientConfig::builder()
            .roots(authority.authorities())
            .alpn(protocols.iter().copied())
            .build()
            .unwrap()
    };
    let pair = Pair::connected(&client(&["http/1.1", "h2"]), "localhost", &server);
    assert_eq!(pair.client.info().alpn.as_deref(), Some(&b"h2"[..]));
    assert_eq!(pair.server.info().alpn.as_deref(), Some(&b"h2"[..]));

    let pair = Pair::connected(&client(&[]), "localhost", &server);
    assert_eq!(pair.server.info().alpn, None);

    let mut pair = Pair::new(&client(&["gopher"]), "localhost", &server);
    pair.run();
    assert!(matches!(pair.server.error(), Error::NoCommonProtocol));
    assert!(
        matches!(pair.client.error(), Error::AlertReceived(alert) if *alert == Alert::new(120))
    );
}

#[test]
fn nothing_can_be_sent_before_the_handshake_ends() {
    let authority = Authority::new();
    let mut pair = Pair::new(&authority.client(), "localhost", &authority.server());
    let result = pair
        .client
        .pump
        .seal(b"too early", &mut pair.client.outgoing);
    assert!(matches!(result, Err(Error::Handshaking)));
    assert!(pair.client.outgoing.is_empty());
}
