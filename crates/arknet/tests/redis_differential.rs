//! The Redis decoder beside the one of the `redis` crate, which shares nothing with it: what both accept,
//! both read alike.
#![cfg(not(miri))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use arknet_proto::redis::server::{ReplyWriter, Version};
use arknet_proto::redis::{FromReply, ReplyLimits, Scanner, ServerError, Value};
use proptest::collection::vec;
use proptest::prelude::*;

/// The one reply that `wire` is; `None` if it is none, or more than one.
fn ours(wire: &[u8]) -> Option<Value> {
    let mut scanner = Scanner::new(ReplyLimits::default());
    let frame = scanner.scan(wire).ok()??;
    let mut value = Value::from_reply(frame.reply(wire).unwrap()).unwrap();
    as_numbers(&mut value);
    (frame.len == wire.len()).then_some(value)
}

/// We keep the digits of a big number as they came, and the other decoder its value.
fn as_numbers(value: &mut Value) {
    match value {
        Value::BigNumber(digits) => {
            let magnitude = digits.trim_start_matches(['-', '+', '0']);
            let sign = if digits.starts_with('-') { "-" } else { "" };
            *digits = match magnitude {
                "" => "0".to_owned(),
                _ => format!("{sign}{magnitude}"),
            };
        }
        Value::Array(elements) | Value::Set(elements) => elements.iter_mut().for_each(as_numbers),
        Value::Map(pairs) => {
            for (key, value) in pairs {
                as_numbers(key);
                as_numbers(value);
            }
        }
        _ => {}
    }
}

/// The same by the other decoder, in our words.
fn theirs(wire: &[u8]) -> Option<Value> {
    redis::parse_redis_value(wire).ok().map(in_our_words)
}

fn in_our_words(value: redis::Value) -> Value {
    use redis::Value as Theirs;
    let list = |list: Vec<Theirs>| list.into_iter().map(in_our_words).collect();
    match value {
        Theirs::Nil => Value::Null,
        Theirs::Int(number) => Value::Integer(number),
        Theirs::BulkString(bytes) => Value::Bulk(bytes.into()),
        Theirs::Array(elements) => Value::Array(list(elements)),
        Theirs::SimpleString(text) => Value::Simple(text),
        Theirs::Okay => Value::Simple("OK".to_owned()),
        Theirs::Map(pairs) => {
            let of_one = |(key, value)| (in_our_words(key), in_our_words(value));
            Value::Map(pairs.into_iter().map(of_one).collect())
        }
        Theirs::Attribute { data, .. } => in_our_words(*data),
        Theirs::Set(elements) => Value::Set(list(elements)),
        Theirs::Double(number) => Value::Double(number),
        Theirs::Boolean(is_true) => Value::Boolean(is_true),
        Theirs::VerbatimString { format, text } => Value::Verbatim {
            format: match format {
                redis::VerbatimFormat::Text => *b"txt",
                redis::VerbatimFormat::Markdown => *b"mkd",
                redis::VerbatimFormat::Unknown(name) => {
                    // It looks for the colon, wherever it is.
                    name.as_bytes().try_into().unwrap_or(*b"???")
                }
                _ => panic!("a format without a name"),
            },
            text: text.into(),
        },
        Theirs::BigNumber(number) => Value::BigNumber(number.to_string()),
        Theirs::Push { kind, data } => {
            let mut elements = vec![Value::Simple(kind.to_string())];
            elements.extend(data.into_iter().map(in_our_words));
            Value::Push(elements)
        }
        Theirs::ServerError(error) => {
            let details = error.details().map(|details| format!(" {details}"));
            let text = error.code().to_owned() + &details.unwrap_or_default();
            Value::Error(ServerError::new(text.as_bytes()))
        }
        other => panic!("a reply of a new type: {other:?}"),
    }
}

/// As text, since a number that is none equals nothing.
fn shown(value: &Option<Value>) -> String {
    format!("{value:?}")
}

fn write(value: &Value, writer: &mut ReplyWriter<'_>) {
    match value {
        Value::Null => writer.nil(),
        Value::Simple(text) => writer.simple(text),
        Value::Bulk(bytes) => writer.bulk(bytes),
        Value::Integer(number) => writer.integer(*number),
        Value::Double(number) => writer.double(*number),
        Value::Boolean(is_true) => writer.boolean(*is_true),
        Value::BigNumber(digits) => writer.big_number(digits),
        Value::Verbatim { format, text } => writer.verbatim(*format, text),
        Value::Error(error) => writer.error(error.text()),
        Value::Array(elements) => {
            writer.array(elements.len());
            elements.iter().for_each(|element| write(element, writer));
        }
        Value::Set(elements) => {
            writer.set(elements.len());
            elements.iter().for_each(|element| write(element, writer));
        }
        Value::Map(pairs) => {
            writer.map(pairs.len());
            for (key, value) in pairs {
                write(key, writer);
                write(value, writer);
            }
        }
        other => panic!("not written here: {other:?}"),
    }
}

fn wire(value: &Value, version: Version) -> Vec<u8> {
    let mut wire = Vec::new();
    write(value, &mut ReplyWriter::new(version, &mut wire));
    wire
}

fn anything() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        "[a-zA-Z ]{0,20}".prop_map(Value::Simple),
        vec(any::<u8>(), 0..60).prop_map(|bytes| Value::Bulk(bytes.into())),
        any::<i64>().prop_map(Value::Integer),
        any::<f64>().prop_map(Value::Double),
        any::<bool>().prop_map(Value::Boolean),
        "-?[1-9][0-9]{0,60}".prop_map(Value::BigNumber),
        ("txt|mkd|abc", "[ -~]{0,20}").prop_map(|(format, text)| Value::Verbatim {
            format: format.as_bytes().try_into().unwrap(),
            text: text.into(),
        }),
        "[A-Z]{3,9}( [a-z0-9 ]{1,20})?"
            .prop_map(|text| Value::Error(ServerError::new(text.trim().as_bytes()))),
    ];
    scalar.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::Array),
            vec(inner.clone(), 0..6).prop_map(Value::Set),
            vec((inner.clone(), inner), 0..4).prop_map(Value::Map),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_reply_is_read_alike(value in anything()) {
        let wire = wire(&value, Version::Resp3);
        prop_assert_eq!(shown(&ours(&wire)), shown(&Some(value)));
        prop_assert_eq!(shown(&theirs(&wire)), shown(&ours(&wire)));
    }

    #[test]
    fn every_reply_of_the_older_protocol_is_read_alike(value in anything()) {
        let wire = wire(&value, Version::Resp2);
        prop_assert!(ours(&wire).is_some());
        prop_assert_eq!(shown(&theirs(&wire)), shown(&ours(&wire)));
    }

    #[test]
    fn what_both_accept_of_broken_replies_is_read_alike(
        value in anything(),
        changes in vec((any::<prop::sample::Index>(), 0..128_u8), 1..3),
    ) {
        let mut wire = wire(&value, Version::Resp3);
        for (index, byte) in changes {
            let at = index.index(wire.len());
            wire[at] = byte;
        }
        // Of a push, the other decoder makes a kind, whatever is there.
        prop_assume!(wire.first() != Some(&b'>'));
        if let (Some(ours), Some(theirs)) = (ours(&wire), theirs(&wire)) {
            prop_assert_eq!(shown(&Some(ours)), shown(&Some(theirs)), "{:?}", wire);
        }
    }
}

#[test]
fn pushes_and_attributes_are_read_alike() {
    for wire in [
        ">3\r\n+message\r\n$1\r\nc\r\n$2\r\nhi\r\n",
        ">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n",
        "|1\r\n+ttl\r\n:3600\r\n:7\r\n",
        "*2\r\n|1\r\n+ttl\r\n:3600\r\n:7\r\n:8\r\n",
        "!6\r\nERR no\r\n",
        "$-1\r\n",
        "*-1\r\n",
    ] {
        let wire = wire.as_bytes();
        assert!(ours(wire).is_some());
        assert_eq!(shown(&theirs(wire)), shown(&ours(wire)));
    }
}
