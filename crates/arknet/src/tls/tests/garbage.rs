//! Peers that do not speak TLS, or no longer.

use bytes::BytesMut;
use proptest::prelude::*;

use super::pair::Pair;
use super::pki::Authority;
use crate::tls::{ClientConfig, Error, ErrorKind, Pump, Version};

fn connected(version: Version) -> Pair {
    let authority = Authority::new();
    let client = ClientConfig::builder()
        .roots(authority.authorities())
        .maximum_version(version)
        .build()
        .unwrap();
    Pair::connected(&client, "localhost", &authority.server())
}

#[test]
fn plain_http_is_told_from_tls_at_its_first_byte() {
    let mut server = Pump::server(&Authority::new().server()).unwrap();
    let (mut plain, mut outgoing) = (BytesMut::new(), BytesMut::new());
    let mut incoming = BytesMut::from(&b"G"[..]);
    let error = server
        .receive(&mut incoming, &mut plain, 1000, &mut outgoing)
        .unwrap_err();
    assert!(matches!(error, Error::Malformed(_)), "{error}");
    // A fatal alert in the clear: decode error.
    assert_eq!(&outgoing[..], [21, 3, 3, 0, 2, 2, 50]);

    // The error is final, and the alert is sent once.
    incoming.extend_from_slice(b"ET / HTTP/1.1\r\n\r\n");
    outgoing.clear();
    let again = server
        .receive(&mut incoming, &mut plain, 1000, &mut outgoing)
        .unwrap_err();
    assert!(matches!(again, Error::Malformed(_)));
    assert!(outgoing.is_empty());
    assert!(server.end_of_stream().is_err());
}

#[test]
fn an_oversized_record_is_refused_by_its_header() {
    for version in [Version::Tls12, Version::Tls13] {
        let mut pair = connected(version);
        pair.server
            .incoming
            .extend_from_slice(&[23, 3, 3, 0x48, 0x01]);
        assert!(matches!(pair.server.receive(), Err(Error::OversizedRecord)));
        pair.run();
        assert!(matches!(pair.client.error(), Error::AlertReceived(alert) if alert.code() == 22));
    }
}

#[test]
fn a_flipped_bit_is_found_and_what_came_before_is_kept() {
    for version in [Version::Tls12, Version::Tls13] {
        let mut pair = connected(version);
        pair.client.seal(b"good");
        let good = pair.client.outgoing.len();
        pair.client.seal(b"bad");
        pair.client.outgoing[good + 10] ^= 1;
        pair.run();
        assert!(
            matches!(pair.server.error(), Error::BadRecord),
            "{}",
            pair.server.error()
        );
        assert_eq!(&pair.server.plain[..], b"good");
        assert!(matches!(pair.client.error(), Error::AlertReceived(alert) if alert.code() == 20));
    }
}

#[test]
fn a_replayed_or_missing_record_is_found() {
    for version in [Version::Tls12, Version::Tls13] {
        let mut pair = connected(version);
        pair.client.seal(b"once");
        let twice = pair.client.outgoing.repeat(2);
        pair.server.incoming.extend_from_slice(&twice);
        assert!(matches!(pair.server.receive(), Err(Error::BadRecord)));
        assert_eq!(&pair.server.plain[..], b"once");

        let mut pair = connected(version);
        pair.client.seal(b"lost");
        pair.client.outgoing.clear();
        pair.client.seal(b"next");
        pair.run();
        assert!(matches!(pair.server.error(), Error::BadRecord));
    }
}

#[test]
fn records_in_the_clear_are_refused_after_the_handshake() {
    // A forged alert must not look like the end of the stream.
    for version in [Version::Tls12, Version::Tls13] {
        for forged in [
            &[21, 3, 3, 0, 2, 1, 0][..],
            &[20, 3, 3, 0, 1, 1],
            &[22, 3, 3, 0, 4, 0, 0, 0, 0],
        ] {
            let mut pair = connected(version);
            pair.server.incoming.extend_from_slice(forged);
            let error = pair.server.receive().unwrap_err();
            assert_eq!(
                error.kind(),
                ErrorKind::Protocol,
                "{version} {forged:?}: {error}"
            );
            assert!(!pair.server.pump.peer_has_closed());
            assert!(!pair.server.outgoing.is_empty());
        }
    }
}

#[test]
fn an_endless_handshake_message_meets_its_limit() {
    let mut server = Pump::server(&Authority::new().server()).unwrap();
    let (mut plain, mut outgoing) = (BytesMut::new(), BytesMut::new());
    // A client hello that announces 0xfff0 bytes, in records of 4 KiB.
    let mut incoming = BytesMut::from(&[22, 3, 1, 0, 4, 1, 0, 0xff, 0xf0][..]);
    let mut fed = 0;
    let error = loop {
        match server.receive(&mut incoming, &mut plain, 1000, &mut outgoing) {
            Ok(_) => {}
            Err(error) => break error,
        }
        incoming.extend_from_slice(&[22, 3, 1, 0x10, 0]);
        incoming.extend_from_slice(&[0; 4096]);
        fed += 4096;
        assert!(fed <= 80_000, "no limit met");
    };
    assert!(matches!(error.kind(), ErrorKind::Protocol), "{error}");
}

#[test]
fn empty_records_without_end_are_refused() {
    // Sealing nothing sends nothing; a peer that does otherwise is met by its 33rd.
    let mut pair = connected(Version::Tls13);
    pair.client.seal(b"");
    assert!(pair.client.outgoing.is_empty());
    let traffic = pair.client.pump.traffic_mut().unwrap();
    for _ in 0..33 {
        traffic.seal_raw(23, b"", &mut pair.client.outgoing);
    }
    pair.run();
    assert!(
        matches!(pair.server.error(), Error::Misbehaved(_)),
        "{}",
        pair.server.error()
    );
}

#[test]
fn handshake_messages_in_fragments_are_joined_and_strange_ones_refused() {
    // A key update in two records.
    let mut pair = connected(Version::Tls13);
    let traffic = pair.client.pump.traffic_mut().unwrap();
    traffic.seal_raw(22, &[24, 0], &mut pair.client.outgoing);
    traffic.seal_raw(22, &[0, 1, 9], &mut pair.client.outgoing);
    pair.run();
    assert!(
        matches!(pair.server.error(), Error::Malformed(_)),
        "{}",
        pair.server.error()
    );
    assert!(matches!(pair.client.error(), Error::AlertReceived(alert) if alert.code() == 47));

    for (case, kind, message) in [
        ("data inside a message", 23, &b"data"[..]),
        ("a ticket for the server", 22, &[4, 0, 0, 0]),
        ("a message behind a key update", 22, &[24, 0, 0, 1, 0, 24]),
        ("a certificate request", 22, &[13, 0, 0, 0]),
        ("an unknown type", 99, &[0]),
        ("an endless message", 22, &[4, 1, 0, 1]),
        ("a short alert", 21, &[2]),
    ] {
        let mut pair = connected(Version::Tls13);
        let traffic = pair.client.pump.traffic_mut().unwrap();
        if case == "data inside a message" {
            traffic.seal_raw(22, &[24, 0], &mut pair.client.outgoing);
        }
        traffic.seal_raw(kind, message, &mut pair.client.outgoing);
        pair.run();
        assert_eq!(pair.server.error().kind(), ErrorKind::Protocol, "{case}");
        assert!(
            matches!(pair.client.error(), Error::AlertReceived(_)),
            "{case}"
        );
    }
}

#[test]
fn renegotiation_is_declined_once_and_then_refused() {
    let mut pair = connected(Version::Tls12);
    let traffic = pair.client.pump.traffic_mut().unwrap();
    traffic.seal_raw(22, &[1, 0, 0, 0], &mut pair.client.outgoing);
    pair.run();
    assert!(pair.server.error.is_none() && pair.client.error.is_none());
    pair.client.seal(b"as before");
    pair.run();
    assert_eq!(&pair.server.plain[..], b"as before");

    let traffic = pair.client.pump.traffic_mut().unwrap();
    traffic.seal_raw(22, &[1, 0, 0, 0], &mut pair.client.outgoing);
    pair.run();
    assert!(matches!(pair.server.error(), Error::Misbehaved(_)));
}

#[test]
fn warnings_are_tolerated_in_their_version_only() {
    let warning = [1, 112];
    let mut pair = connected(Version::Tls12);
    for count in 1..=5 {
        let traffic = pair.client.pump.traffic_mut().unwrap();
        traffic.seal_raw(21, &warning, &mut pair.client.outgoing);
        pair.run();
        assert_eq!(pair.server.error.is_some(), count == 5, "warning {count}");
    }
    let mut pair = connected(Version::Tls13);
    let traffic = pair.client.pump.traffic_mut().unwrap();
    traffic.seal_raw(21, &[1, 90], &mut pair.client.outgoing);
    pair.run();
    assert!(pair.server.error.is_none(), "user canceled means nothing");
    let traffic = pair.client.pump.traffic_mut().unwrap();
    traffic.seal_raw(21, &warning, &mut pair.client.outgoing);
    pair.run();
    assert!(matches!(pair.server.error(), Error::AlertReceived(alert) if alert.code() == 112));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Neither side panics, whatever comes, in whatever pieces, at whichever time.
    #[test]
    fn random_bytes_never_panic(
        mut bytes in proptest::collection::vec(any::<u8>(), 1..2000),
        looks_like in proptest::option::of(20..25_u8),
        piece in 1..300_usize,
        phase in 0..3_u8,
    ) {
        let authority = Authority::new();
        let mut pair = Pair::new(&authority.client(), "localhost", &authority.server());
        pair.client.receive().unwrap();
        match phase {
            0 => {}
            1 => {
                pair.server.incoming.extend_from_slice(&pair.client.outgoing);
                pair.server.receive().unwrap();
            }
            _ => pair.run(),
        }
        if let Some(kind) = looks_like {
            let length = (bytes.len() as u16).saturating_sub(5).to_be_bytes();
            bytes.splice(0..bytes.len().min(5), [kind, 3, 3, length[0], length[1]]);
        }
        for end in [&mut pair.client, &mut pair.server] {
            for part in bytes.chunks(piece) {
                end.incoming.extend_from_slice(part);
                let _ = end.receive();
            }
            prop_assert!(end.plain.is_empty());
        }
    }

    /// Cut and changed flights of a real handshake give an error or wait for more.
    #[test]
    fn mutated_handshakes_never_panic(
        at in 0..1500_usize,
        with in any::<u8>(),
        remove in any::<bool>(),
        from_server in any::<bool>(),
    ) {
        let authority = Authority::new();
        let mut pair = Pair::new(&authority.client(), "localhost", &authority.server());
        pair.client.receive().unwrap();
        let mutate = |bytes: &mut BytesMut| {
            if at < bytes.len() {
                if remove {
                    let tail = bytes.split_off(at);
                    bytes.extend_from_slice(&tail[1..]);
                } else {
                    bytes[at] = with;
                }
            }
        };
        if from_server {
            pair.server.incoming.unsplit(pair.client.outgoing.split());
            pair.server.receive().unwrap();
            mutate(&mut pair.server.outgoing);
        } else {
            mutate(&mut pair.client.outgoing);
        }
        pair.run();
        prop_assert!(pair.server.plain.is_empty() && pair.client.plain.is_empty());
    }
}
