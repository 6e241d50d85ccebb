//! C4: of each session, opened, its messages in order, closed, and nothing after that; in both styles, on every placement.

use std::collections::BTreeMap;
use std::thread;

use arknet::CloseReason;
use arknet::owner::net::{Handler, Server, Session, SessionId};

use super::rig::{Peer, everywhere, lines, text};
use crate::support::Stage;

const PEERS: usize = 8;
const MESSAGES: usize = 300;

#[derive(Default)]
struct World {
    traces: BTreeMap<SessionId, Vec<String>>,
}

impl World {
    fn note(&mut self, session: &Session, what: impl Into<String>) {
        self.traces
            .entry(session.id())
            .or_default()
            .push(what.into());
    }

    fn closed(&self) -> usize {
        let is_closed = |trace: &&Vec<String>| trace.last().is_some_and(|last| last == "closed");
        self.traces.values().filter(is_closed).count()
    }
}

struct Noting;

impl Handler<World> for Noting {
    fn on_open(&mut self, world: &mut World, session: &Session) {
        assert!(session.is_open() && session.peer_addr().is_some());
        world.note(session, "opened");
    }

    fn on_message(&mut self, world: &mut World, session: &Session, message: &[u8]) {
        world.note(session, text(message));
    }

    fn on_end(&mut self, world: &mut World, session: &Session) {
        world.note(session, "ended");
        session.finish();
    }

    fn on_close(&mut self, world: &mut World, session: &Session, reason: &CloseReason) {
        assert!(matches!(reason, CloseReason::Peer), "{reason}");
        assert!(!session.is_open());
        session.send("too late\n").unwrap_err();
        world.note(session, "closed");
    }
}

/// Peers that each say their lines and end.
fn peers<W>(server: &Server<W>) -> Vec<thread::JoinHandle<()>> {
    (0..PEERS)
        .map(|peer| {
            let address = server.local_addr().clone();
            thread::spawn(move || {
                let mut socket = Peer::connect_to(&address);
                for number in 0..MESSAGES {
                    assert!(socket.say(&format!("{peer} {number}")));
                }
                socket.end();
                assert_eq!(socket.hear(), None);
            })
        })
        .collect()
}

fn check(world: &World, ends: &[&str]) {
    assert_eq!(world.traces.len(), PEERS);
    let mut seen = Vec::new();
    for trace in world.traces.values() {
        let peer = trace[1].split(' ').next().unwrap().to_owned();
        let mut expected = vec!["opened".to_owned()];
        expected.extend((0..MESSAGES).map(|number| format!("{peer} {number}")));
        expected.extend(ends.iter().map(|end| (*end).to_owned()));
        assert_eq!(*trace, expected);
        seen.push(peer);
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), PEERS);
}

fn run(stage: &mut Stage<World>, server: &Server<World>, ends: &[&str]) {
    let threads = peers(server);
    stage.until(|world| world.closed() == PEERS);
    for thread in threads {
        thread.join().unwrap();
    }
    check(&stage.world, ends);
    while !server.is_empty() {
        let _ = stage.update();
    }
}

#[test]
fn callbacks_hear_of_each_session_in_order() {
    everywhere::<World>(|stage| {
        let server = Server::start(stage, "127.0.0.1:0", lines(), |_, _| Noting).unwrap();
        run(stage, &server, &["ended", "closed"]);
    });
}

#[test]
fn tasks_receive_from_each_connection_in_order() {
    everywhere::<World>(|stage| {
        let server = Server::serve(
            stage,
            "127.0.0.1:0",
            lines(),
            |cx, mut connection| async move {
                let session = connection.session().clone();
                cx.with(|world| world.note(&session, "opened"));
                while let Some(message) = connection.recv().await.unwrap() {
                    cx.with(|world| world.note(&session, text(&message)));
                }
                assert_eq!(
                    connection.recv().await.unwrap(),
                    None,
                    "the end stays the end"
                );
                cx.with(|world| world.note(&session, "closed"));
            },
        )
        .unwrap();
        run(stage, &server, &["closed"]);
    });
}

#[test]
fn a_task_that_waits_for_something_else_between_its_messages_misses_none() {
    everywhere::<World>(|stage| {
        let server = Server::serve(
            stage,
            "127.0.0.1:0",
            lines(),
            |cx, mut connection| async move {
                let session = connection.session().clone();
                cx.with(|world| world.note(&session, "opened"));
                let mut count = 0;
                while let Some(line) = connection.recv_with(text).await.unwrap() {
                    count += 1;
                    if count % 7 == 0 {
                        cx.yield_now().await;
                    }
                    if count % 50 == 0 {
                        let line = line.clone();
                        assert_eq!(
                            cx.blocking(move || line).await.unwrap().split(' ').count(),
                            2
                        );
                    }
                    cx.with(|world| world.note(&session, line));
                }
                cx.with(|world| world.note(&session, "closed"));
            },
        )
        .unwrap();
        run(stage, &server, &["closed"]);
    });
}

#[test]
fn empty_messages_are_messages_and_large_ones_come_whole() {
    everywhere::<Vec<usize>>(|stage| {
        let config = arknet::tcp::ServerConfig::new()
            .framing(arknet::tcp::Framing::big_endian(4, 4 << 20).unwrap());
        let server = Server::start(stage, "127.0.0.1:0", config, |_, _| {
            |world: &mut Vec<usize>, session: &Session, message: &[u8]| {
                world.push(message.len());
                assert!(message.iter().all(|byte| *byte == 7));
                session.send(message).unwrap();
            }
        })
        .unwrap();
        let address = server.local_addr().clone();
        let sizes = [0, 1, 2000, 3000, 100_000, 0, 3 << 20, 5];
        let total: usize = sizes.iter().map(|size| size + 4).sum();
        let peer = thread::spawn(move || {
            let mut peer = Peer::connect_to(&address);
            for size in sizes {
                let mut message = u32::try_from(size).unwrap().to_be_bytes().to_vec();
                message.resize(size + 4, 7);
                assert!(peer.write(&message));
            }
            peer.end();
            peer.count_all()
        });
        stage.until(|world| world.len() == sizes.len());
        assert_eq!(stage.world, sizes);
        while !server.is_empty() {
            let _ = stage.update();
        }
        assert_eq!(peer.join().unwrap(), total);
    });
}
