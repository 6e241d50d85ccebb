//! C5: a server ends with its group, at once on the owner, whatever its peers do.

use std::thread;

use arknet::CloseReason;
use arknet::owner::Group;
use arknet::owner::net::{Handler, Server, Session};

use super::rig::{Peer, everywhere, lines};
use crate::support::Probe;

#[derive(Default)]
struct World {
    messages: usize,
    others: usize,
    closed: usize,
    group: Option<Group<World>>,
}

struct Chatting;

impl Handler<World> for Chatting {
    fn on_message(&mut self, world: &mut World, _: &Session, message: &[u8]) {
        world.messages += 1;
        if message == b"cancel\n"
            && let Some(group) = world.group.take()
        {
            assert!(group.cancel() > 0);
        }
    }

    fn on_close(&mut self, world: &mut World, _: &Session, _: &CloseReason) {
        world.closed += 1;
    }
}

#[test]
fn after_a_cancel_nothing_of_the_server_runs_and_the_others_go_on() {
    everywhere::<World>(|stage| {
        let group = stage.group("game").unwrap();
        let (probe, dropped) = Probe::new();
        // The peers do not end by themselves, so that it is this which ends the sessions.
        let config = lines().close_timeout(std::time::Duration::from_millis(200));
        let server = Server::start(&group, "127.0.0.1:0", config, move |_, _| {
            let _ = &probe;
            Chatting
        })
        .unwrap();
        let other = Server::start(stage, "127.0.0.1:0", lines(), |_, _| {
            |world: &mut World, session: &Session, message: &[u8]| {
                world.others += 1;
                session.send(message).unwrap();
            }
        })
        .unwrap();
        let peers: Vec<_> = (0..4)
            .map(|_| {
                let mut peer = Peer::connect(&server);
                thread::spawn(move || {
                    // Until it is refused, or told of the end.
                    while peer.say("chat") {
                        thread::yield_now();
                    }
                })
            })
            .collect();
        let mut untouched = Peer::connect(&other);
        stage.until(|world| world.messages > 500);
        assert!(group.cancel() >= 4);
        assert_eq!(dropped.try_recv().unwrap(), thread::current().id());
        let before = stage.world.messages;
        while peers.iter().any(|peer| !peer.is_finished()) || !server.is_empty() {
            let _ = stage.update();
            thread::yield_now();
        }
        for peer in peers {
            peer.join().unwrap();
        }
        assert_eq!((stage.world.messages, stage.world.closed), (before, 0));
        assert!(untouched.say("there"));
        stage.until(|world| world.others == 1);
        assert_eq!(untouched.hear().unwrap(), "there");
        drop(untouched);
        while !other.is_empty() {
            let _ = stage.update();
        }
    });
}

#[test]
fn a_callback_cancels_its_own_group() {
    everywhere::<World>(|stage| {
        let group = stage.group("game").unwrap();
        let server = Server::start(&group, "127.0.0.1:0", lines(), |_, _| Chatting).unwrap();
        stage.world.group = Some(group);
        let mut peer = Peer::connect(&server);
        assert!(peer.write(b"one\ncancel\nnever\n"));
        let hearing = thread::spawn(move || peer.hear());
        stage.until(|world| world.group.is_none());
        while !server.is_empty() {
            let _ = stage.update();
        }
        assert_eq!(hearing.join().unwrap(), None);
        assert_eq!((stage.world.messages, stage.world.closed), (2, 0));
    });
}

#[test]
fn the_tasks_of_connections_end_with_the_group() {
    everywhere::<World>(|stage| {
        let group = stage.group("game").unwrap();
        let server = Server::serve(
            &group,
            "127.0.0.1:0",
            lines(),
            |cx, mut connection| async move {
                while let Ok(Some(_)) = connection.recv().await {
                    cx.with(|world| world.messages += 1);
                }
                cx.with(|world| world.closed += 1);
            },
        )
        .unwrap();
        let mut peer = Peer::connect(&server);
        assert!(peer.say("hello"));
        stage.until(|world| world.messages == 1);
        assert!(peer.say("never"));
        assert!(group.cancel() > 0);
        let hearing = thread::spawn(move || peer.hear());
        while !server.is_empty() {
            let _ = stage.update();
        }
        assert_eq!(hearing.join().unwrap(), None);
        assert_eq!((stage.world.messages, stage.world.closed), (1, 0));
    });
}

#[test]
fn a_task_of_a_player_is_cancelled_and_its_connection_closes() {
    everywhere::<World>(|stage| {
        // Each connection's task makes a group for its player, as a game does.
        let server = Server::serve(
            stage,
            "127.0.0.1:0",
            lines(),
            |cx, mut connection| async move {
                let player = cx.group("player").unwrap();
                let playing = player
                    .spawn(async move |cx| {
                        while let Ok(Some(_)) = connection.recv().await {
                            cx.with(|world| world.messages += 1);
                        }
                    })
                    .unwrap();
                cx.with(|world| world.group = Some(player));
                playing.await.unwrap_err();
                cx.with(|world| world.closed += 1);
            },
        )
        .unwrap();
        let mut peer = Peer::connect(&server);
        assert!(peer.say("hello"));
        stage.until(|world| world.messages == 1);
        assert!(stage.world.group.take().unwrap().cancel() > 0);
        stage.until(|world| world.closed == 1);
        let hearing = thread::spawn(move || peer.hear());
        while !server.is_empty() {
            let _ = stage.update();
        }
        assert_eq!(hearing.join().unwrap(), None);
    });
}
