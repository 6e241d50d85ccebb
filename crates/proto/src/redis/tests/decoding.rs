//! What becomes of replies, and what does not.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use bytes::Bytes;

use super::*;
use crate::redis::{DecodeError, Elements, ReplyKind, ServerError};

fn unexpected(expected: &'static str, found: ReplyKind) -> DecodeError {
    DecodeError::Unexpected { expected, found }
}

fn unfit(expected: &'static str, found: ReplyKind) -> DecodeError {
    DecodeError::Unfit { expected, found }
}

#[test]
fn nothing_is_made_of_anything_but_an_error() {
    for wire in ["+OK\r\n", "_\r\n", ":1\r\n", "*0\r\n", "%0\r\n"] {
        assert_eq!(decode(wire), Ok(()));
    }
    let error = ServerError::new(b"ERR no");
    assert_eq!(decode::<()>("-ERR no\r\n"), Err(DecodeError::Server(error)));
}

#[test]
fn booleans_are_made_of_what_servers_mean_by_them() {
    for wire in ["#t\r\n", ":1\r\n", "$1\r\n1\r\n", "+1\r\n"] {
        assert_eq!(decode(wire), Ok(true), "{wire:?}");
    }
    for wire in ["#f\r\n", ":0\r\n", "$1\r\n0\r\n", "+0\r\n"] {
        assert_eq!(decode(wire), Ok(false), "{wire:?}");
    }
    let not = |found| Err(unfit("a boolean", found));
    assert_eq!(decode::<bool>(":2\r\n"), not(ReplyKind::Integer));
    assert_eq!(decode::<bool>("$1\r\n2\r\n"), not(ReplyKind::Bulk));
    let null = unexpected("a boolean", ReplyKind::Null);
    assert_eq!(decode::<bool>("_\r\n"), Err(null));
}

#[test]
fn integers_are_what_fits_in_them() {
    assert_eq!(decode(":255\r\n"), Ok(255_u8));
    assert_eq!(decode("$2\r\n42\r\n"), Ok(42_u64));
    assert_eq!(decode("(18446744073709551615\r\n"), Ok(u64::MAX));
    assert_eq!(
        decode::<u8>(":256\r\n"),
        Err(unfit("an unsigned integer of 8 bits", ReplyKind::Integer))
    );
    assert_eq!(
        decode::<u64>(":-1\r\n"),
        Err(unfit("an unsigned integer of 64 bits", ReplyKind::Integer))
    );
    assert_eq!(
        decode::<i32>("$1\r\nx\r\n"),
        Err(unfit("an integer of 32 bits", ReplyKind::Bulk))
    );
    assert_eq!(
        decode::<i64>(",1.0\r\n"),
        Err(unexpected("an integer of 64 bits", ReplyKind::Double))
    );
}

#[test]
fn doubles_are_read_from_both_protocols() {
    for wire in [",1.5\r\n", "$3\r\n1.5\r\n", "+1.5\r\n"] {
        assert_eq!(decode(wire), Ok(1.5), "{wire:?}");
    }
    assert_eq!(decode(":3\r\n"), Ok(3.0_f64));
    assert_eq!(decode(",inf\r\n"), Ok(f64::INFINITY));
    assert_eq!(decode("$4\r\n-inf\r\n"), Ok(f64::NEG_INFINITY));
    assert!(decode::<f64>(",-nan\r\n").unwrap().is_nan());
    assert_eq!(decode(",1.5\r\n"), Ok(1.5_f32));
}

#[test]
fn text_is_what_the_server_wrote() {
    let told = [
        ("$3\r\nabc\r\n", "abc"),
        ("+abc\r\n", "abc"),
        ("=7\r\ntxt:abc\r\n", "abc"),
        (":-7\r\n", "-7"),
        (",1.50\r\n", "1.50"),
        ("(123\r\n", "123"),
    ];
    for (wire, text) in told {
        assert_eq!(decode::<String>(wire).as_deref(), Ok(text), "{wire:?}");
        assert_eq!(decode::<Vec<u8>>(wire).as_deref(), Ok(text.as_bytes()));
        assert_eq!(decode::<Bytes>(wire), Ok(Bytes::from(text)));
        assert_eq!(decode::<Arc<str>>(wire), Ok(text.into()));
    }
    let null = unexpected("text in UTF-8", ReplyKind::Null);
    assert_eq!(decode::<String>("$-1\r\n"), Err(null));
}

#[test]
fn bytes_that_are_no_text_are_bytes_and_no_text() {
    for len in [1, 63, 64, 5_000] {
        let wire = [format!("${len}\r\n").as_bytes(), &vec![0xFF; len], b"\r\n"].concat();
        let reply = Reply::parse(&wire).unwrap();
        assert_eq!(reply.decode(), Ok(vec![0xFF_u8; len]));
        let no_text = unfit("text in UTF-8", ReplyKind::Bulk);
        assert_eq!(reply.decode::<String>(), Err(no_text));
    }
}

#[test]
fn one_string_of_a_list_that_is_no_text_is_found() {
    for at in [0, 1, 50, 399] {
        let mut wire = b"*400\r\n".to_vec();
        for element in 0..400 {
            let text: &[u8] = if element == at {
                b"\xC3"
            } else {
                "ä".as_bytes()
            };
            wire.extend_from_slice(format!("${}\r\n", text.len()).as_bytes());
            wire.extend_from_slice(&[text, b"\r\n"].concat());
        }
        let reply = Reply::parse(&wire).unwrap();
        let no_text = unfit("text in UTF-8", ReplyKind::Bulk);
        assert_eq!(reply.decode::<Vec<String>>(), Err(no_text), "{at}");
        assert_eq!(
            reply.decode::<Vec<Vec<u8>>>().map(|list| list.len()),
            Ok(400)
        );
    }
}

#[test]
fn a_character_at_any_place_of_a_window_is_whole() {
    for character in ["é", "€", "🦀"] {
        for ahead in 0..40 {
            let mut wire = format!("*500\r\n${ahead}\r\n{}\r\n", "x".repeat(ahead));
            let len = 3 * character.len();
            wire += &format!("${len}\r\n{}\r\n", character.repeat(3)).repeat(499);
            let list = decode::<Vec<String>>(&wire).unwrap();
            assert!(list[1..].iter().all(|text| *text == character.repeat(3)));
        }
    }
}

#[test]
fn the_halves_of_a_character_in_two_strings_are_no_text() {
    // "é" is C3 A9: as bytes of two strings, each is broken, though not all of them together in a row.
    let mut wire = b"*10\r\n".to_vec();
    for half in [0xC3, 0xA9].iter().cycle().take(10) {
        wire.extend_from_slice(&[b'$', b'1', b'\r', b'\n', *half, b'\r', b'\n']);
    }
    let reply = Reply::parse(&wire).unwrap();
    assert!(reply.decode::<Vec<String>>().is_err());
}

#[test]
fn null_is_none_and_not_a_value() {
    assert_eq!(decode("$-1\r\n"), Ok(None::<String>));
    assert_eq!(decode("*-1\r\n"), Ok(None::<Vec<String>>));
    assert_eq!(decode("_\r\n"), Ok(None::<i64>));
    assert_eq!(decode("$1\r\na\r\n"), Ok(Some("a".to_owned())));
    assert_eq!(
        decode("*3\r\n$1\r\na\r\n$-1\r\n_\r\n"),
        Ok(vec![Some("a".to_owned()), None, None])
    );
    assert_eq!(
        decode("*2\r\n*-1\r\n*2\r\n,1\r\n,2\r\n"),
        Ok(vec![None, Some((1.0, 2.0))])
    );
}

#[test]
fn tuples_and_arrays_have_exactly_their_length() {
    let wire = "*3\r\n$1\r\na\r\n:1\r\n#t\r\n";
    assert_eq!(decode(wire), Ok(("a".to_owned(), 1_u8, true)));
    let wrong = |expected| DecodeError::Length { expected, found: 3 };
    assert_eq!(decode::<(String, u8)>(wire), Err(wrong(2)));
    assert_eq!(decode::<(String, u8, bool, u8)>(wire), Err(wrong(4)));
    assert_eq!(decode("*2\r\n:1\r\n:2\r\n"), Ok([1, 2]));
    assert_eq!(
        decode::<[i64; 2]>("*3\r\n:1\r\n:2\r\n:3\r\n"),
        Err(wrong(2))
    );
    assert_eq!(decode("$4\r\n\x01\x02\x03\x04\r\n"), Ok([1_u8, 2, 3, 4]));
}

#[test]
fn lists_of_tuples_are_read_flat_and_nested() {
    let expected = vec![("a".to_owned(), 1.0), ("b".to_owned(), 2.5)];
    let flat = "*4\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n$3\r\n2.5\r\n";
    let nested = "*2\r\n*2\r\n$1\r\na\r\n,1\r\n*2\r\n$1\r\nb\r\n,2.5\r\n";
    let map = "%2\r\n$1\r\na\r\n,1\r\n$1\r\nb\r\n,2.5\r\n";
    for wire in [flat, nested, map] {
        assert_eq!(decode(wire).as_ref(), Ok(&expected), "{wire:?}");
        let deque: VecDeque<_> = expected.iter().cloned().collect();
        assert_eq!(decode(wire), Ok(deque));
    }
    assert_eq!(decode("*0\r\n"), Ok(Vec::<(String, f64)>::new()));
    let odd = DecodeError::Length {
        expected: 4,
        found: 3,
    };
    assert_eq!(
        decode::<Vec<(i64, i64)>>("*3\r\n:1\r\n:2\r\n:3\r\n"),
        Err(odd.clone())
    );
    assert_eq!(
        decode::<HashMap<i64, i64>>("*3\r\n:1\r\n:2\r\n:3\r\n"),
        Err(odd)
    );
}

#[test]
fn of_a_key_that_comes_twice_a_map_has_the_last_and_a_list_both() {
    let wire = "%2\r\n+a\r\n:1\r\n+a\r\n:2\r\n";
    assert_eq!(decode(wire), Ok(HashMap::from([("a".to_owned(), 2)])));
    assert_eq!(decode(wire), Ok(BTreeMap::from([("a".to_owned(), 2)])));
    let both = vec![("a".to_owned(), 1), ("a".to_owned(), 2)];
    assert_eq!(decode(wire), Ok(both));
}

#[test]
fn errors_within_an_aggregate_are_values_or_fail_it() {
    let wire = "*3\r\n:1\r\n-WRONGTYPE no\r\n!6\r\nERR\r\na\r\n";
    let results: Vec<Result<i64, ServerError>> = decode(wire).unwrap();
    assert_eq!(results[0], Ok(1));
    let refused = results[1].as_ref().unwrap_err();
    assert_eq!((refused.code(), refused.message()), ("WRONGTYPE", "no"));
    assert_eq!(results[2].as_ref().unwrap_err().text(), "ERR\r\na");
    let first = DecodeError::Server(ServerError::new(b"WRONGTYPE no"));
    assert_eq!(decode::<Vec<i64>>(wire), Err(first));
    let alone = Err(ServerError::new(b"ERR no"));
    assert_eq!(decode::<Result<i64, ServerError>>("-ERR no\r\n"), Ok(alone));
}

#[test]
fn elements_that_are_not_looked_into_are_stepped_over() {
    let wire = "*4\r\n*2\r\n*1\r\n:1\r\n%1\r\n+a\r\n~1\r\n:2\r\n|1\r\n+x\r\n*1\r\n:9\r\n:3\r\n*0\r\n:4\r\n";
    let Reply::Array(elements) = Reply::parse(wire.as_bytes()).unwrap() else {
        panic!("not an array");
    };
    let kinds: Vec<_> = elements.map(|reply| reply.kind()).collect();
    use ReplyKind::{Array, Integer};
    assert_eq!(kinds, [Array, Integer, Array, Integer]);
    assert!(matches!(elements.peek(), Some(Reply::Array(_))));
    let last = elements.last().unwrap();
    assert_eq!(last.decode(), Ok(4));
}

#[test]
fn a_list_of_many_wide_elements_does_not_take_all_its_memory_at_once() {
    // A million numbers where each element would be 4 KiB: the first one fails it, and 4 GiB are not taken.
    let wire = ["*1000000\r\n", &":1\r\n".repeat(1_000_000)].concat();
    assert!(decode::<Vec<[[u64; 16]; 32]>>(&wire).is_err());
}

#[test]
fn what_is_no_reply_is_malformed() {
    for wire in [
        "",
        "$5\r\nab",
        "*2\r\n:1\r\n",
        "x",
        "|1\r\n+a\r\n",
        "$?\r\n",
    ] {
        let decoded = Reply::parse(wire.as_bytes()).and_then(|reply| reply.decode::<Value>());
        assert_eq!(decoded, Err(DecodeError::Malformed), "{wire:?}");
    }
    let frame = Frame {
        len: 100,
        kind: FrameKind::Reply,
    };
    assert!(frame.reply(b":1").is_err());
}

#[test]
fn errors_say_what_was_expected_and_never_what_came() {
    let told = [
        (
            decode::<i64>("$6\r\nsecret\r\n").unwrap_err(),
            "bulk string is not an integer of 64 bits",
        ),
        (
            decode::<i64>("*0\r\n").unwrap_err(),
            "expected an integer of 64 bits, found array",
        ),
        (
            decode::<(i64,)>("*0\r\n").unwrap_err(),
            "expected 1 elements, found 0",
        ),
        (
            decode::<HashSet<i64>>("%0\r\n").unwrap_err(),
            "expected a set, found map",
        ),
        (
            decode::<HashMap<i64, i64>>("+a\r\n").unwrap_err(),
            "expected a map or a list of pairs, found simple string",
        ),
        (DecodeError::custom("not a prime"), "not a prime"),
    ];
    for (error, text) in told {
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn views_can_be_looked_at_without_decoding() {
    let reply = Reply::parse(b"%1\r\n$1\r\na\r\n,1.5\r\n").unwrap();
    let Reply::Map(pairs) = reply else {
        panic!("not a map");
    };
    assert_eq!(pairs.len(), 1);
    let elements: Elements<'_> = pairs.into_elements();
    assert_eq!((elements.len(), elements.is_empty()), (2, false));
    let seen = format!("{reply:?}");
    assert!(seen.contains("Double(1.5)"), "{seen}");
}
