//! C6: a drain lets what has arrived be delivered, lets callbacks and finalisers have their last words, and closes the
//! sessions; what their ends cause is done, too.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use arknet::CloseReason;
use arknet::owner::net::{Handler, Server, Session};
use arknet::owner::{Deadline, Io, Lost, Service};

use super::rig::{Peer, everywhere, finish, lines, placements, text};
use crate::support::{PATIENCE, Stage};

const PEERS: usize = 10;

#[derive(Default)]
struct World {
    delivered: usize,
    closed: usize,
    saved: usize,
}

type Saves = Service<World, u64, Result<(), Lost>>;

struct Player {
    saves: Saves,
}

impl Handler<World> for Player {
    fn on_message(&mut self, world: &mut World, session: &Session, message: &[u8]) {
        world.delivered += 1;
        session.send(message).unwrap();
    }

    fn on_close(&mut self, world: &mut World, session: &Session, reason: &CloseReason) {
        assert!(matches!(reason, CloseReason::Local), "{reason}");
        world.closed += 1;
        let saved = |world: &mut World, saved: Result<(), Lost>| {
            saved.unwrap();
            world.saved += 1;
        };
        self.saves
            .ordered(session.id().get())
            .send(session.id().get(), saved)
            .unwrap();
    }
}

fn saves(stage: &Stage<World>, written: &Arc<AtomicUsize>) -> Saves {
    let written = written.clone();
    stage
        .service("saves", move |_: u64| {
            let written = written.clone();
            async move {
                tokio::task::yield_now().await;
                written.fetch_add(1, Ordering::SeqCst);
                Ok(())
            }
        })
        .unwrap()
}

/// Peers that ask and wait for the answer, again and again, until they hear the end; returns the answers and the last line.
fn asking<W>(server: &Server<W>) -> Vec<thread::JoinHandle<(usize, String)>> {
    (0..PEERS)
        .map(|peer| {
            let address = server.local_addr().clone();
            thread::spawn(move || {
                let mut socket = Peer::connect_to(&address);
                let mut answers = 0;
                let mut last = String::new();
                loop {
                    // Refused once the other side has closed.
                    let _ = socket.say(&format!("{peer}"));
                    match socket.hear() {
                        Some(line) if line == "goodbye" => last = line,
                        Some(_) => answers += 1,
                        None => return (answers, last),
                    }
                }
            })
        })
        .collect()
}

fn heard(threads: Vec<thread::JoinHandle<(usize, String)>>) -> (usize, usize) {
    let heard: Vec<_> = threads
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .collect();
    let answers = heard.iter().map(|(answers, _)| answers).sum();
    (
        answers,
        heard.iter().filter(|(_, last)| last == "goodbye").count(),
    )
}

#[test]
fn callbacks_are_drained_under_load_and_nothing_is_lost() {
    everywhere::<World>(|stage| {
        let written = Arc::new(AtomicUsize::new(0));
        let saves = saves(stage, &written);
        // Registered before the server: it runs when the sessions have ended.
        stage.on_drain("last", async move |cx| {
            cx.with(|world| assert_eq!((world.closed, world.saved), (PEERS, PEERS)));
        });
        let of_each = saves.clone();
        let server = Server::start(stage, "127.0.0.1:0", lines(), move |_, _| Player {
            saves: of_each.clone(),
        })
        .unwrap();
        // Registered after it: it has the last word.
        let everybody = server.clone();
        stage.on_drain("goodbye", async move |_| {
            assert!(everybody.broadcast("goodbye\n").is_empty());
        });
        let threads = asking(&server);
        let known = server.clone();
        stage.until(|world| world.delivered > 200 && known.len() == PEERS);
        let owner = stage.owner.as_mut().unwrap();
        let report = owner
            .drain(&mut stage.world, Deadline::in_(PATIENCE))
            .unwrap();
        assert!(report.finished, "{report:?}");
        assert_eq!((report.abandoned_count, report.finalised), (0, 3));
        assert_eq!((report.sessions.closed, report.sessions.forced), (PEERS, 0));
        assert_eq!(report.sessions.dropped_messages, 0);
        let world = &stage.world;
        assert_eq!(
            (world.closed, world.saved, written.load(Ordering::SeqCst)),
            (PEERS, PEERS, PEERS)
        );
        assert_eq!(
            heard(threads),
            (world.delivered, PEERS),
            "every message was answered"
        );
        assert!(server.is_empty());
        drop(saves);
    });
}

#[test]
fn tasks_are_told_by_their_connections_and_end_by_themselves() {
    everywhere::<World>(|stage| {
        let server = Server::serve(
            stage,
            "127.0.0.1:0",
            lines(),
            |cx, mut connection| async move {
                while let Ok(Some(line)) = connection.recv_with(text).await {
                    // The answer takes its time, also while the owner drains.
                    let line = cx.blocking(move || line).await.unwrap();
                    cx.with(|world| world.delivered += 1);
                    connection.send(format!("{line}\n")).unwrap();
                }
                connection.send("goodbye\n").unwrap();
                cx.with(|world| world.closed += 1);
            },
        )
        .unwrap();
        let threads = asking(&server);
        let known = server.clone();
        stage.until(|world| world.delivered > 100 && known.len() == PEERS);
        let owner = stage.owner.as_mut().unwrap();
        let report = owner
            .drain(&mut stage.world, Deadline::in_(PATIENCE))
            .unwrap();
        assert!(report.finished, "{report:?}");
        assert_eq!((report.abandoned_count, report.sessions.forced), (0, 0));
        assert_eq!(report.sessions.dropped_messages, 0);
        let world = &stage.world;
        assert_eq!(world.closed, PEERS);
        assert_eq!(heard(threads), (world.delivered, PEERS));
    });
}

#[test]
fn a_peer_that_does_not_read_is_cut_within_the_deadline_and_reported() {
    drop(placements());
    for io in [Io::threads(1), Io::inline()] {
        let mut owned = Stage::<World>::new(io);
        let stage = &mut owned;
        let written = Arc::new(AtomicUsize::new(0));
        let saves = saves(stage, &written);
        let told = saves.clone();
        struct Stuck {
            saves: Saves,
        }
        impl Handler<World> for Stuck {
            fn on_open(&mut self, world: &mut World, session: &Session) {
                world.delivered += 1;
                for _ in 0..15 {
                    session.send(vec![7; 1 << 20]).unwrap();
                }
            }
            fn on_message(&mut self, _: &mut World, _: &Session, _: &[u8]) {}
            fn on_close(&mut self, world: &mut World, _: &Session, _: &CloseReason) {
                world.closed += 1;
                self.saves.send(0, |world, _| world.saved += 1).unwrap();
            }
        }
        let config = arknet::tcp::ServerConfig::new();
        let server = Server::start(stage, "127.0.0.1:0", config, move |_, _| Stuck {
            saves: told.clone(),
        })
        .unwrap();
        let peer = Peer::connect(&server);
        stage.until(|world| world.delivered == 1);
        let owner = stage.owner.as_mut().unwrap();
        let report = owner
            .drain(&mut stage.world, Deadline::in_(Duration::from_secs(6)))
            .unwrap();
        // It is cut early enough for its end to be delivered, and for what that causes.
        assert!(report.finished, "{report:?}");
        assert_eq!((report.sessions.closed, report.sessions.forced), (0, 1));
        assert!(report.sessions.dropped_messages > 0);
        assert_eq!((stage.world.closed, stage.world.saved), (1, 1));
        drop((peer, saves, server));
        finish(owned);
    }
}

#[test]
fn nobody_gets_in_once_a_drain_has_begun() {
    everywhere::<World>(|stage| {
        let server = Server::serve(
            stage,
            "127.0.0.1:0",
            lines(),
            |cx, mut connection| async move {
                while let Ok(Some(_)) = connection.recv().await {}
                cx.with(|world| world.closed += 1);
            },
        )
        .unwrap();
        let address = server.local_addr().clone();
        let (late, was_late) = std::sync::mpsc::channel();
        stage.on_drain("while it drains", async move |cx| {
            let heard = cx
                .blocking(move || Peer::connect_to(&address).hear_all())
                .await;
            late.send(heard.unwrap()).unwrap();
        });
        let owner = stage.owner.as_mut().unwrap();
        let report = owner
            .drain(&mut stage.world, Deadline::in_(PATIENCE))
            .unwrap();
        assert!(report.finished, "{report:?}");
        assert_eq!(was_late.recv().unwrap(), Vec::<String>::new());
        assert_eq!(stage.world.closed, 0);
    });
}
