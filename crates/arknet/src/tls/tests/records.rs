//! Data, room, key updates, and the limits of keys.

use rustls::crypto::{CryptoProvider, aws_lc_rs};

use super::pair::Pair;
use super::pki::Authority;
use crate::tls::pump::Pump;
use crate::tls::{ClientConfig, Error, Version};

fn connected(version: Version) -> Pair {
    let authority = Authority::new();
    let client = ClientConfig::builder()
        .roots(authority.authorities())
        .maximum_version(version)
        .build()
        .unwrap();
    Pair::connected(&client, "localhost", &authority.server())
}

/// A client that offers nothing but `suite`, which decides keys and layout of the records.
fn client_with(suite: rustls::SupportedCipherSuite, authority: &Authority) -> ClientConfig {
    let provider = CryptoProvider {
        cipher_suites: vec![suite],
        ..aws_lc_rs::default_provider()
    };
    let mut config = rustls::ClientConfig::builder_with_provider(provider.into())
        .with_protocol_versions(&[suite.version()])
        .unwrap()
        .with_root_certificates(authority.authorities().store())
        .with_no_client_auth();
    config.enable_secret_extraction = true;
    ClientConfig::from_rustls(config)
}

#[test]
fn every_cipher_suite_seals_what_the_other_side_opens() {
    let authority = Authority::new();
    let server = authority.server();
    // Those for RSA differ in the handshake only, and this server's key is another.
    let suites = aws_lc_rs::ALL_CIPHER_SUITES
        .iter()
        .filter(|suite| !format!("{suite:?}").contains("RSA"));
    let mut tested = 0;
    for &suite in suites {
        let mut pair = Pair::connected(&client_with(suite, &authority), "localhost", &server);
        assert_eq!(
            pair.server.info().cipher_suite,
            suite.suite().as_str().unwrap()
        );
        for length in [1, 1000, 16_384, 50_000] {
            let text = pattern(length);
            pair.client.seal(&text);
            pair.server.seal(&text);
            pair.run();
            assert!(
                pair.server.plain.split()[..] == text[..],
                "{suite:?}: {length}"
            );
            assert!(
                pair.client.plain.split()[..] == text[..],
                "{suite:?}: {length}"
            );
        }
        pair.client.close();
        pair.run();
        assert!(pair.server.pump.end_of_stream().is_ok(), "{suite:?}");
        tested += 1;
    }
    assert_eq!(tested, 6, "three ciphers in two versions");
}

/// The sealing side alone against rustls's own connections, which know nothing of ours.
#[test]
fn rustls_opens_what_the_pump_seals_and_the_other_way_round() {
    use std::io::{Read, Write};
    let authority = Authority::new();
    for &suite in aws_lc_rs::ALL_CIPHER_SUITES {
        if format!("{suite:?}").contains("RSA") {
            continue;
        }
        let config = client_with(suite, &authority).for_connection();
        let name = "localhost".try_into().unwrap();
        let mut theirs = rustls::ClientConnection::new(config, name).unwrap();
        let mut ours = Pair::new(&authority.client(), "localhost", &authority.server()).server;
        let exchange = |theirs: &mut rustls::ClientConnection, ours: &mut super::pair::End| {
            for _ in 0..4 {
                let mut wire = Vec::new();
                while theirs.wants_write() {
                    theirs.write_tls(&mut wire).unwrap();
                }
                ours.incoming.extend_from_slice(&wire);
                ours.receive().unwrap();
                let wire = ours.outgoing.split();
                let mut rest = &wire[..];
                while !rest.is_empty() {
                    theirs.read_tls(&mut rest).unwrap();
                    theirs.process_new_packets().unwrap();
                }
            }
        };
        exchange(&mut theirs, &mut ours);
        theirs.writer().write_all(&pattern(12_345)).unwrap();
        ours.seal(&pattern(10_000));
        if suite.version().version == rustls::ProtocolVersion::TLSv1_3 {
            theirs.refresh_traffic_keys().unwrap();
            theirs.writer().write_all(b"under new keys").unwrap();
        }
        exchange(&mut theirs, &mut ours);
        ours.seal(b"the end");
        ours.close();
        exchange(&mut theirs, &mut ours);

        assert!(ours.plain[..12_345] == pattern(12_345)[..], "{suite:?}");
        let mut read = Vec::new();
        theirs.reader().read_to_end(&mut read).unwrap();
        assert!(
            read == [&pattern(10_000)[..], b"the end"].concat(),
            "{suite:?}"
        );
        if suite.version().version == rustls::ProtocolVersion::TLSv1_3 {
            assert_eq!(&ours.plain[12_345..], b"under new keys");
        }
    }
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 7 + i / 251) as u8).collect()
}

#[test]
fn sixteen_mebibytes_arrive_as_they_were_sent() {
    let text = pattern(16 * 1024 * 1024);
    for version in [Version::Tls12, Version::Tls13] {
        let mut pair = connected(version);
        for piece in text.chunks(100_001) {
            pair.client.seal(piece);
            pair.run_in_pieces(65_536);
        }
        assert!(pair.server.plain[..] == text[..], "{version}");
        assert!(pair.server.incoming.is_empty());
    }
}

#[test]
fn every_length_around_a_record_arrives() {
    for version in [Version::Tls12, Version::Tls13] {
        let mut pair = connected(version);
        for length in [0, 1, 2, 15, 16, 17, 16_383, 16_384, 16_385, 32_768, 32_769] {
            let text = pattern(length);
            pair.client.seal(&text);
            pair.server.seal(&text);
            pair.run();
            assert!(pair.server.plain[..] == text[..], "{version}: {length}");
            assert!(pair.client.plain[..] == text[..], "{version}: {length}");
            pair.server.plain.clear();
            pair.client.plain.clear();
        }
    }
}

#[test]
fn records_are_as_full_as_they_may_be() {
    let mut pair = connected(Version::Tls13);
    pair.client.seal(&pattern(3 * 16_384));
    assert_eq!(pair.client.outgoing.len(), 3 * (16_384 + 22));
    let mut pair = connected(Version::Tls12);
    pair.client.seal(&pattern(3 * 16_384));
    assert_eq!(pair.client.outgoing.len(), 3 * (16_384 + 29));
}

#[test]
fn receiving_stops_when_the_room_is_used_up() {
    let mut pair = connected(Version::Tls13);
    for _ in 0..10 {
        pair.client.seal(&[1; 1000]);
    }
    let server = &mut pair.server;
    server.incoming.unsplit(pair.client.outgoing.split());

    let none = server.receive_up_to(0).unwrap();
    assert_eq!((none.plain, none.more), (0, true));
    let some = server.receive_up_to(2_500).unwrap();
    assert_eq!((some.plain, some.more), (3_000, true));
    let rest = server.receive_up_to(7_000).unwrap();
    assert_eq!((rest.plain, rest.more), (7_000, false));
    assert!(server.incoming.is_empty());
}

#[test]
fn key_updates_of_either_side_change_nothing_for_the_user() {
    let mut pair = connected(Version::Tls13);
    for round in 0..50_u8 {
        let asks = round % 3 != 0;
        pair.client
            .pump
            .update_keys(asks, &mut pair.client.outgoing)
            .unwrap();
        pair.client.seal(&[round; 100]);
        pair.run();
        pair.server.seal(&[round; 200]);
        pair.run();
        assert_eq!(pair.server.plain.split(), [round; 100][..]);
        assert_eq!(pair.client.plain.split(), [round; 200][..]);
    }
}

#[test]
fn an_answer_to_a_key_update_waits_for_data() {
    let mut pair = connected(Version::Tls13);
    for _ in 0..3 {
        pair.client
            .pump
            .update_keys(true, &mut pair.client.outgoing)
            .unwrap();
    }
    pair.run();
    assert!(pair.server.error.is_none());
    assert!(
        pair.server.outgoing.is_empty(),
        "requests alone must not make us talk"
    );
    pair.server.seal(b"data");
    // One update answers all three: header, message, type, tag; then the data.
    assert_eq!(
        pair.server.outgoing.len(),
        (5 + 5 + 1 + 16) + (5 + 4 + 1 + 16)
    );
}

#[test]
fn endless_key_updates_are_refused() {
    let mut pair = connected(Version::Tls13);
    for _ in 0..33 {
        pair.client
            .pump
            .update_keys(false, &mut pair.client.outgoing)
            .unwrap();
    }
    pair.run();
    assert!(
        matches!(pair.server.error(), Error::Misbehaved(_)),
        "{}",
        pair.server.error()
    );
    assert!(matches!(pair.client.error(), Error::AlertReceived(alert) if alert.code() == 10));
}

#[test]
fn a_worn_key_is_renewed_in_tls_1_3() {
    let mut pair = connected(Version::Tls13);
    pair.client.pump.traffic_mut().unwrap().set_key_limit(6);
    let text = pattern(20 * 16_384);
    pair.client.seal(&text);
    // 20 records of data, one key update.
    assert_eq!(pair.client.outgoing.len(), 20 * (16_384 + 22) + 27);
    pair.run();
    assert!(pair.server.plain[..] == text[..]);
}

#[test]
fn a_worn_key_ends_a_connection_of_tls_1_2() {
    let mut pair = connected(Version::Tls12);
    pair.client.pump.traffic_mut().unwrap().set_key_limit(6);
    let result = pair
        .client
        .pump
        .seal(&pattern(20 * 16_384), &mut pair.client.outgoing);
    assert!(
        matches!(result, Err(Error::KeyExhausted { limit: 6 })),
        "{result:?}"
    );
    pair.run();
    assert!(pair.server.error.is_none());
    assert!(
        pair.server.pump.peer_has_closed(),
        "what was sealed before is announced as all"
    );
}

#[test]
fn a_pump_can_move_to_another_thread() {
    fn sendable<T: Send>() {}
    sendable::<Pump>();
}
