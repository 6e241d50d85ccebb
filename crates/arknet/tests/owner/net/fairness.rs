//! C3: a chatty peer has its quantum and waits for the others.

use arknet::owner::Budget;
use arknet::owner::net::{Server, Session};

use super::rig::{Peer, everywhere, lines};

const QUIET: usize = 999;

/// Messages of one session before the next has its turn.
const QUANTUM: usize = 16;

#[derive(Default)]
struct World {
    /// Who spoke in this update: 0 is the chatty one.
    spoke: Vec<usize>,
    quiet: usize,
}

#[test]
fn one_chatty_peer_against_nine_hundred_and_ninety_nine_quiet_ones() {
    everywhere::<World>(|stage| {
        let server = Server::start(stage, "127.0.0.1:0", lines(), |_, _| {
            |world: &mut World, _: &Session, message: &[u8]| {
                let chatty = message.starts_with(b"chatty");
                world.spoke.push(usize::from(!chatty));
                world.quiet += usize::from(!chatty);
            }
        })
        .unwrap();
        let mut peers: Vec<Peer> = (0..=QUIET)
            .map(|_| {
                let peer = Peer::connect(&server);
                // An inline owner accepts in its updates.
                let _ = stage.update();
                peer
            })
            .collect();
        while server.len() <= QUIET {
            let _ = stage.update();
        }
        let mut chatty = peers.pop().unwrap();
        let noise = b"chatty\n".repeat(2000);
        let mut mixed = 0;
        let mut waiting: Vec<&mut Peer> = peers.iter_mut().collect();
        let late = std::time::Instant::now() + crate::support::PATIENCE;
        while stage.world.quiet < QUIET {
            assert!(
                std::time::Instant::now() < late,
                "{} came",
                stage.world.quiet
            );
            chatty.flood_once(&noise);
            // As many as all the others of an update's budget, and more.
            for peer in waiting.drain(waiting.len().saturating_sub(200)..) {
                assert!(peer.say("quiet"));
            }
            stage.world.spoke.clear();
            let _ = stage.update_by(Budget::operations(100));
            let spoke = &stage.world.spoke;
            // Whoever spoke in an update was ready when it began, so the chatty one had one turn before the last of them.
            if let Some(last) = spoke.iter().rposition(|who| *who == 1) {
                let before = spoke[..last].iter().filter(|who| **who == 0).count();
                assert!(before <= QUANTUM, "{before} of the chatty one went first");
                mixed += usize::from(before > 0);
            }
        }
        assert!(mixed > 0, "the chatty one was never there");
        drop((peers, chatty));
        while !server.is_empty() {
            let _ = stage.update();
        }
        // What the chatty one said at last is no leak.
        stage.world.spoke = Vec::new();
    });
}
