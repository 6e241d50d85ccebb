//! A peer that reads slowly, or not at all for a while.

use std::sync::mpsc::channel;

use arknet::tcp::Server;
use arknet::{Bytes, Session};

use crate::harness::{Cell, Host, Role, eventually, log, pattern, receive, wait};

in_every_cell![a_slow_reader_fills_the_queue, the_peer_is_slowed_down];

in_every_cell_of![Callbacks: nothing_is_delivered_while_reading_is_paused];

fn a_slow_reader_fills_the_queue(cell: Cell) {
    const SENDS: usize = 12;
    const SIZE: usize = 256 * 1024;
    let host = Host::new(cell);
    let small = Some(32 * 1024);
    let config = host.server_config().socket_buffers(None, small);
    let (server, deaf, seen) = host.server(config, Role::Deaf);
    let config = host
        .client_config()
        .send_queue(512 * 1024, 1_024)
        .socket_buffers(small, None);
    let (client, log) = host.client(&server, config);
    log.opened();
    let session = seen.opened();
    let accepted: Vec<usize> = (0..SENDS)
        .filter(|number| match client.send(pattern(*number, SIZE)) {
            Ok(()) => true,
            Err(error) => {
                assert!(error.is_full(), "{error}");
                false
            }
        })
        .collect();
    assert!(
        !accepted.is_empty() && accepted.len() < SENDS,
        "{accepted:?}"
    );
    deaf.read(&session);
    for number in accepted {
        assert!(seen.message() == pattern(number, SIZE), "message {number}");
    }
    wait("the queue drains", client.handle().flush()).unwrap();
    eventually("nothing waits", || client.handle().queued_bytes() == 0);
    client.send("later").unwrap();
    assert_eq!(seen.message(), b"later");
    host.finish();
}

/// A sender that waits for room moves at the pace of its peer, and loses nothing.
fn the_peer_is_slowed_down(cell: Cell) {
    const MESSAGES: usize = 60;
    const SIZE: usize = 100_000;
    let host = Host::new(cell);
    let (server, deaf, seen) = host.server(host.server_config(), Role::Deaf);
    let config = host.client_config().send_queue(2 * SIZE, 4);
    let (client, log) = host.client(&server, config);
    log.opened();
    let session = seen.opened();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..MESSAGES {
                let message = Bytes::from(pattern(number, SIZE));
                wait("room", client.handle().send_when_possible(message)).unwrap();
            }
        });
        deaf.read(&session);
        for number in 0..MESSAGES {
            assert!(seen.message() == pattern(number, SIZE), "message {number}");
        }
    });
    host.finish();
}

fn nothing_is_delivered_while_reading_is_paused(cell: Cell) {
    let host = Host::new(cell);
    let (probe, _) = log();
    let (told, delivered) = channel();
    let server = Server::start(
        &host.lanes,
        host.address(),
        host.server_config(),
        move |_| {
            let told = told.clone();
            move |session: &mut Session, message: &[u8]| {
                session.pause_reading(true);
                told.send((session.handle(), message.to_vec())).unwrap();
            }
        },
    )
    .unwrap();
    let client = host.client_on(
        server.local_addr(),
        host.client_config(),
        &probe,
        Role::Record,
    );
    assert!(wait("connected", client.connected()));
    let burst = |session: &mut Session| {
        for number in 0..3_u8 {
            session.send(&[number]).unwrap();
        }
    };
    client.handle().post(burst).unwrap();
    for number in 0..3_u8 {
        let (session, message) = receive(&delivered, "a message arrives");
        assert_eq!(message, [number]);
        // Turns of the session for other reasons do not deliver.
        for _ in 0..10 {
            let (ran, has_run) = channel();
            session.post(move |_| ran.send(()).unwrap()).unwrap();
            receive(&has_run, "a post runs");
        }
        assert!(delivered.try_recv().is_err(), "delivered while paused");
        session
            .post(|session| session.pause_reading(false))
            .unwrap();
    }
    host.finish();
}
