//! C7: an owner that has stalled holds what the bounds say, and the peers are slowed down; nothing is lost.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use arknet::owner::net::{Server, Session};
use arknet::owner::{Budget, Io};
use arknet::tcp::{Framing, ServerConfig};

use super::rig::{Peer, everywhere, finish, lines, placements};
use crate::support::{PATIENCE, Stage};

/// A message of 64 bytes, a million of which are more than all the buffers of the kernel.
const SIZE: usize = 64;

/// An inbox of 256 KiB, what is being put together, and what an update holds.
const HELD: i64 = 4 << 20;

#[derive(Default)]
struct World {
    next: u64,
    bad: usize,
}

/// Messages with their numbers in front.
fn chunk(first: u64, messages: u64) -> Vec<u8> {
    let mut chunk = vec![b'm'; usize::try_from(messages).unwrap() * SIZE];
    for (message, number) in chunk.chunks_exact_mut(SIZE).zip(first..) {
        message[..8].copy_from_slice(&number.to_le_bytes());
    }
    chunk
}

fn flat(stage: &mut Stage<World>, messages: u64) {
    let config = ServerConfig::new().framing(Framing::exact(SIZE).unwrap());
    let server = Server::start(stage, "127.0.0.1:0", config, |_, _| {
        |world: &mut World, _: &Session, message: &[u8]| {
            world.bad += usize::from(message[..8] != world.next.to_le_bytes());
            world.next += 1;
        }
    })
    .unwrap();
    let mut peer = Peer::connect(&server);
    let (stalled, has_stalled) = mpsc::channel();
    let peer = thread::spawn(move || {
        let mut told = false;
        for first in (0..messages).step_by(1000) {
            let chunk = chunk(first, 1000);
            let taken = if told { 0 } else { peer.flood(&chunk) };
            if taken < chunk.len() {
                if !told {
                    told = true;
                    stalled.send(first).unwrap();
                }
                assert!(peer.write(&chunk[taken..]));
            }
        }
        peer.end();
        let _ = peer.hear();
    });
    let began = arknet_testkit::alloc::counts().live_bytes;
    // It delivers next to nothing until the peer has filled everything there is.
    let until = Instant::now() + PATIENCE;
    let written = loop {
        let _ = stage.update_by(Budget::operations(1));
        match has_stalled.recv_timeout(Duration::from_millis(1)) {
            Ok(written) => break written,
            Err(_) => assert!(Instant::now() < until, "the peer was never stopped"),
        }
    };
    let held = arknet_testkit::alloc::counts().live_bytes - began;
    assert!(held < HELD, "{held} bytes are held");
    assert!(written < messages, "all of them were taken");
    let mut most = 0;
    while stage.world.next < messages {
        let _ = stage.update_by(Budget::operations(5000));
        let live = arknet_testkit::alloc::counts().live_bytes;
        most = most.max(live - began);
        thread::yield_now();
    }
    assert!(most < HELD, "{most} bytes were held");
    assert_eq!((stage.world.next, stage.world.bad), (messages, 0));
    peer.join().unwrap();
    while !server.is_empty() {
        let _ = stage.update();
    }
}

#[test]
fn memory_stays_flat_while_a_million_messages_wait_for_a_stalled_owner() {
    drop(placements());
    let mut stage = Stage::new(Io::threads(1));
    flat(&mut stage, 1_000_000);
    finish(stage);
}

#[test]
fn memory_stays_flat_on_every_placement() {
    everywhere::<World>(|stage| flat(stage, 300_000));
}

#[test]
fn a_task_that_does_not_receive_stops_its_peer_and_the_others_go_on() {
    everywhere::<(usize, bool)>(|stage| {
        let server = Server::serve(
            stage,
            "127.0.0.1:0",
            lines(),
            |cx, mut connection| async move {
                if connection
                    .recv_with(|line| line == b"wait\n")
                    .await
                    .unwrap()
                    == Some(true)
                {
                    while !cx.with(|world| world.1) {
                        cx.yield_now().await;
                    }
                }
                while connection.recv_with(<[u8]>::len).await.unwrap().is_some() {
                    cx.with(|world| world.0 += 1);
                }
            },
        )
        .unwrap();
        let mut slow = Peer::connect(&server);
        assert!(slow.say("wait"));
        while server.is_empty() {
            let _ = stage.update();
        }
        let mut quick = Peer::connect(&server);
        assert!(quick.say("go"));
        let lines = "x\n".repeat(5000);
        assert!(slow.write(lines.as_bytes()) && quick.write(lines.as_bytes()));
        stage.until(|world| world.0 == 5000);
        stage.world.1 = true;
        stage.until(|world| world.0 == 10_000);
        drop((slow, quick));
        while !server.is_empty() {
            let _ = stage.update();
        }
    });
}

#[test]
fn what_waits_in_all_sessions_together_has_a_bound() {
    drop(placements());
    for (_, io) in placements() {
        let mut limits = arknet::owner::Limits::default();
        limits.bytes = 1 << 20;
        let mut stage = Stage::<usize>::build(|| {
            let builder = arknet::owner::Owner::builder().io(io).limits(limits);
            builder.build().unwrap()
        });
        let server = Server::start(&stage, "127.0.0.1:0", lines(), |_, _| {
            |world: &mut usize, _: &Session, _: &[u8]| *world += 1
        })
        .unwrap();
        let mut peers: Vec<Peer> = (0..40).map(|_| Peer::connect(&server)).collect();
        while server.len() < peers.len() {
            let _ = stage.update();
        }
        let message = format!("{}\n", "y".repeat(999)).repeat(500);
        let began = arknet_testkit::alloc::counts().live_bytes;
        // An inline owner reads in its updates, and delivers next to nothing.
        for _ in 0..50 {
            for peer in &mut peers {
                peer.flood_once(message.as_bytes());
            }
            let _ = stage.update_by(Budget::operations(1));
            // For how much comes, not for whether it is right.
            thread::sleep(Duration::from_millis(2));
        }
        let held = arknet_testkit::alloc::counts().live_bytes - began;
        // A mebibyte, two reads of each session beyond it, and the buffers that the lanes keep; 256 KiB each would be more.
        assert!(held < 8 << 20, "{held} bytes are held");
        drop(peers);
        while !server.is_empty() {
            let _ = stage.update();
        }
        drop(server);
        finish(stage);
    }
}
