//! C12: a callback that panics ends its session and touches no other; so does a task.

use arknet::CloseReason;
use arknet::owner::PanicPolicy;
use arknet::owner::net::{Handler, Server, Session};

use super::rig::{Peer, everywhere, finish, lines, placements};
use crate::support::Stage;

#[derive(Default)]
struct World {
    messages: usize,
    closed: Vec<String>,
    panics: usize,
}

struct Touchy;

impl Handler<World> for Touchy {
    fn on_open(&mut self, _: &mut World, session: &Session) {
        assert!(session.id().get() != 2, "the second is not wanted");
    }

    fn on_message(&mut self, world: &mut World, session: &Session, message: &[u8]) {
        world.messages += 1;
        assert!(message != b"boom\n", "boom");
        session.send(message).unwrap();
    }

    fn on_close(&mut self, world: &mut World, _: &Session, reason: &CloseReason) {
        world.closed.push(reason.to_string());
    }
}

fn updates(stage: &mut Stage<World>, enough: impl Fn(&World) -> bool) {
    let late = std::time::Instant::now() + crate::support::PATIENCE;
    while !enough(&stage.world) {
        assert!(std::time::Instant::now() < late);
        let report = stage.update();
        for panic in &report.panics {
            assert!(
                panic.label.to_string().contains("panics.rs"),
                "{}",
                panic.label
            );
        }
        stage.world.panics += report.panics.len();
        std::thread::yield_now();
    }
}

#[test]
fn a_callback_that_panics_ends_its_own_session() {
    everywhere::<World>(|stage| {
        let server = Server::start(stage, "127.0.0.1:0", lines(), |_, _| Touchy).unwrap();
        let mut good = Peer::connect(&server);
        assert!(good.say("hello"));
        updates(stage, |world| world.messages == 1);
        let mut unwanted = Peer::connect(&server);
        updates(stage, |world| world.closed.len() == 1);
        assert_eq!(unwanted.hear(), None);
        let mut bad = Peer::connect(&server);
        assert!(bad.write(b"boom\nnever\n"));
        updates(stage, |world| world.closed.len() == 2);
        assert_eq!(bad.hear(), None);
        assert!(good.say("again"));
        good.end();
        updates(stage, |world| world.closed.len() == 3);
        assert_eq!(good.hear_all(), ["hello", "again"]);
        let world = &stage.world;
        assert_eq!((world.messages, world.panics), (3, 2));
        let ends = ["cut by this side", "cut by this side", "closed by the peer"];
        assert_eq!(world.closed, ends);
    });
}

#[test]
fn a_task_that_panics_closes_its_own_connection() {
    everywhere::<World>(|stage| {
        let server = Server::serve(
            stage,
            "127.0.0.1:0",
            lines(),
            |cx, mut connection| async move {
                while let Ok(Some(message)) = connection.recv().await {
                    cx.with(|world| world.messages += 1);
                    assert!(message != b"boom\n", "boom");
                }
            },
        )
        .unwrap();
        let mut bad = Peer::connect(&server);
        let mut good = Peer::connect(&server);
        assert!(bad.write(b"boom\nnever\n") && good.say("hello"));
        updates(stage, |world| world.messages == 2);
        let hearing = std::thread::spawn(move || bad.hear());
        while server.len() > 1 {
            updates(stage, |_| true);
            let _ = stage.update();
        }
        assert_eq!(hearing.join().unwrap(), None);
        assert!(good.say("again"));
        good.end();
        updates(stage, |world| world.messages == 3);
        while !server.is_empty() {
            let _ = stage.update();
        }
        drop(good);
    });
}

#[test]
fn a_panic_cancels_the_group_where_that_is_the_policy() {
    drop(placements());
    for (_, io) in placements() {
        let mut stage = Stage::<World>::build(|| {
            let builder = arknet::owner::Owner::builder().io(io);
            builder.panics(PanicPolicy::CancelGroup).build().unwrap()
        });
        let group = stage.group("game").unwrap();
        let server = Server::start(&group, "127.0.0.1:0", lines(), |_, _| Touchy).unwrap();
        let mut bad = Peer::connect(&server);
        assert!(bad.write(b"boom\nnever\n"));
        updates(&mut stage, |world| world.panics == 1);
        assert!(group.is_cancelled());
        let hearing = std::thread::spawn(move || bad.hear());
        while !server.is_empty() {
            let _ = stage.update();
        }
        assert_eq!(hearing.join().unwrap(), None);
        assert!(stage.world.closed.is_empty(), "nobody is left to be told");
        drop((group, server));
        finish(stage);
    }
}
