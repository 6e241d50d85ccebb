//! The sessions of a server: looked up, counted, limited, told all at once; and what each keeps.

use std::collections::BTreeSet;
use std::io::Read;
use std::sync::mpsc::channel;

use arknet::tcp::{Server, ServerConfig};
use arknet::{Event, Lanes, SendError, Session};

use crate::harness::{Cell, Host, Role, eventually, log, receive, wait};

in_every_cell![
    sessions_are_found_and_counted,
    a_broadcast_reaches_each_and_says_so,
    a_session_keeps_a_value,
];

fn sessions_are_found_and_counted(cell: Cell) {
    let host = Host::new(cell);
    let (server, _, seen) = host.server(host.server_config(), Role::Record);
    assert!(server.is_empty() && server.sessions().is_empty());
    let mut ids = Vec::new();
    let mut clients = Vec::new();
    for count in 1..=4 {
        let (client, log) = host.client(&server, host.client_config());
        log.opened();
        let session = seen.opened();
        assert_eq!(
            session.peer_addr().is_some(),
            client.handle().local_addr().is_some()
        );
        ids.push(session.id());
        clients.push(client);
        assert_eq!((server.len(), server.accepted()), (count, count as u64));
        let listed: Vec<_> = server
            .sessions()
            .iter()
            .map(|session| session.id())
            .collect();
        assert_eq!(listed, ids, "in the order in which they were accepted");
    }
    let gone = server.session(ids[1]).unwrap();
    gone.close();
    assert_eq!(seen.ended_of().0, ids[1]);
    eventually("it is gone", || server.session(ids[1]).is_none());
    assert_eq!(server.len(), 3);
    assert!(server.session(ids[2]).is_some());
    let (client, _) = host.client(&server, host.client_config());
    assert!(wait("connected", client.connected()));
    let next = seen.opened().id();
    ids.push(next);
    let unique: BTreeSet<_> = ids.iter().collect();
    assert_eq!(unique.len(), ids.len(), "an identity is never given twice");
    host.finish();
    assert!(server.is_empty());
}

fn a_broadcast_reaches_each_and_says_so(cell: Cell) {
    const CLIENTS: usize = 5;
    let host = Host::new(cell);
    let config = host.server_config().send_queue(1_000, 10);
    let (server, _, seen) = host.server(config, Role::Record);
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| host.client(&server, host.client_config()))
        .collect();
    let ids: BTreeSet<_> = clients
        .iter()
        .map(|(_, log)| {
            log.opened();
            seen.opened().id()
        })
        .collect();
    for payload in ["to all", ""] {
        let results = server.broadcast(payload);
        let told: BTreeSet<_> = results.iter().map(|(id, _)| *id).collect();
        assert_eq!(told, ids);
        assert!(results.iter().all(|(_, sent)| sent.is_ok()), "{results:?}");
        for (_, log) in &clients {
            assert_eq!(log.message(), payload.as_bytes());
        }
    }
    let refused = server.broadcast(vec![0; 1_001]);
    assert_eq!(refused.len(), CLIENTS);
    for (_, sent) in refused {
        assert!(
            matches!(&sent, Err(SendError::QueueFull { .. })),
            "{sent:?}"
        );
    }
    host.finish();
}

fn a_session_keeps_a_value(cell: Cell) {
    let host = Host::new(cell);
    let (server, _, seen) = host.server(host.server_config(), Role::Record);
    let (client, _) = host.client(&server, host.client_config());
    let session = seen.opened();
    let (told, values) = channel();
    let alive = std::sync::Arc::new(());
    let kept = alive.clone();
    let keep = move |session: &mut Session| {
        assert_eq!(session.data::<u64>(), None);
        session.set_data(41_u64);
        *session.data_mut::<u64>().unwrap() += 1;
        assert_eq!(session.data::<i64>(), None, "another type is not there");
        let first = session.data::<u64>().copied();
        session.set_data(("a name", kept));
        let text = session
            .data::<(&str, std::sync::Arc<()>)>()
            .map(|data| data.0);
        told.send((first, text, session.data::<u64>().copied()))
            .unwrap();
    };
    session.post(keep).unwrap();
    assert_eq!(
        receive(&values, "the values"),
        (Some(42), Some("a name"), None)
    );
    client.handle().close();
    eventually("the value is dropped with its session", || {
        std::sync::Arc::strong_count(&alive) == 1
    });
    host.finish();
}

#[test]
fn more_connections_than_allowed_are_refused_and_counted() {
    let lanes = Lanes::shared(1).unwrap();
    let (probe, _log) = log();
    let (told, refused) = channel();
    let config = ServerConfig::new()
        .max_connections(2)
        .on_event(move |event| {
            if let Event::Refused { limit } = event {
                told.send(*limit).unwrap();
            }
            probe.event(event);
        });
    let server = Server::serve(&lanes, "127.0.0.1:0", config, |mut connection| async move {
        while let Ok(Some(_)) = connection.recv().await {}
    })
    .unwrap();
    let address = server.local_addr().ip().unwrap();
    let connect = || std::net::TcpStream::connect(address).unwrap();
    let first = connect();
    let _second = connect();
    eventually("two are in", || server.sessions().len() == 2);
    let mut third = connect();
    assert_eq!(receive(&refused, "one is refused"), 2);
    assert!(matches!(third.read(&mut [0; 1]), Ok(0) | Err(_)));
    assert_eq!(
        (server.refused(), server.accepted(), server.len()),
        (1, 2, 2)
    );
    drop(first);
    eventually("there is room", || server.len() == 1);
    let _fourth = connect();
    eventually("another is in", || server.accepted() == 3);
    wait("the lanes end", lanes.shutdown(crate::harness::LIMIT));
}
