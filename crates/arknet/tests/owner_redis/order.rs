//! C4: requests of one key are done and delivered in their order, on whichever connections.

use arknet::redis::commands::strings::{get, set};
use arknet_testkit::need;
use arknet_testkit::servers::redis::{Options, RedisServer};

use crate::support::{Dice, PLACEMENTS, SLACK, Stage, snapshot};

const CONNECTIONS: usize = 4;
const PLAYERS: usize = 32;
const ROUNDS: usize = 12;

#[derive(Default)]
struct World {
    loaded: Vec<(usize, usize, String)>,
    delivered: Vec<(usize, usize)>,
}

#[test]
fn two_saves_and_a_load_of_one_player_never_give_the_old_value() {
    let server = need!(RedisServer::start(Options::default()));
    let before = snapshot(server.addr());
    for (name, io) in PLACEMENTS {
        let mut dice = Dice(4);
        let mut stage = Stage::<World>::new(io(), server.addr(), CONNECTIONS);
        let mut loads = 0;
        for round in 0..ROUNDS {
            for player in 0..PLAYERS {
                let key = format!("{name}:{player}");
                let redis = stage.redis.ordered(player);
                // Large ones take longer, so that a load that did not wait would overtake them.
                let padding = "x".repeat(if dice.one_in(4) { 100_000 } else { 10 });
                for version in 0..2 {
                    redis
                        .send(
                            set(&key, format!("{round}.{version}.{padding}")),
                            move |world, saved| {
                                saved.unwrap();
                                world.delivered.push((player, round * 3 + version));
                            },
                        )
                        .unwrap();
                }
                if dice.one_in(2) {
                    let redis = redis.clone();
                    stage
                        .owner
                        .spawn(async move |cx| {
                            let value: String = redis.call(get(&key)).await.unwrap();
                            cx.with(|world| world.loaded.push((player, round, value)));
                        })
                        .unwrap();
                } else {
                    redis
                        .send(get::<String>(&key), move |world, value| {
                            world.delivered.push((player, round * 3 + 2));
                            world.loaded.push((player, round, value.unwrap()));
                        })
                        .unwrap();
                }
                loads += 1;
            }
            if dice.one_in(3) {
                stage.update();
            }
            // A task submits in the next update, and so behind what is sent until then.
            stage.until("the loads", |world| world.loaded.len() == loads);
        }
        let world = stage.end();
        for (player, round, value) in &world.loaded {
            let expected = format!("{round}.1.");
            assert!(
                value.starts_with(&expected),
                "{name}: player {player} got {} in round {round}",
                &value[..8.min(value.len())]
            );
        }
        for player in 0..PLAYERS {
            let order: Vec<_> = world
                .delivered
                .iter()
                .filter(|(of, _)| *of == player)
                .map(|(_, order)| *order)
                .collect();
            assert!(order.is_sorted(), "{name}: {order:?}");
        }
    }
    before.assert_no_leaks_beyond(crate::support::PATIENCE, SLACK);
}

#[test]
fn keys_do_not_wait_for_each_other() {
    let server = need!(RedisServer::start(Options::default()));
    for (name, io) in PLACEMENTS {
        let mut stage = Stage::<Vec<usize>>::new(io(), server.addr(), 2);
        let list = format!("list:{name}");
        let wait = arknet::redis::commands::lists::blpop::<String>([&list], None);
        stage
            .redis
            .ordered(1)
            .send(wait, |world, popped| {
                popped.unwrap();
                world.push(1);
            })
            .unwrap();
        stage
            .redis
            .ordered(1)
            .send(get::<Option<String>>("x"), |world, _| world.push(2))
            .unwrap();
        for _ in 0..10 {
            stage
                .redis
                .ordered(2)
                .send(get::<Option<String>>("x"), |world, _| world.push(3))
                .unwrap();
        }
        stage.until("the other key", |world| world.len() == 10);
        assert_eq!(stage.world, [3; 10], "{name}");
        let push = arknet::redis::commands::lists::rpush(&list, ["now"]);
        stage
            .redis
            .send(push, |_, pushed| assert_eq!(pushed.unwrap(), 1))
            .unwrap();
        stage.until("the first key", |world| world.len() == 12);
        assert_eq!(stage.world[10..], [1, 2], "{name}");
        let _ = stage.end();
    }
}
