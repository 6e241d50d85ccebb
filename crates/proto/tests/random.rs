//! Runs inputs made by chance through what the fuzz targets check: a hundred in every test run find
//! what is easily broken, and shrink it to a few bytes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use proptest::prelude::*;

mod fuzz_bodies;

/// Any bytes, and bytes of which many are small, since most kinds of operation have small numbers.
fn input() -> impl Strategy<Value = Vec<u8>> {
    let bytes = prop_oneof![any::<u8>(), 0..20_u8];
    prop::collection::vec(bytes, 0..800)
}

/// Bytes of which replies consist: others end a stream at once.
fn replies() -> impl Strategy<Value = Vec<u8>> {
    let bytes = prop::sample::select(&b"$*:+-_,#(!=%~|>0123\r\nabtf.e"[..]);
    let word = prop_oneof![
        bytes.prop_map(|byte| vec![byte]),
        Just(b"\r\n".to_vec()),
        Just(b"$1\r\na\r\n".to_vec()),
        Just(b":1\r\n".to_vec()),
        Just(b"*2\r\n".to_vec()),
        Just(b"%1\r\n".to_vec()),
        Just(b"|1\r\n".to_vec()),
    ];
    let stream = prop::collection::vec(word, 0..60).prop_map(|words| words.concat());
    (
        any::<u8>(),
        prop::collection::vec(any::<u8>(), 0..4),
        stream,
    )
        .prop_map(|(limits, pieces, stream)| {
            [&[limits, pieces.len() as u8], &pieces[..], &stream].concat()
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn framing(input in input()) {
        fuzz_bodies::framing::run(&input);
    }

    #[test]
    fn inbound(input in input()) {
        fuzz_bodies::inbound::run(&input);
    }

    #[test]
    fn redis_exchange(input in input()) {
        fuzz_bodies::redis_exchange::run(&input);
    }

    #[test]
    fn redis_reply(input in replies()) {
        fuzz_bodies::redis_reply::run(&input);
    }

    #[test]
    fn mysql_handshake(input in input()) {
        fuzz_bodies::mysql_handshake::run(&input);
    }

    #[test]
    fn mysql_packets(input in input()) {
        fuzz_bodies::mysql_packets::run(&input);
    }

    #[test]
    fn mysql_rows(input in input()) {
        fuzz_bodies::mysql_rows::run(&input);
    }

    #[test]
    fn redis_request(input in input()) {
        fuzz_bodies::redis_request::run(&input);
    }

    #[test]
    fn pool(input in input()) {
        fuzz_bodies::pool::run(&input);
    }

    #[test]
    fn send_queue(input in input()) {
        fuzz_bodies::send_queue::run(&input);
    }

    #[test]
    fn session(input in input()) {
        fuzz_bodies::session::run(&input);
    }

    #[test]
    fn timers(input in input()) {
        fuzz_bodies::timers::run(&input);
    }

    #[test]
    fn uri(input in "(redis|rediss|unix|redis\\+unix|r):(//)?[a-z0-9@:/?#%&=.+\\[\\]2540]{0,40}") {
        fuzz_bodies::uri::run(input.as_bytes());
    }
}
