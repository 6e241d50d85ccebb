//! Whatever a raw socket sends: a typed error, an alert where there is TLS, no panic, and the server lives on.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};

use arknet::tcp::{Framing, FramingError};
use arknet::{CloseReason, Error, ErrorKind};

use crate::support::{At, Cell, PATIENCE, Rig, Serve, What, ip};

in_every_plain_cell!(
    random_bytes_are_messages_or_a_framing_error,
    every_broken_rule_has_its_typed_error,
);
in_every_secure_cell!(what_is_not_tls_is_refused_with_an_alert);

/// The largest message of these servers.
const LIMIT: usize = 4096;

/// Connections with random bytes.
const SAMPLES: u64 = 32;

/// The same bytes for the same seed (Steele's SplitMix64): a failure can be repeated.
fn random_bytes(seed: u64, count: usize) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) as u8
    };
    (0..count).map(|_| next()).collect()
}

/// Sends bytes, ends the stream, and reads whatever comes until the other end does.
fn send_raw(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // The server may have closed already, which is its right.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    let mut buffer = [0; 1024];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        answer.extend_from_slice(&buffer[..count]);
    }
    answer
}

/// The server still serves.
fn assert_alive(rig: &Rig, address: SocketAddr) {
    rig.log.clear();
    let client = rig.connect(address, rig.client_config(), &[b"still there?"]);
    rig.wait_messages(At::Client, &[b"still there?"]);
    rig.block_on("the client's end", client.shutdown(PATIENCE));
}

pub(crate) fn random_bytes_are_messages_or_a_framing_error(cell: Cell) {
    let rig = Rig::new(cell);
    let server = rig.serve(rig.server_config().max_message(LIMIT), Serve::AnswerAtEnd);
    let address = ip(&server);
    for seed in 0..SAMPLES {
        rig.log.clear();
        rig.beside(move || send_raw(address, &random_bytes(seed, 8 * LIMIT)));
        match rig.wait_ended(At::Server) {
            CloseReason::Peer => {}
            CloseReason::Error(error) => {
                assert!(
                    matches!(error.kind(), ErrorKind::Framing | ErrorKind::Io),
                    "seed {seed}: {error}"
                );
            }
            reason => panic!("seed {seed}: {reason:?}"),
        }
        for message in rig.log.messages(At::Server) {
            assert!(message.len() <= LIMIT, "seed {seed}: {}", message.len());
        }
    }
    let echo = rig.echo();
    assert_alive(&rig, ip(&echo));
    rig.finish((server, echo));
}

/// A framing, bytes that break its rule, and the error that they meet.
type Broken = (
    Framing,
    &'static [u8],
    fn(&FramingError) -> bool,
    &'static str,
);

fn broken_rules() -> Vec<Broken> {
    use FramingError as E;
    vec![
        (
            Framing::LengthPrefix,
            b"\xff\0\0\0\0\0\0\x01\0",
            |error| matches!(error, E::MessageTooLarge { limit: LIMIT, .. }),
            "exceeds the limit of 4,096 bytes",
        ),
        (
            Framing::LengthPrefix,
            b"\xff\xff\xff\xff\xff\xff\xff\xff\xff",
            |error| matches!(error, E::MessageTooLarge { limit: LIMIT, .. }),
            "exceeds the limit of 4,096 bytes",
        ),
        (
            Framing::LengthPrefix,
            b"\xfe\x05\0hello",
            |error| {
                matches!(
                    error,
                    E::NonCanonicalPrefix {
                        marker: 254,
                        len: 5
                    }
                )
            },
            "length prefix 254 used for 5 bytes",
        ),
        (
            Framing::LengthPrefix,
            b"\xff\x05\0\0\0\0\0\0\0hello",
            |error| {
                matches!(
                    error,
                    E::NonCanonicalPrefix {
                        marker: 255,
                        len: 5
                    }
                )
            },
            "length prefix 255 used for 5 bytes",
        ),
        (
            Framing::LengthPrefix,
            b"\x05hell",
            |error| matches!(error, E::UnexpectedEnd { received: 5, .. }),
            "stream ended inside a message, after 5 of at least 6 bytes",
        ),
        (
            Framing::delimited("\n").unwrap(),
            &[b'x'; LIMIT + 1],
            |error| matches!(error, E::DelimiterMissing { limit: LIMIT }),
            "no delimiter within the limit of 4,096 bytes",
        ),
        (
            Framing::delimited("\n").unwrap(),
            b"no end",
            |error| matches!(error, E::UnexpectedEnd { received: 6, .. }),
            "stream ended inside a message",
        ),
        (
            Framing::exact(8).unwrap(),
            b"12345678123",
            |error| {
                matches!(
                    error,
                    E::UnexpectedEnd {
                        received: 3,
                        needed: 8
                    }
                )
            },
            "after 3 of at least 8 bytes",
        ),
        (
            Framing::big_endian(2, 100).unwrap(),
            b"\0\x65",
            |error| matches!(error, E::PayloadTooLarge { len: 101, max: 100 }),
            "payload of 101 bytes exceeds the 100 bytes",
        ),
        (
            Framing::big_endian(4, usize::MAX).unwrap(),
            b"\xff\xff\xff\xff",
            |error| matches!(error, E::MessageTooLarge { limit: LIMIT, .. }),
            "exceeds the limit of 4,096 bytes",
        ),
    ]
}

pub(crate) fn every_broken_rule_has_its_typed_error(cell: Cell) {
    let rig = Rig::new(cell);
    for (framing, bytes, is_right, says) in broken_rules() {
        rig.log.clear();
        let config = rig
            .server_config()
            .framing(framing.clone())
            .max_message(LIMIT);
        let server = rig.serve(config, Serve::Echo);
        let address = ip(&server);
        rig.beside(move || send_raw(address, bytes));
        let reason = rig.wait_ended(At::Server);
        let Some(error @ Error::Framing { source, .. }) = reason.error() else {
            panic!("{framing:?}: {reason:?}");
        };
        assert!(is_right(source), "{framing:?}: {source:?}");
        let text = error.to_string();
        assert!(text.starts_with("receive from 127.0.0.1:"), "{text}");
        assert!(text.contains(says), "{text}");
        assert_eq!(error.blame(), arknet::Blame::Peer);
        let report = rig.block_on("the server's end", server.shutdown(PATIENCE));
        assert_eq!(report.stuck, 0);
    }
    rig.finish(());
}

pub(crate) fn what_is_not_tls_is_refused_with_an_alert(cell: Cell) {
    let rig = Rig::new(cell);
    let server = rig.echo();
    let address = ip(&server);
    let mut samples: Vec<Vec<u8>> = (0..SAMPLES).map(|seed| random_bytes(seed, 600)).collect();
    samples.push(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec());
    // A record of application data before any handshake, and a handshake record full of nothing.
    samples.push(b"\x17\x03\x03\0\x05hello".to_vec());
    samples.push(b"\x16\x03\x01\0\x05hello".to_vec());
    // A record that announces more than the protocol allows.
    samples.push(b"\x16\x03\x01\xff\xff".to_vec());
    for (index, sample) in samples.into_iter().enumerate() {
        rig.log.clear();
        let sent = sample.clone();
        let answer = rig.beside(move || send_raw(address, &sent));
        let (kind, text) = rig.wait("the event of the failed handshake", |facts| {
            facts.iter().find_map(|fact| match &fact.what {
                What::HandshakeFailed { kind, text, .. } => Some((*kind, text.clone())),
                _ => None,
            })
        });
        assert_eq!(kind, ErrorKind::Tls, "sample {index}: {text}");
        assert!(text.starts_with("tls with 127.0.0.1:"), "{text}");
        // An alert record: type 21, level fatal.
        assert_eq!(
            answer.first(),
            Some(&21),
            "sample {index}: {text}: {answer:?}"
        );
        assert_eq!(
            answer.get(5),
            Some(&2),
            "sample {index}: {text}: {answer:?}"
        );
    }
    assert_alive(&rig, address);
    rig.finish(server);
}
