//! The first cases of the catalogue, as they are there.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;

use arknet::Session;
use arknet::tcp::Framing;

use crate::harness::{Cell, Host, LIMIT, Role, eventually, pattern, receive, wait};

in_every_cell![
    a_raw_send_owns_its_bytes,
    framing_keeps_three_messages_in_order,
    a_client_that_stops_itself_is_freed,
    a_server_that_is_stopped_from_a_post_is_freed,
];

fn a_raw_send_owns_its_bytes(cell: Cell) {
    const LENGTH: usize = 8_190;
    let host = Host::new(cell);
    let six = Framing::exact(6).unwrap();
    let (server, _, seen) = host.server(host.server_config().framing(six), Role::Record);
    let filtered = Arc::new(AtomicUsize::new(0));
    let counted = filtered.clone();
    let config = host
        .client_config()
        .framing(Framing::Raw)
        .send_filter(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            None
        });
    let (client, log) = host.client(&server, config);
    log.opened();
    let (told, completions) = channel();
    let mut payload = pattern(1, LENGTH);
    let other = told.clone();
    let completed = move |_: &mut Session, sent| other.send(sent).unwrap();
    client.handle().send_with(&payload, completed).unwrap();
    payload.fill(0xee);
    let completed = move |_: &mut Session, sent| told.send(sent).unwrap();
    client.handle().send_with(pattern(2, 6), completed).unwrap();
    let mut received = Vec::new();
    for _ in 0..=LENGTH / 6 {
        let message = seen.message();
        assert_eq!(message.len(), 6);
        received.extend(message);
    }
    assert!(received[..LENGTH] == pattern(1, LENGTH) && received[LENGTH..] == pattern(2, 6));
    let sent: Vec<usize> = completions.iter().map(Result::unwrap).collect();
    assert_eq!(sent, [LENGTH, 6]);
    eventually("nothing waits", || client.handle().queued_bytes() == 0);
    assert_eq!(filtered.load(Ordering::Relaxed), 2);
    host.finish();
}

fn framing_keeps_three_messages_in_order(cell: Cell) {
    let host = Host::new(cell);
    let (_server, client, log) = host.echo();
    for (number, length) in [5, 8_000, 5].into_iter().enumerate() {
        client.send(pattern(number, length)).unwrap();
    }
    for (number, length) in [5, 8_000, 5].into_iter().enumerate() {
        assert!(log.message() == pattern(number, length));
    }
    host.finish();
}

/// What a session's function captures is freed with it, also when it ends its own client.
fn a_client_that_stops_itself_is_freed(cell: Cell) {
    let host = Host::new(cell);
    let (server, client, log) = host.echo();
    let alive = Arc::new(());
    let (kept, stopping) = (alive.clone(), client.clone());
    let stop = move |session: &mut Session| {
        session.set_data(kept.clone());
        session.set_timer_with(1, LIMIT, move |_| drop(kept));
        drop(stopping.shutdown(LIMIT));
    };
    client.handle().post(stop).unwrap();
    log.ended();
    drop(client.shutdown(LIMIT));
    drop(client);
    eventually("it is freed", || Arc::strong_count(&alive) == 1);
    eventually("no session is left", || server.is_empty());
    host.finish();
}

fn a_server_that_is_stopped_from_a_post_is_freed(cell: Cell) {
    let host = Host::new(cell);
    let (server, client, log) = host.echo();
    let alive = Arc::new(());
    let (kept, stopping) = (alive.clone(), server.clone());
    assert!(server.set_timer("late", LIMIT, move |_| drop(kept)));
    let (told, stopped) = channel();
    host.lanes
        .post(move || told.send(stopping.shutdown(LIMIT)).unwrap());
    let report = wait("the server ends", receive(&stopped, "the post runs"));
    assert_eq!((report.closed, report.forced), (1, 0));
    drop((server, client));
    log.ended();
    eventually("it is freed", || Arc::strong_count(&alive) == 1);
    host.finish();
}
