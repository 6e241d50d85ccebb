//! Sends from the owner: admitted at once, bounded, corked, in order; close, kick and abort; data of a session.

use arknet::owner::Budget;
use arknet::owner::net::{Handler, Server, Session, broadcast};
use arknet::{CloseReason, SendError};

use super::rig::{Peer, everywhere, lines, text};

#[derive(Default)]
struct World {
    sessions: Vec<Session>,
    heard: Vec<String>,
    closed: Vec<String>,
    writable: usize,
    /// What was admitted, in bytes.
    admitted: usize,
    refused: usize,
}

struct Plain;

impl Handler<World> for Plain {
    fn on_open(&mut self, world: &mut World, session: &Session) {
        world.sessions.push(session.clone());
    }

    fn on_message(&mut self, world: &mut World, session: &Session, message: &[u8]) {
        let line = text(message);
        match line.as_str() {
            "kick me" => session.kick("farewell\n"),
            "close me" => {
                session.send("closed\n").unwrap();
                session.close();
                assert!(matches!(
                    session.send("more\n"),
                    Err(SendError::NotConnected)
                ));
            }
            "cut me" => session.abort(),
            "count" => {
                let count = session.with_data(|count: &mut u32| {
                    *count += 1;
                    *count
                });
                let count = count.unwrap_or_else(|| {
                    session.set_data(1_u32);
                    1
                });
                session.send(format!("{count}\n")).unwrap();
            }
            _ => session.send(format!("{line}!\n")).unwrap(),
        }
        world.heard.push(line);
    }

    fn on_writable(&mut self, world: &mut World, session: &Session) {
        world.writable += 1;
        assert!(session.send("on\n").is_ok());
        world.admitted += 3;
    }

    fn on_close(&mut self, world: &mut World, session: &Session, reason: &CloseReason) {
        world.closed.push(reason.to_string());
        world.sessions.retain(|known| known.id() != session.id());
    }
}

#[test]
fn a_session_answers_closes_kicks_and_cuts_from_inside_of_a_callback() {
    everywhere::<World>(|stage| {
        let server = Server::start(stage, "127.0.0.1:0", lines(), |_, _| Plain).unwrap();
        for (says, hears, ends) in [
            ("hello", vec!["hello!"], "closed by the peer"),
            ("kick me", vec!["farewell"], "closed by this side"),
            ("close me", vec!["closed"], "closed by this side"),
            ("cut me", vec![], "cut by this side"),
        ] {
            let mut peer = Peer::connect(&server);
            // What follows a kick or a close has arrived, and is discarded.
            let more = if says == "hello" { "" } else { "discarded\n" };
            assert!(peer.write(format!("{says}\n{more}").as_bytes()));
            if says == "hello" {
                peer.end();
            }
            let before = stage.world.closed.len();
            let hearing = std::thread::spawn(move || peer.hear_all());
            stage.until(|world| world.closed.len() > before);
            assert_eq!(hearing.join().unwrap(), hears);
            assert_eq!(stage.world.closed.last().unwrap(), ends);
            assert_eq!(stage.world.heard.last().unwrap(), says);
        }
        assert!(server.is_empty() && stage.world.sessions.is_empty());
    });
}

#[test]
fn a_session_keeps_data_for_the_owner() {
    everywhere::<World>(|stage| {
        let server = Server::start(stage, "127.0.0.1:0", lines(), |_, _| Plain).unwrap();
        let mut peer = Peer::connect(&server);
        assert!(peer.write(b"count\ncount\ncount\n"));
        stage.until(|world| world.heard.len() == 3);
        let session = stage.world.sessions[0].clone();
        assert_eq!(session.with_data(|count: &mut u32| *count), Some(3));
        assert_eq!(session.with_data(|_: &mut String| ()), None);
        assert_eq!(session.take_data::<String>(), None);
        assert_eq!(session.take_data::<u32>(), Some(3));
        assert_eq!(session.take_data::<u32>(), None);
        drop(peer);
        stage.until(|world| world.closed.len() == 1);
    });
}

#[test]
fn everybody_hears_a_broadcast_small_and_large() {
    everywhere::<World>(|stage| {
        let server = Server::start(stage, "127.0.0.1:0", lines(), |_, _| Plain).unwrap();
        let mut peers: Vec<Peer> = (0..20).map(|_| Peer::connect(&server)).collect();
        stage.until(|world| world.sessions.len() == 20);
        let large = "z".repeat(20_000);
        // Within an update: it leaves at its end.
        let told = format!("{large}\n");
        let everybody = server.clone();
        stage
            .defer(move |world| {
                assert!(everybody.broadcast("small\n").is_empty());
                assert!(broadcast(&world.sessions, told).is_empty());
            })
            .unwrap();
        let _ = stage.update();
        // Outside of one: at once.
        assert!(server.broadcast("last\n").is_empty());
        let hearing = std::thread::spawn(move || {
            for peer in &mut peers {
                assert_eq!(peer.hear().unwrap(), "small");
                assert_eq!(peer.hear().unwrap().len(), 20_000);
                assert_eq!(peer.hear().unwrap(), "last");
            }
        });
        while !hearing.is_finished() {
            let _ = stage.update();
            std::thread::yield_now();
        }
        hearing.join().unwrap();
        stage.until(|world| world.closed.len() == 20);
    });
}

#[test]
fn a_peer_that_does_not_read_fills_its_queue_and_the_owner_hears_when_there_is_room() {
    everywhere::<World>(|stage| {
        let config = lines().send_queue(256 << 10, 64);
        let server = Server::start(stage, "127.0.0.1:0", config, |_, _| Plain).unwrap();
        let mut peer = Peer::connect(&server);
        stage.until(|world| world.sessions.len() == 1);
        let session = stage.world.sessions[0].clone();
        let message = format!("{}\n", "m".repeat(9_999));
        let late = std::time::Instant::now() + crate::support::PATIENCE;
        // Beyond what the kernel takes. Refused, nothing is sent.
        let mut in_a_row = 0;
        while in_a_row < 50 {
            assert!(std::time::Instant::now() < late);
            match session.send(&message) {
                Ok(()) => {
                    stage.world.admitted += message.len();
                    in_a_row = 0;
                }
                Err(error) => {
                    assert!(error.is_full(), "{error}");
                    assert!(session.queued_bytes() <= 256 << 10);
                    stage.world.refused += 1;
                    in_a_row += 1;
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
            }
            let _ = stage.update_by(Budget::operations(1));
        }
        let before = stage.world.writable;
        let hearing = std::thread::spawn(move || {
            let mut last = Vec::new();
            let mut count = 0;
            while let Some(line) = peer.hear() {
                count += line.len() + 1;
                last.push(line.len());
                if line == "on" {
                    peer.end();
                }
            }
            count
        });
        stage.until(|world| world.writable > before);
        stage.until(|world| world.closed.len() == 1);
        // Everything that was admitted came.
        assert_eq!(hearing.join().unwrap(), stage.world.admitted);
        assert!(stage.world.refused > 0);
    });
}

#[test]
fn a_task_waits_for_room_to_send() {
    everywhere::<usize>(|stage| {
        let config = lines().send_queue(64 << 10, 16);
        let server = Server::serve(stage, "127.0.0.1:0", config, |cx, connection| async move {
            let message = format!("{}\n", "m".repeat(9_999));
            for _ in 0..2000 {
                connection.send_when_possible(&message).await.unwrap();
                cx.with(|sent| *sent += 1);
            }
            let huge = vec![b'm'; 65 << 10];
            assert!(
                connection
                    .send_when_possible(&huge)
                    .await
                    .unwrap_err()
                    .is_full()
            );
            // The peer reads what is left, though the task ends now.
        })
        .unwrap();
        let mut peer = Peer::connect(&server);
        // It stops when the kernel and the queue are full.
        let mut last = (0, 0);
        while last.1 < 200 {
            let _ = stage.update();
            std::thread::sleep(std::time::Duration::from_micros(200));
            last = if stage.world == last.0 {
                (last.0, last.1 + 1)
            } else {
                (stage.world, 0)
            };
        }
        let hearing = std::thread::spawn(move || peer.count_all());
        stage.until(|sent| *sent == 2000);
        while !server.is_empty() {
            let _ = stage.update();
        }
        assert_eq!(hearing.join().unwrap(), 2000 * 10_000);
    });
}

#[test]
fn a_message_that_the_framing_cannot_carry_is_refused_first() {
    everywhere::<World>(|stage| {
        let config = arknet::tcp::ServerConfig::new()
            .framing(arknet::tcp::Framing::big_endian(2, 100).unwrap());
        let server = Server::start(stage, "127.0.0.1:0", config, |_, _| Plain).unwrap();
        let peer = Peer::connect(&server);
        stage.until(|world| world.sessions.len() == 1);
        let session = stage.world.sessions[0].clone();
        let error = session.send(&[0; 101]).unwrap_err();
        assert!(matches!(error, SendError::Framing(_)), "{error}");
        session.send(&[0; 100]).unwrap();
        drop(peer);
        stage.until(|world| world.closed.len() == 1);
    });
}
