//! C17: the owner is dropped while messages arrive, its handles before and after it, and nothing is left.

use std::thread;

use arknet::owner::net::{Client, Server, Session};
use arknet::tcp::{ClientConfig, Framing};

use super::rig::{Peer, lines, placements};
use crate::support::{Probe, Stage};

/// As in the rig.
const KEPT: u64 = 4 << 20;

#[test]
fn the_owner_is_dropped_while_messages_arrive() {
    drop(placements());
    for (name, io) in placements() {
        eprintln!("with IO on {name}");
        let mut stage = Stage::<(usize, Vec<Session>)>::new(io);
        let (probe, dropped) = Probe::new();
        let server = Server::start(&stage, "127.0.0.1:0", lines(), move |world, session| {
            let _ = &probe;
            let world: &mut (usize, Vec<Session>) = world;
            world.1.push(session.clone());
            |world: &mut (usize, Vec<Session>), session: &Session, message: &[u8]| {
                world.0 += 1;
                // The peers do not read what they are told: it may be refused.
                let _ = session.send(message);
            }
        })
        .unwrap();
        let peers: Vec<_> = (0..4)
            .map(|_| {
                let mut peer = Peer::connect(&server);
                thread::spawn(move || while peer.say("more and more") {})
            })
            .collect();
        stage.until(|world| world.0 > 1000);
        let session = stage.world.1[0].clone();
        drop(stage.owner.take());
        assert_eq!(dropped.recv().unwrap(), thread::current().id());
        for peer in peers {
            peer.join().unwrap();
        }
        session.send("nobody\n").unwrap_err();
        session.close();
        session.abort();
        assert!(server.is_empty() && server.sessions().is_empty());
        drop(server.shutdown(std::time::Duration::ZERO));
        drop((server, session));
        stage.world.1.clear();
        stage.check(KEPT);
    }
}

#[test]
fn tasks_with_connections_are_dropped_with_the_owner() {
    drop(placements());
    for (name, io) in placements() {
        eprintln!("with IO on {name}");
        let mut stage = Stage::<usize>::new(io);
        let server = Server::serve(
            &stage,
            "127.0.0.1:0",
            lines(),
            |cx, mut connection| async move {
                loop {
                    match connection.recv().await {
                        Ok(Some(message)) => {
                            cx.with(|count| *count += 1);
                            let _ = connection.send(message);
                        }
                        _ => return,
                    }
                }
            },
        )
        .unwrap();
        let mut peer = Peer::connect(&server);
        assert!(peer.say("hello"));
        stage.until(|count| *count == 1);
        drop(server);
        drop(stage.owner.take());
        // The answer may have gone or not.
        assert!(peer.hear_all().len() <= 1);
        drop(peer);
        stage.check(KEPT);
    }
}

#[test]
fn a_client_without_a_server_is_dropped_with_the_owner() {
    drop(placements());
    for (_, io) in placements() {
        let mut stage = Stage::<usize>::new(io);
        // Nobody listens where somebody did.
        let address = std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let config = ClientConfig::new().framing(Framing::LengthPrefix);
        let client = Client::start(
            &stage,
            address,
            config,
            |_: &mut usize, _: &Session, _: &[u8]| (),
        )
        .unwrap();
        let _ = stage.update();
        assert!(client.session().is_none());
        drop(stage.owner.take());
        drop(client);
        stage.check(KEPT);
    }
}

#[test]
fn endpoints_of_an_owner_that_has_gone_are_refused() {
    drop(placements());
    let stage = Stage::<usize>::inline();
    let cx = stage.cx();
    stage.end();
    let refused = Server::start(&cx, "127.0.0.1:0", lines(), |_, _| {
        |_: &mut usize, _: &Session, _: &[u8]| ()
    });
    assert!(refused.unwrap_err().is_closed());
}

#[test]
fn what_cannot_be_bound_leaves_nothing_behind() {
    drop(placements());
    let stage = Stage::<usize>::inline();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    for _ in 0..3 {
        let error = Server::start(&stage, taken.local_addr().unwrap(), lines(), |_, _| {
            |_: &mut usize, _: &Session, _: &[u8]| ()
        })
        .unwrap_err();
        assert!(error.to_string().contains("bind"), "{error}");
    }
    drop(taken);
    stage.end();
}
