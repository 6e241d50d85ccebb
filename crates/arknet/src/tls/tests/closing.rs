//! The end of a stream is announced, or it is a cut.

use super::pair::Pair;
use super::pki::Authority;
use crate::tls::{ClientConfig, Error, Version};

fn pairs() -> impl Iterator<Item = Pair> {
    let authority = Authority::new();
    [Version::Tls12, Version::Tls13]
        .into_iter()
        .map(move |version| {
            let client = ClientConfig::builder()
                .roots(authority.authorities())
                .maximum_version(version)
                .build()
                .unwrap();
            Pair::connected(&client, "localhost", &authority.server())
        })
}

#[test]
fn close_notify_ends_one_direction_and_the_other_goes_on() {
    for mut pair in pairs() {
        pair.client.seal(b"last words");
        pair.client.close();
        pair.run();
        assert_eq!(&pair.server.plain[..], b"last words");
        assert!(pair.server.pump.peer_has_closed());
        assert!(pair.server.pump.end_of_stream().is_ok());
        assert!(!pair.client.pump.peer_has_closed());

        pair.server.seal(b"and mine");
        pair.server.close();
        pair.run();
        assert_eq!(&pair.client.plain[..], b"and mine");
        assert!(pair.client.pump.end_of_stream().is_ok());
    }
}

#[test]
fn a_stream_that_ends_unannounced_was_cut() {
    for pair in pairs() {
        for end in [&pair.client, &pair.server] {
            assert!(matches!(end.pump.end_of_stream(), Err(Error::Truncated)));
        }
    }
}

#[test]
fn a_stream_that_ends_within_a_record_was_cut() {
    for mut pair in pairs() {
        pair.client.seal(b"half of this");
        pair.client.close();
        let half = pair
            .client
            .outgoing
            .split_to(pair.client.outgoing.len() - 1);
        pair.server.incoming.unsplit(half);
        pair.server.receive().unwrap();
        assert!(matches!(
            pair.server.pump.end_of_stream(),
            Err(Error::Truncated)
        ));
    }
}

#[test]
fn a_handshake_that_ends_early_was_cut() {
    let authority = Authority::new();
    let mut pair = Pair::new(&authority.client(), "localhost", &authority.server());
    pair.client.receive().unwrap();
    assert!(matches!(
        pair.client.pump.end_of_stream(),
        Err(Error::HandshakeTruncated)
    ));
    // There is nothing to close yet.
    pair.client.outgoing.clear();
    pair.client.close();
    assert!(pair.client.outgoing.is_empty());
}

#[test]
fn close_notify_is_sent_once_and_nothing_after_it() {
    for mut pair in pairs() {
        pair.client.close();
        let once = pair.client.outgoing.len();
        pair.client.close();
        assert_eq!(pair.client.outgoing.len(), once);
        let result = pair.client.pump.seal(b"more", &mut pair.client.outgoing);
        assert!(matches!(result, Err(Error::Closed)));
        assert_eq!(pair.client.outgoing.len(), once);
    }
}

#[test]
fn what_follows_close_notify_is_ignored() {
    for mut pair in pairs() {
        pair.client.close();
        pair.client
            .outgoing
            .extend_from_slice(b"not a record at all");
        pair.run();
        assert!(pair.server.pump.peer_has_closed());
        assert!(pair.server.error.is_none() && pair.server.incoming.is_empty());
    }
}
