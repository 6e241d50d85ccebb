//! Commands as they go on the wire.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;

use crate::redis::{Command, Effects, ToArg};

fn wire(command: &Command) -> String {
    let mut wire = Vec::new();
    command.encode_to(&mut wire);
    assert_eq!(wire.len(), command.wire_len());
    String::from_utf8_lossy(&wire).into_owned()
}

fn words(argument: impl ToArg) -> Vec<String> {
    let count = argument.count();
    let command = Command::new("X").arg(argument);
    let words = command.words().skip(1);
    let words: Vec<_> = words
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect();
    assert_eq!(words.len(), count);
    words
}

#[test]
fn a_command_is_an_array_of_its_words() {
    let command = Command::new("SET").arg("key").arg(42);
    assert_eq!(
        wire(&command),
        "*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$2\r\n42\r\n"
    );
    assert_eq!((command.name(), command.len()), ("SET", 3));
    let command = Command::new("CLIENT SETNAME").arg("");
    assert_eq!(
        wire(&command),
        "*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$0\r\n\r\n"
    );
}

#[test]
fn lengths_of_any_size_are_written() {
    for len in [0, 9, 10, 99, 100, 12_345] {
        let command = Command::new("ECHO").arg(vec![b'x'; len]);
        assert!(wire(&command).contains(&format!("\r\n${len}\r\n")));
    }
    let command = Command::new("DEL").args(0..1_000);
    assert!(wire(&command).starts_with("*1001\r\n$3\r\nDEL\r\n$1\r\n0\r\n"));
}

#[test]
fn arguments_are_bytes_whatever_is_in_them() {
    let binary = [0, b'\r', b'\n', 0xFF, b'$'];
    let command = Command::new("SET").arg(&binary[..]).arg("a b\r\n");
    let words: Vec<_> = command.words().collect();
    assert_eq!(words, [&b"SET"[..], &binary, b"a b\r\n"]);
}

#[test]
fn many_types_are_arguments() {
    assert_eq!(words("a"), ["a"]);
    assert_eq!(words(String::from("a")), ["a"]);
    assert_eq!(words(b"abc"), ["abc"]);
    assert_eq!(words(vec![b'a', b'b']), ["ab"]);
    assert_eq!(words(Bytes::from("ab")), ["ab"]);
    assert_eq!(words(Cow::Borrowed("a")), ["a"]);
    assert_eq!(words(Arc::<str>::from("a")), ["a"]);
    assert_eq!(words(Box::<str>::from("a")), ["a"]);
    assert_eq!(words((true, false)), ["1", "0"]);
    assert_eq!(
        words((7_u8, -7_i64, u64::MAX)),
        ["7", "-7", "18446744073709551615"]
    );
    assert_eq!(
        words(i128::MIN),
        ["-170141183460469231731687303715884105728"]
    );
}

#[test]
fn doubles_are_the_shortest_text_that_is_the_same_number() {
    assert_eq!(words((1.0, 1.5, -0.25)), ["1", "1.5", "-0.25"]);
    assert_eq!(words([0.1 + 0.2]), ["0.30000000000000004"]);
    assert_eq!(words([f64::INFINITY, f64::NEG_INFINITY]), ["inf", "-inf"]);
    assert_eq!(words(0.5_f32), ["0.5"]);
    for double in [
        f64::MAX,
        f64::MIN_POSITIVE,
        1e16,
        1e17,
        1e-5,
        9e-6,
        -1e300,
        5e-324,
        0.0,
    ] {
        let text = words(double).remove(0);
        assert_eq!(text.parse(), Ok(double), "{text}");
        assert!(text.len() <= 24, "{text}");
    }
}

#[test]
fn what_is_several_is_several_arguments() {
    assert_eq!(words(["a", "b"]), ["a", "b"]);
    assert_eq!(words(vec!["a", "b"]), ["a", "b"]);
    assert_eq!(words(&["a", "b"][..]), ["a", "b"]);
    assert_eq!(words([("a", 1), ("b", 2)]), ["a", "1", "b", "2"]);
    assert_eq!(
        words(BTreeMap::from([("b", 2), ("a", 1)])),
        ["a", "1", "b", "2"]
    );
    assert_eq!(words(BTreeSet::from(["b", "a"])), ["a", "b"]);
    assert_eq!(words(vec![vec![1_u8, 2], vec![3]]), ["\x01\x02", "\x03"]);
    assert_eq!(words(Some("a")), ["a"]);
    assert_eq!(words(None::<&str>), [""; 0]);
    assert_eq!(words([Some("a"), None]), ["a"]);
    assert_eq!(words(("EX", 5)), ["EX", "5"]);
}

#[test]
fn storage_is_used_again_and_holds_nothing_of_before() {
    let storage = Command::new("SET").arg("key").arg("secret").into_buffer();
    let capacity = storage.capacity();
    let mut command = Command::in_buffer("GET", storage).arg("k");
    assert_eq!(wire(&command), "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n");
    let storage = command.take_buffer();
    assert_eq!(storage.capacity(), capacity);
    assert!(command.is_empty());
    assert_eq!(command.name(), "GET");
}

#[test]
fn what_a_command_says_is_not_shown() {
    let command = Command::new("AUTH").arg("user").arg("secret");
    assert_eq!(format!("{command:?}"), "Command(AUTH, 3 words)");
}

#[test]
fn effects_are_those_of_the_words_that_are_there() {
    let effects = |words: &[&'static str]| Command::new(words[0]).args(&words[1..]).effects();
    assert_eq!(effects(&["get", "SELECT"]), Effects::NONE);
    assert!(effects(&["SELECT", "5"]).dirties_session());
    assert!(effects(&["SELECT", "5"]).is_exclusive());
    assert_eq!(effects(&["CLIENT", "info"]), Effects::NONE);
    assert_eq!(effects(&["CLIENT INFO"]), Effects::NONE);
    assert!(effects(&["CLIENT", "SETNAME", "a"]).is_exclusive());
    assert!(effects(&["client tracking", "on"]).is_exclusive());
    assert!(effects(&["CLIENT"]).is_exclusive());
    assert!(effects(&["CLIENT", "REPLY", "OFF"]).no_reply());
    assert!(!effects(&["CLIENT", "REPLY", "ON"]).no_reply());
    assert!(effects(&["CLIENT", "REPLY", "ON"]).dirties_session());
    assert_eq!(effects(&["SCRIPT", "LOAD", "x"]), Effects::NONE);
    assert!(effects(&["SCRIPT", "DEBUG", "YES"]).dirties_session());
    assert!(effects(&["FT.SEARCH", "x"]).dirties_session());
    assert!(!effects(&["FT.SEARCH", "x"]).is_exclusive());
    assert!(effects(&["BLPOP", "k", "0"]).is_blocking());
    assert!(effects(&["XREAD", "block", "0", "STREAMS", "s", "$"]).is_blocking());
    assert_eq!(effects(&["XREAD", "STREAMS", "BLOCK", "$"]), Effects::NONE);
    assert!(effects(&["SUBSCRIBE", "c"]).subscribes());
}

#[test]
fn what_a_transaction_ends_is_not_left() {
    let of = |name| Command::new(name).effects();
    let watched = of("WATCH").then(of("GET"));
    assert!(watched.dirties_session());
    assert!(!watched.then(of("UNWATCH")).dirties_session());
    let open = watched.then(of("MULTI")).then(of("SET"));
    assert!(open.dirties_session());
    assert!(
        open.then(of("UNWATCH")).dirties_session(),
        "MULTI is still open"
    );
    let done = open.then(of("EXEC"));
    assert!(!done.dirties_session());
    assert!(done.is_exclusive());
    assert!(
        open.then(of("SELECT"))
            .then(of("DISCARD"))
            .dirties_session()
    );
}
