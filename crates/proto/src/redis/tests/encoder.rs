//! Replies from values, for round trips.

use super::Value;

/// Appends a value as RESP3 writes it.
pub(super) fn encode(value: &Value, wire: &mut Vec<u8>) {
    let line = |wire: &mut Vec<u8>, kind: u8, text: &str| {
        wire.push(kind);
        wire.extend_from_slice(text.as_bytes());
        wire.extend_from_slice(b"\r\n");
    };
    let payload = |wire: &mut Vec<u8>, kind: u8, bytes: &[u8]| {
        line(wire, kind, &bytes.len().to_string());
        wire.extend_from_slice(bytes);
        wire.extend_from_slice(b"\r\n");
    };
    let list = |wire: &mut Vec<u8>, kind: u8, list: &[Value]| {
        line(wire, kind, &list.len().to_string());
        list.iter().for_each(|value| encode(value, wire));
    };
    match value {
        Value::Null => line(wire, b'_', ""),
        Value::Simple(text) => line(wire, b'+', text),
        Value::Bulk(bytes) => payload(wire, b'$', bytes),
        Value::Integer(number) => line(wire, b':', &number.to_string()),
        Value::Double(double) => line(wire, b',', &format!("{double:e}").to_lowercase()),
        Value::Boolean(true) => line(wire, b'#', "t"),
        Value::Boolean(false) => line(wire, b'#', "f"),
        Value::BigNumber(digits) => line(wire, b'(', digits),
        Value::Verbatim { format, text } => {
            payload(wire, b'=', &[&format[..], b":", text].concat());
        }
        Value::Error(error) if error.text().contains(['\r', '\n']) => {
            payload(wire, b'!', error.text().as_bytes());
        }
        Value::Error(error) => line(wire, b'-', error.text()),
        Value::Array(elements) => list(wire, b'*', elements),
        Value::Set(elements) => list(wire, b'~', elements),
        Value::Push(elements) => list(wire, b'>', elements),
        Value::Map(pairs) => {
            line(wire, b'%', &pairs.len().to_string());
            for (key, value) in pairs {
                encode(key, wire);
                encode(value, wire);
            }
        }
    }
}
