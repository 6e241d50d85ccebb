//! C10: what the network said is in the journal, and a replay says it again without a network.

use std::time::Instant;

use arknet::CloseReason;
use arknet::owner::net::{Handler, Server, Session};
use arknet::owner::{Budget, Io, Journal, Owner};

use super::rig::{Peer, lines, text};
use crate::support::PATIENCE;

#[derive(Default)]
struct World {
    trace: Vec<String>,
    closed: usize,
}

struct Noting;

impl Handler<World> for Noting {
    fn on_open(&mut self, world: &mut World, session: &Session) {
        let known = session.peer_addr().is_some();
        world.trace.push(format!("{} opened {known}", session.id()));
    }

    fn on_message(&mut self, world: &mut World, session: &Session, message: &[u8]) {
        world
            .trace
            .push(format!("{} said {}", session.id(), text(message)));
        session.send(message).unwrap();
    }

    fn on_close(&mut self, world: &mut World, session: &Session, reason: &CloseReason) {
        world
            .trace
            .push(format!("{} closed {reason}", session.id()));
        world.closed += 1;
    }
}

const PEERS: usize = 5;

/// Sessions with callbacks and tasks, whose order is left to chance.
fn program(journal: Option<Journal>) -> (Vec<String>, Vec<u8>) {
    let start = Instant::now();
    let mut builder = Owner::<World>::builder()
        .io(Io::threads(2))
        .clock(start)
        .record(1 << 20);
    let replaying = journal.is_some();
    if let Some(journal) = journal {
        builder = builder.replay(journal);
    }
    let mut owner = builder.build().unwrap();
    let mut world = World::default();
    let called = Server::start(&owner, "127.0.0.1:0", lines(), |_, _| Noting).unwrap();
    let awaited = Server::serve(
        &owner,
        "127.0.0.1:0",
        lines(),
        |cx, mut connection| async move {
            let id = connection.id();
            while let Some(line) = connection.recv_with(text).await.unwrap() {
                let line = cx.blocking(move || line).await.unwrap();
                cx.with(|world| world.trace.push(format!("task {id} heard {line}")));
            }
            cx.with(|world| world.closed += 1);
        },
    )
    .unwrap();
    let peers: Vec<_> = (0..if replaying { 0 } else { PEERS })
        .map(|peer| {
            let addresses = [called.local_addr().clone(), awaited.local_addr().clone()];
            std::thread::spawn(move || {
                let mut peers = addresses.map(|address| Peer::connect_to(&address));
                for number in 0..20 {
                    for socket in &mut peers {
                        assert!(socket.say(&format!("{peer}: {number}")));
                    }
                }
                for mut socket in peers {
                    socket.end();
                    socket.hear_all();
                }
            })
        })
        .collect();
    let late = Instant::now() + PATIENCE;
    let mut tick = 0;
    while world.closed < 2 * PEERS {
        assert!(Instant::now() < late, "{:?}", world.trace);
        tick += 1;
        let now = start + tick * std::time::Duration::from_micros(300);
        let _ = owner
            .update_at(now, &mut world, Budget::operations(5))
            .unwrap();
        std::thread::yield_now();
    }
    for peer in peers {
        peer.join().unwrap();
    }
    let journal = owner.journal().unwrap();
    assert!(!journal.is_truncated());
    (world.trace, journal.to_bytes())
}

#[test]
fn a_replay_says_what_the_peers_said_in_their_order() {
    let (trace, bytes) = program(None);
    assert_eq!(trace.len(), PEERS * (22 + 20));
    let journal = Journal::from_bytes(&bytes).unwrap();
    for _ in 0..2 {
        let (replayed, again) = program(Some(journal.clone()));
        assert_eq!(replayed, trace);
        assert!(again == bytes, "the journal of the replay differs");
    }
}
