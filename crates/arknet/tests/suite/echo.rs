//! What is sent arrives: every size, every framing, in order, whoever sends.

use arknet::Bytes;
use arknet::tcp::Framing;

use crate::harness::{Cell, Host, Model, Role, Style, Transport, pattern, wait};

in_every_cell![
    every_size_comes_back,
    every_framing_carries_messages,
    pipelined_messages_keep_their_order,
    what_was_borrowed_may_be_reused,
    concurrent_senders_keep_their_own_order,
];

/// The boundaries of the length prefix, and sizes around what a read and a write take.
const SIZES: [usize; 11] = [
    0, 1, 253, 254, 255, 8_191, 8_192, 65_535, 65_536, 65_537, 1_048_576,
];

fn every_size_comes_back(cell: Cell) {
    let host = Host::new(cell);
    let (_server, client, log) = host.echo();
    for size in SIZES {
        let message = pattern(size, size);
        client.send(&message).unwrap();
        assert!(log.message() == message, "{size} bytes alone");
    }
    for size in SIZES {
        client.send(pattern(size, size)).unwrap();
    }
    for size in SIZES {
        assert!(
            log.message() == pattern(size, size),
            "{size} bytes among others"
        );
    }
    host.finish();
}

fn every_framing_carries_messages(cell: Cell) {
    let host = Host::new(cell);
    let line = Bytes::from_static(b"a line\r\n");
    for (framing, message) in [
        (Framing::delimited("\r\n").unwrap(), line.clone()),
        (Framing::exact(8).unwrap(), line.clone()),
        (Framing::big_endian(2, 65_535).unwrap(), line.clone()),
        (
            Framing::big_endian(4, 100_000).unwrap(),
            pattern(1, 100_000).into(),
        ),
        (Framing::big_endian(2, 8).unwrap(), Bytes::new()),
    ] {
        let config = host.server_config().framing(framing.clone());
        let (server, _, _) = host.server(config, Role::Echo);
        let (client, log) = host.client(&server, host.client_config().framing(framing.clone()));
        log.opened();
        for _ in 0..3 {
            client.send(message.clone()).unwrap();
        }
        for _ in 0..3 {
            assert!(log.message() == message, "{framing:?}");
        }
    }
    let config = host.server_config().framing(Framing::Raw);
    let (server, _, _) = host.server(config, Role::Echo);
    let (client, log) = host.client(&server, host.client_config().framing(Framing::Raw));
    log.opened();
    let sent = pattern(2, 100_000);
    client.send(&sent).unwrap();
    let mut received = Vec::new();
    while received.len() < sent.len() {
        received.extend(log.message());
    }
    assert!(received == sent);
    host.finish();
}

fn pipelined_messages_keep_their_order(cell: Cell) {
    const MESSAGES: usize = 1_000;
    let host = Host::new(cell);
    let (_server, client, log) = host.echo();
    for number in 0..MESSAGES {
        let message = pattern(number, number);
        wait("room", client.handle().send_when_possible(message)).unwrap();
    }
    for number in 0..MESSAGES {
        assert!(log.message() == pattern(number, number), "message {number}");
    }
    host.finish();
}

fn what_was_borrowed_may_be_reused(cell: Cell) {
    const MESSAGES: usize = 50;
    let host = Host::new(cell);
    let (_server, client, log) = host.echo();
    let mut buffer = vec![0; 20_000];
    for number in 0..MESSAGES {
        buffer.copy_from_slice(&pattern(number, 20_000));
        client.send(&buffer).unwrap();
        buffer.fill(0xee);
    }
    let inside = |session: &mut arknet::Session| {
        let mut buffer = vec![0; 20_000];
        for number in 0..MESSAGES {
            buffer.copy_from_slice(&pattern(number, 20_000));
            session.send(&buffer).unwrap();
            buffer.fill(0xee);
        }
    };
    client.handle().post(inside).unwrap();
    for number in (0..MESSAGES).chain(0..MESSAGES) {
        assert!(log.message() == pattern(number, 20_000), "message {number}");
    }
    host.finish();
}

fn concurrent_senders_keep_their_own_order(cell: Cell) {
    const SENDERS: u8 = 4;
    const MESSAGES: u32 = 300;
    let host = Host::new(cell);
    let (_server, seen, client, _) = host.recorder();
    std::thread::scope(|scope| {
        for sender in 0..SENDERS {
            let handle = client.handle().clone();
            scope.spawn(move || {
                for number in 0..MESSAGES {
                    let mut message = vec![sender];
                    message.extend(number.to_le_bytes());
                    wait("room", handle.send_when_possible(message)).unwrap();
                }
            });
        }
    });
    let mut next = [0; SENDERS as usize];
    for _ in 0..u32::from(SENDERS) * MESSAGES {
        let message = seen.message();
        let number = u32::from_le_bytes(message[1..].try_into().unwrap());
        let expected = &mut next[usize::from(message[0])];
        assert_eq!(number, *expected, "sender {}", message[0]);
        *expected += 1;
    }
    host.finish();
    assert!(seen.has_message().is_none(), "nothing arrives twice");
}

/// The default limit with its prefix of nine bytes.
const LARGEST: usize = 16 * 1024 * 1024 - 9;

fn the_largest_message_comes_back(transport: Transport, style: Style) {
    let model = Model::Shared4;
    let host = Host::new(Cell {
        transport,
        style,
        model,
    });
    let (_server, client, log) = host.echo();
    let message = Bytes::from(pattern(3, LARGEST));
    client.send(message.clone()).unwrap();
    assert!(log.message() == message);
    host.finish();
}

#[test]
fn the_largest_message_comes_back_tcp_callbacks() {
    the_largest_message_comes_back(Transport::Tcp, Style::Callbacks);
}

#[test]
fn the_largest_message_comes_back_tcp_tasks() {
    the_largest_message_comes_back(Transport::Tcp, Style::Tasks);
}

#[test]
fn the_largest_message_comes_back_tcps_callbacks() {
    the_largest_message_comes_back(Transport::Tcps, Style::Callbacks);
}

#[test]
fn the_largest_message_comes_back_tcps_tasks() {
    the_largest_message_comes_back(Transport::Tcps, Style::Tasks);
}

#[cfg(unix)]
#[test]
fn the_largest_message_comes_back_unix_callbacks() {
    the_largest_message_comes_back(Transport::Unix, Style::Callbacks);
}

#[cfg(unix)]
#[test]
fn the_largest_message_comes_back_unix_tasks() {
    the_largest_message_comes_back(Transport::Unix, Style::Tasks);
}
