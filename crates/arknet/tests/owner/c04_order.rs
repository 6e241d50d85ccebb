//! C4: a connection's events in order; a database key's operations executed and delivered in order.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use arknet::owner::{InletLimits, Io, Lost, Service};

use crate::support::{Dice, Stage, placements};

#[derive(Clone, Copy, Debug)]
enum Op {
    Save(u64, u32),
    Load(u64),
}

type Reply = Result<Option<u32>, Lost>;

/// A store whose operations take differently long, on as many "connections" as there are.
fn store<W: 'static>(stage: &Stage<W>) -> Service<W, Op, Reply> {
    let rows = Arc::new(Mutex::new(HashMap::new()));
    let dice = Arc::new(Mutex::new(Dice(7)));
    stage
        .service("store", move |op: Op| {
            let rows = rows.clone();
            let yields = dice.lock().unwrap().below(20);
            async move {
                for _ in 0..yields {
                    tokio::task::yield_now().await;
                }
                Ok(match op {
                    Op::Save(key, value) => rows.lock().unwrap().insert(key, value),
                    Op::Load(key) => rows.lock().unwrap().get(&key).copied(),
                })
            }
        })
        .unwrap()
}

#[derive(Default)]
struct World {
    delivered: HashMap<u64, Vec<u32>>,
    loaded: usize,
}

#[test]
fn two_saves_and_a_load_never_show_the_old_value_by_callbacks() {
    for io in placements() {
        let mut stage = Stage::<World>::new(io);
        let store = store(&stage);
        for round in 0..50 {
            for player in 0..20 {
                let of_player = store.ordered(player);
                for value in [round * 2, round * 2 + 1] {
                    of_player
                        .send(Op::Save(player, value), move |world: &mut World, result| {
                            result.unwrap();
                            world.delivered.entry(player).or_default().push(value);
                        })
                        .unwrap();
                }
                of_player
                    .send(Op::Load(player), move |world: &mut World, result| {
                        assert_eq!(result.unwrap(), Some(round * 2 + 1));
                        world.loaded += 1;
                    })
                    .unwrap();
            }
        }
        stage.until(|world| world.loaded == 1000);
        for delivered in stage.world.delivered.values() {
            assert_eq!(*delivered, Vec::from_iter(0..100));
        }
        assert_eq!(store.in_flight(), 0);
        drop(store);
        stage.end();
    }
}

#[test]
fn two_saves_and_a_load_never_show_the_old_value_by_tasks() {
    for io in placements() {
        let mut stage = Stage::<World>::new(io);
        let store = store(&stage);
        for player in 0_u64..20 {
            let of_player = store.ordered(player);
            stage
                .spawn(async move |cx| {
                    for round in 0..20 {
                        let saves = [round * 2, round * 2 + 1]
                            .map(|value| of_player.try_call(Op::Save(player, value)).unwrap());
                        let load = of_player.try_call(Op::Load(player)).unwrap();
                        assert_eq!(load.await.unwrap(), Some(round * 2 + 1));
                        for save in saves {
                            save.await.unwrap();
                        }
                    }
                    cx.with(|world| world.loaded += 1);
                })
                .unwrap();
        }
        stage.until(|world| world.loaded == 20);
        drop(store);
        stage.end();
    }
}

#[test]
fn events_of_a_connection_come_in_order_whatever_thread_puts_them_in() {
    let mut stage = Stage::<Vec<u32>>::new(Io::threads(1));
    let inlet = stage
        .inlet(
            "connection",
            InletLimits::new(64, 1 << 20),
            |world: &mut Vec<u32>, event| {
                world.push(event);
            },
        )
        .unwrap();
    let reader = std::thread::spawn(move || {
        let sent = async {
            for event in 0..10_000 {
                inlet.send(event, 1).await.unwrap();
            }
        };
        arknet::Lanes::manual().unwrap().block_on(sent).unwrap();
    });
    stage.until(|world| world.len() == 10_000);
    reader.join().unwrap();
    let _ = stage.update();
    assert_eq!(std::mem::take(&mut stage.world), Vec::from_iter(0..10_000));
    stage.end();
}
