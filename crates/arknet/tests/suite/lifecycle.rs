//! The life of a session, as everybody sees it.

use arknet::tcp::{Client, ClientConfig, ReconnectPolicy};
use arknet::{CloseReason, Lanes, SendError};

use crate::harness::{Cell, Host, LIMIT, Role, eventually, log, wait};

in_every_cell![
    what_is_known_of_a_session,
    nothing_is_sent_before_a_connection_and_after_its_end,
    both_ends_may_close_at_once,
    a_late_deadline_holds_nothing,
];

fn what_is_known_of_a_session(cell: Cell) {
    let host = Host::new(cell);
    let (server, _, seen) = host.server(host.server_config(), Role::Record);
    let (client, log) = host.client(&server, host.client_config());
    let handle = log.opened();
    let session = seen.opened();
    for handle in [&handle, client.handle(), &session] {
        assert!(handle.is_open() && !handle.is_closed());
        assert_eq!(handle.generation(), 1);
        assert!(wait("connected", handle.connected()));
    }
    assert_eq!(session.local_addr().as_ref(), Some(server.local_addr()));
    assert_eq!(handle.peer_addr().as_ref(), Some(server.local_addr()));
    for _ in 0..10 {
        client.send("a message").unwrap();
        seen.message();
    }
    eventually("they are counted", || session.received_messages() == 10);
    assert_ne!(session.id(), handle.id());
    assert!(format!("{session:?}").contains("Open"));
    client.handle().close();
    assert!(matches!(log.ended(), CloseReason::Local));
    assert!(matches!(seen.ended(), CloseReason::Peer));
    wait("the end", handle.closed());
    assert_eq!(session.received_messages(), 10);
    host.finish();
}

fn nothing_is_sent_before_a_connection_and_after_its_end(cell: Cell) {
    let host = Host::new(cell);
    let (server, _, seen) = host.server(host.server_config(), Role::Record);
    // On held lanes a client does not get on.
    let (client, log) = host.client(&server, host.client_config());
    let early = client.send("early");
    log.opened();
    seen.opened();
    client.send("in time").unwrap();
    let first = seen.message();
    match early {
        // It was connected already.
        Ok(()) => assert_eq!(
            (first, seen.message()),
            (b"early".to_vec(), b"in time".to_vec())
        ),
        Err(SendError::NotConnected) => assert_eq!(first, b"in time"),
        Err(error) => panic!("{error}"),
    }
    client.handle().close();
    wait("the end", client.handle().closed());
    let late = client.send("late");
    assert!(matches!(late, Err(SendError::NotConnected)), "{late:?}");
    let never = |_: &mut arknet::Session, _| unreachable!("a refused send completes");
    assert!(client.handle().send_with("late", never).is_err());
    seen.ended();
    assert!(seen.has_message().is_none());
    host.finish();
}

fn both_ends_may_close_at_once(cell: Cell) {
    let host = Host::new(cell);
    let (server, _, seen) = host.server(host.server_config(), Role::Record);
    for _ in 0..20 {
        let (client, log) = host.client(&server, host.client_config());
        log.opened();
        let session = seen.opened();
        std::thread::scope(|scope| {
            scope.spawn(|| client.handle().close());
            scope.spawn(|| session.close());
        });
        for reason in [log.ended(), seen.ended()] {
            assert!(
                matches!(reason, CloseReason::Local | CloseReason::Peer),
                "{reason}"
            );
        }
    }
    host.finish();
}

fn a_late_deadline_holds_nothing(cell: Cell) {
    let host = Host::new(cell);
    let (server, client, log) = host.echo();
    let began = std::time::Instant::now();
    client.handle().close();
    let report = wait("the client ends", client.shutdown(LIMIT * 100));
    assert!(report.forced == 0 && began.elapsed() < LIMIT / 2);
    log.ended();
    let report = wait("the server ends", server.shutdown(LIMIT * 100));
    assert_eq!(report.forced, 0);
    assert!(began.elapsed() < LIMIT / 2);
    host.finish();
}

/// A client whose lanes do not run is not connected, and says so at once.
#[test]
fn a_send_while_offline_is_refused_at_once() {
    let lanes = Lanes::manual().unwrap();
    let (_probe, _log) = log();
    let config = ClientConfig::new().reconnect(ReconnectPolicy::off());
    let client = Client::run(&lanes, "127.0.0.1:1", config, |_| async {}).unwrap();
    assert_eq!(client.handle().generation(), 0);
    assert!(!client.handle().is_open() && !client.handle().is_closed());
    assert_eq!(
        (client.handle().local_addr(), client.handle().peer_addr()),
        (None, None)
    );
    let refused = client.send("offline");
    assert!(
        matches!(refused, Err(SendError::NotConnected)),
        "{refused:?}"
    );
    assert_eq!(refused.unwrap_err().to_string(), "send: not connected");
    let report = lanes.block_on(client.shutdown(LIMIT)).unwrap();
    assert_eq!((report.closed, report.forced), (1, 0));
    assert!(client.handle().is_closed());
}
