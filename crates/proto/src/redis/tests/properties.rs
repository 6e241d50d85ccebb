//! Whatever the reply, and however it arrives.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use super::encoder::encode;
use super::*;
use crate::redis::ServerError;

fn line() -> impl Strategy<Value = String> {
    "[^\r\n]{0,40}"
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        line().prop_map(Value::Simple),
        vec(any::<u8>(), 0..100).prop_map(|bytes| Value::Bulk(bytes.into())),
        any::<i64>().prop_map(Value::Integer),
        any::<f64>()
            .prop_filter("is itself", |double| !double.is_nan())
            .prop_map(Value::Double),
        any::<bool>().prop_map(Value::Boolean),
        "-?[0-9]{1,60}".prop_map(Value::BigNumber),
        ("[a-z]{3}", vec(any::<u8>(), 0..40)).prop_map(|(format, text)| Value::Verbatim {
            format: format.as_bytes().try_into().unwrap(),
            text: text.into(),
        }),
        ".{0,40}".prop_map(|text| Value::Error(ServerError::new(text.as_bytes()))),
    ]
}

fn anything() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(5, 60, 8, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..8).prop_map(Value::Array),
            vec(inner.clone(), 0..8).prop_map(Value::Set),
            vec((inner.clone(), inner), 0..5).prop_map(Value::Map),
        ]
    })
}

/// What is decoded to a type, of a reply that a server writes in several ways.
fn same<T: FromReply + PartialEq + std::fmt::Debug>(expected: &T, ways: &[Value]) {
    for way in ways {
        let mut wire = Vec::new();
        encode(way, &mut wire);
        let decoded = T::from_reply(Reply::parse(&wire).unwrap());
        assert_eq!(decoded.as_ref(), Ok(expected), "{way:?}");
    }
}

fn flat(pairs: &[(Value, Value)]) -> Vec<Value> {
    let of_one = |(key, value): &(Value, Value)| [key.clone(), value.clone()];
    pairs.iter().flat_map(of_one).collect()
}

fn nested(pairs: &[(Value, Value)]) -> Vec<Value> {
    let of_one = |(key, value): &(Value, Value)| Value::Array(vec![key.clone(), value.clone()]);
    pairs.iter().map(of_one).collect()
}

proptest! {
    #[test]
    fn what_is_encoded_is_read_however_it_arrives(
        values in vec(anything(), 1..5),
        sizes in vec(1_usize..200, 1..6),
    ) {
        let mut stream = Vec::new();
        values.iter().for_each(|value| encode(value, &mut stream));
        let limits = ReplyLimits::default();
        let (found, rest) = scanned(&stream, limits, &sizes);
        prop_assert_eq!(rest, Ok(0));
        let found: Vec<_> = found.into_iter().map(|(_, value)| value).collect();
        prop_assert_eq!(found, values);
    }

    #[test]
    fn maps_are_read_from_all_that_servers_send_for_them(
        map in btree_map(".{0,20}", any::<i64>(), 0..40),
    ) {
        let pairs: Vec<_> = map
            .iter()
            .map(|(key, value)| (bulk(key), Value::Integer(*value)))
            .collect();
        let ways = [
            Value::Map(pairs.clone()),
            Value::Array(flat(&pairs)),
            Value::Array(nested(&pairs)),
        ];
        same(&map, &ways);
        same(&map.clone().into_iter().collect::<HashMap<_, _>>(), &ways);
        same(&map.into_iter().collect::<Vec<_>>(), &ways);
    }

    #[test]
    fn numbers_are_read_from_numbers_and_from_text(number in any::<i64>(), double in any::<f64>()) {
        let text = number.to_string();
        same(&number, &[
            Value::Integer(number),
            bulk(&text),
            simple(&text),
            Value::BigNumber(text.clone()),
        ]);
        same(&i128::from(number), &[Value::Integer(number), bulk(&text)]);
        same(&text, &[Value::Integer(number), bulk(&text)]);
        if !double.is_nan() {
            same(&double, &[Value::Double(double), bulk(&double.to_string())]);
        }
        let fits = i16::try_from(number).ok();
        let wire = format!(":{number}\r\n");
        prop_assert_eq!(decode::<i16>(&wire).ok(), fits);
    }

    #[test]
    fn sets_are_read_from_sets_and_lists(set in proptest::collection::btree_set(any::<i64>(), 0..30)) {
        let elements: Vec<_> = set.iter().copied().map(Value::Integer).collect();
        let ways = [Value::Set(elements.clone()), Value::Array(elements)];
        same::<BTreeSet<i64>>(&set, &ways);
        same(&set.iter().copied().collect::<std::collections::HashSet<i64>>(), &ways);
        same(&set.into_iter().collect::<Vec<i64>>(), &ways);
    }

    #[test]
    fn garbage_is_refused_or_waited_for_and_read_alike_in_pieces(
        stream in vec(prop_oneof![
            3 => prop::sample::select(&b"$:*+-%~|>_#,!(=0123456789\r\n?tf"[..]),
            1 => any::<u8>(),
        ], 0..60),
        sizes in vec(1_usize..10, 1..4),
    ) {
        let limits = ReplyLimits::default().max_reply_bytes(40).max_elements(9).max_depth(3).max_line(6);
        let whole = scanned(&stream, limits, &[usize::MAX]);
        prop_assert_eq!(&scanned(&stream, limits, &sizes).1, &whole.1);
        // None of it panics for those who look at bytes that no scanner has seen.
        if let Ok(reply) = Reply::parse(&stream) {
            let _ = reply.decode::<Value>();
            let _ = reply.decode::<BTreeMap<String, Vec<String>>>();
        }
    }
}

proptest! {
    // Two hundred strings each.
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn lists_of_text_are_read_however_long_they_are(
        list in vec(".{0,80}", 0..200),
        behind in vec(any::<u8>(), 0..20),
    ) {
        let bulks = list.iter().map(|text| bulk(text)).collect();
        let wire = &mut Vec::new();
        // What follows the list in the same reply is not part of its text.
        encode(&Value::Array(vec![Value::Array(bulks), Value::Bulk(behind.clone().into())]), wire);
        let decoded = <(Vec<String>, Vec<u8>)>::from_reply(Reply::parse(wire).unwrap());
        prop_assert_eq!(decoded, Ok((list, behind)));
    }

    #[test]
    fn text_among_bytes_is_read(list in vec((".{0,30}", vec(any::<u8>(), 0..50)), 0..100)) {
        let ways: Vec<_> = list
            .iter()
            .map(|(text, bytes)| (bulk(text), Value::Bulk(bytes.clone().into())))
            .collect();
        same(&list, &[Value::Map(ways.clone()), Value::Array(flat(&ways)), Value::Array(nested(&ways))]);
    }
}
