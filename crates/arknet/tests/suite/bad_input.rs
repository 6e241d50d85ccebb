//! What breaks the framing closes the connection, with an error that names the rule and the limit.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use arknet::tcp::{Error, Framer, Framing, FramingError};
use arknet::{Blame, CloseReason, ErrorKind};
use arknet_proto::framing::{Frame, Step};

use crate::harness::{Cell, Host, LIMIT, Role};

over_tcp![
    every_broken_rule_is_told,
    an_end_between_messages_is_an_end,
    bytes_one_at_a_time_are_a_message,
];

const MESSAGE_LIMIT: usize = 1_000;

/// Sends `bytes` over a socket of the standard library, ends the stream if told to, and returns how the server's session
/// ended.
fn send(host: &Host, framing: &Framing, bytes: &[u8], end: bool) -> CloseReason {
    let config = host
        .server_config()
        .framing(framing.clone())
        .max_message(MESSAGE_LIMIT);
    let (server, _, seen) = host.server(config, Role::Record);
    let mut peer = TcpStream::connect(server.local_addr().ip().unwrap()).unwrap();
    peer.set_read_timeout(Some(LIMIT)).unwrap();
    // A session that has seen enough may have cut the connection before all is written.
    let _ = peer.write_all(bytes);
    if end {
        let _ = peer.shutdown(Shutdown::Write);
    }
    let reason = seen.ended();
    // An end or a reset, but no data and no silence.
    match peer.read(&mut [0; 1]) {
        Ok(count) => assert_eq!(count, 0),
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset),
    }
    reason
}

fn framing_error(reason: &CloseReason) -> (String, FramingError) {
    let error = reason.error().unwrap_or_else(|| panic!("{reason}"));
    assert_eq!(error.kind(), ErrorKind::Framing);
    match error {
        Error::Framing { peer, source } => {
            let text = format!("receive from {peer}: {source}");
            assert_eq!(error.to_string(), text);
            assert!(peer.address().is_some());
            (source.to_string(), source.clone())
        }
        other => panic!("{other:?}"),
    }
}

/// Numbers from 0 to 3, one byte each.
#[derive(Debug)]
struct Tags;

impl Framer for Tags {
    fn decode(&self, received: &[u8], _: usize, _: usize) -> Result<Step, FramingError> {
        match received.first() {
            None => Ok(Step::Incomplete {
                scanned: 0,
                needed: 1,
            }),
            Some(0..=3) => Ok(Step::Frame(Frame {
                start: 0,
                end: 1,
                consumed: 1,
            })),
            Some(tag) => Err(FramingError::custom(format!("tag {tag} is not 0 to 3"))),
        }
    }
}

fn every_broken_rule_is_told(cell: Cell) {
    let host = Host::new(cell);
    let lines = Framing::delimited("\r\n").unwrap();
    let ten = Framing::exact(10).unwrap();
    let wide = Framing::big_endian(4, 500).unwrap();
    let long = [b'x'; MESSAGE_LIMIT + 1];
    let cases: Vec<(&Framing, &[u8], bool, &str)> = vec![
        (
            &Framing::LengthPrefix,
            &[254, 17, 0],
            false,
            "length prefix 254 used for 17 bytes, which fit one byte",
        ),
        (
            &Framing::LengthPrefix,
            &[254, 253, 0],
            false,
            "length prefix 254 used for 253 bytes, which fit one byte",
        ),
        (
            &Framing::LengthPrefix,
            &[255, 255, 255, 0, 0, 0, 0, 0, 0],
            false,
            "length prefix 255 used for 65,535 bytes, which fit two bytes",
        ),
        (
            &Framing::LengthPrefix,
            &[255; 9],
            false,
            "exceeds the limit of 1,000 bytes",
        ),
        (
            &Framing::LengthPrefix,
            &[254, 0xe6, 3],
            false,
            "message of 1,001 bytes, prefix included, exceeds the limit of 1,000 bytes",
        ),
        (
            &Framing::LengthPrefix,
            &[5, 1, 2],
            true,
            "stream ended inside a message, after 3 of at least 6 bytes",
        ),
        (
            &Framing::LengthPrefix,
            &[254],
            true,
            "stream ended inside a message",
        ),
        (
            &lines,
            &long,
            false,
            "no delimiter within the limit of 1,000 bytes",
        ),
        (&lines, b"a line\r", true, "stream ended inside a message"),
        (
            &ten,
            b"123456789",
            true,
            "stream ended inside a message, after 9 of at least 10 bytes",
        ),
        (
            &wide,
            &[0, 0, 1, 0xf5],
            false,
            "payload of 501 bytes exceeds the 500 bytes that the framing allows",
        ),
        (&wide, &[0, 0], true, "stream ended inside a message"),
    ];
    for (framing, bytes, end, text) in cases {
        let reason = send(&host, framing, bytes, end);
        let (told, _) = framing_error(&reason);
        assert!(told.contains(text), "{framing:?}, {bytes:?}: {told}");
        assert_eq!(reason.error().unwrap().blame(), Blame::Peer);
    }
    let own = Framing::custom(Tags);
    let reason = send(&host, &own, &[0, 1, 7], false);
    assert_eq!(framing_error(&reason).0, "tag 7 is not 0 to 3");
    host.finish();
}

fn an_end_between_messages_is_an_end(cell: Cell) {
    let host = Host::new(cell);
    for bytes in [&[][..], &[0], &[3, 1, 2, 3]] {
        let reason = send(&host, &Framing::LengthPrefix, bytes, true);
        assert!(matches!(reason, CloseReason::Peer), "{bytes:?}: {reason}");
    }
    host.finish();
}

fn bytes_one_at_a_time_are_a_message(cell: Cell) {
    let host = Host::new(cell);
    let (server, _, seen) = host.server(host.server_config(), Role::Record);
    let mut peer = TcpStream::connect(server.local_addr().ip().unwrap()).unwrap();
    peer.set_nodelay(true).unwrap();
    let mut wire = vec![254, 44, 1];
    wire.extend([9; 300]);
    for byte in &wire {
        peer.write_all(std::slice::from_ref(byte)).unwrap();
    }
    assert_eq!(seen.message(), [9; 300]);
    // What came whole before the fault is delivered.
    peer.write_all(&[2, 8, 8, 1, 7, 254, 0, 0]).unwrap();
    assert_eq!(seen.message(), [8, 8]);
    assert_eq!(seen.message(), [7]);
    framing_error(&seen.ended());
    host.finish();
}
