//! C5: after a cancel nothing of the group runs; what it has submitted is done all the same, unless it is withdrawn.

use std::cell::RefCell;
use std::rc::Rc;

use arknet::owner::OnCancel;
use arknet::redis::commands::strings::{get, incr, set};
use arknet_testkit::need;
use arknet_testkit::servers::redis::{Options, RedisServer};

use crate::support::{PLACEMENTS, SLACK, Stage, snapshot};

#[derive(Default)]
struct World {
    despawned: bool,
    delivered: u32,
}

/// The owner does not look until both replies are there, so that the despawn and the result are of one tick.
#[test]
fn a_despawn_in_the_tick_in_which_the_result_arrives_is_before_it() {
    let server = need!(RedisServer::start(Options::default()));
    let before = snapshot(server.addr());
    for (name, io) in PLACEMENTS {
        for (round, in_a_task) in [false, true].into_iter().cycle().take(20).enumerate() {
            let mut stage = Stage::<World>::new(io(), server.addr(), 1);
            let key = format!("{name}:{round}");
            let player = Rc::new(RefCell::new(Some(stage.owner.group("player").unwrap())));
            let despawn = player.clone();
            // Of one key, so that it is delivered just before the player's own result.
            let redis = stage.redis.ordered(7);
            redis
                .send(get::<Option<String>>("x"), move |world: &mut World, _| {
                    despawn.borrow_mut().take().unwrap().cancel();
                    world.despawned = true;
                })
                .unwrap();
            {
                let group = player.borrow();
                let group = group.as_ref().unwrap();
                let of_player = redis.within(group);
                if in_a_task {
                    let answer = of_player.try_call(set(&key, "saved")).unwrap();
                    group
                        .spawn(async move |cx| {
                            answer.await.unwrap();
                            cx.with(|world| world.delivered += 1);
                        })
                        .unwrap();
                } else {
                    of_player
                        .send(set(&key, "saved"), |world: &mut World, saved| {
                            saved.unwrap();
                            world.delivered += 1;
                        })
                        .unwrap();
                }
            }
            if name != "inline" {
                // Both are done on the lanes, without a look of the owner.
                let late = std::time::Instant::now() + crate::support::PATIENCE;
                while server.cli(&["EXISTS", &key]).integer() == 0 {
                    assert!(std::time::Instant::now() < late);
                }
            }
            stage.until("the despawn", |world| world.despawned);
            let redis = stage.redis.clone();
            drop(player);
            let late = std::time::Instant::now() + crate::support::PATIENCE;
            while redis.in_flight() > 0 {
                assert!(std::time::Instant::now() < late);
                stage.update();
            }
            assert_eq!(stage.world.delivered, 0, "{name}: it ran after its despawn");
            assert_eq!(server.cli(&["GET", &key]).text(), "saved", "{name}");
            drop(redis);
            let _ = stage.end();
        }
    }
    before.assert_no_leaks_beyond(crate::support::PATIENCE, SLACK);
}

#[test]
fn what_is_to_be_withdrawn_and_has_not_begun_is_never_done() {
    let server = need!(RedisServer::start(Options::default()));
    for (name, io) in PLACEMENTS {
        let mut stage = Stage::<World>::new(io(), server.addr(), 1);
        let key = format!("withdrawn:{name}");
        let list = format!("gate:{name}");
        let group = stage.owner.group("player").unwrap();
        // The only connection waits, so that nothing behind it begins.
        let gate = arknet::redis::commands::lists::blpop::<String>([&list], None);
        stage
            .redis
            .send(gate, |world: &mut World, _| world.despawned = true)
            .unwrap();
        let late = std::time::Instant::now() + crate::support::PATIENCE;
        while !server
            .client_list()
            .iter()
            .any(|client| client.field("cmd") == "blpop")
        {
            assert!(std::time::Instant::now() < late);
            stage.update();
        }
        for (index, on_cancel) in [OnCancel::Withdraw, OnCancel::Detach].iter().enumerate() {
            for _ in 0..5 {
                stage
                    .redis
                    .within(&group)
                    .ordered(index)
                    .on_cancel(*on_cancel)
                    .send(incr(format!("{key}:{index}")), |world: &mut World, _| {
                        world.delivered += 1;
                    })
                    .unwrap();
            }
        }
        stage.update();
        assert_eq!(group.cancel(), 10);
        let _ = server.cli(&["RPUSH", &list, "open"]);
        stage.until("the gate", |world| world.despawned);
        let redis = stage.redis.clone();
        while redis.in_flight() > 0 {
            assert!(std::time::Instant::now() < late + crate::support::PATIENCE);
            stage.update();
        }
        assert_eq!(stage.world.delivered, 0, "{name}");
        assert_eq!(
            server.cli(&["EXISTS", &format!("{key}:0")]).integer(),
            0,
            "{name}"
        );
        assert_eq!(
            server.cli(&["GET", &format!("{key}:1")]).text(),
            "5",
            "{name}"
        );
        drop((redis, group));
        let _ = stage.end();
    }
}
