//! C14: the same requests with callbacks and with awaits give the same, and what Redis says they must.

use std::collections::HashMap;
use std::net::SocketAddr;

use arknet::owner::Io;
use arknet::redis::commands::strings::{get, incrby, set};
use arknet::redis::{Error, pipeline};
use arknet_testkit::need;
use arknet_testkit::servers::redis::{Options, RedisServer};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::support::{PLACEMENTS, Redis, Stage, snapshot};

const PLAYERS: usize = 5;

/// A request of a player, of several types.
#[derive(Clone, Copy, Debug)]
enum Ask {
    Set(i64),
    Get,
    Add(i64),
    /// Both in one go, with two results.
    AddAndGet(i64),
    /// A reply that is no number, or a command that does not fit the value.
    Wrong,
}

fn program() -> impl Strategy<Value = Vec<Vec<Ask>>> {
    let ask = prop_oneof![
        (-9..9_i64).prop_map(Ask::Set),
        Just(Ask::Get),
        (-9..9_i64).prop_map(Ask::Add),
        (-9..9_i64).prop_map(Ask::AddAndGet),
        Just(Ask::Wrong),
    ];
    proptest::collection::vec(proptest::collection::vec(ask, 0..12), PLAYERS)
}

type World = HashMap<usize, Vec<String>>;

fn told<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    match result {
        Ok(value) => format!("{value:?}"),
        Err(error) => format!("{:?}", error.kind()),
    }
}

fn both(output: (Result<i64, Error>, Result<Option<i64>, Error>)) -> String {
    format!("{} {}", told(output.0), told(output.1))
}

fn note(player: usize) -> impl Fn(&mut World, String) {
    move |world, line| world.entry(player).or_default().push(line)
}

fn by_callback(redis: &Redis<World>, player: usize, key: &str, ask: Ask) {
    let note = note(player);
    match ask {
        Ask::Set(n) => redis
            .send(set(key, n), move |w, out| note(w, told(out)))
            .unwrap(),
        Ask::Get => redis
            .send(get::<Option<i64>>(key), move |w, out| note(w, told(out)))
            .unwrap(),
        Ask::Add(n) => redis
            .send(incrby(key, n), move |w, out| note(w, told(out)))
            .unwrap(),
        Ask::AddAndGet(n) => redis
            .send(
                pipeline().add(incrby(key, n)).add(get::<Option<i64>>(key)),
                move |w, out| note(w, both(out)),
            )
            .unwrap(),
        Ask::Wrong => redis
            .send(arknet::redis::cmd::<i64>("LLEN").arg(key), move |w, out| {
                note(w, told(out));
            })
            .unwrap(),
    }
}

async fn by_await(redis: &Redis<World>, key: &str, ask: Ask) -> String {
    match ask {
        Ask::Set(n) => told(redis.call(set(key, n)).await),
        Ask::Get => told(redis.call(get::<Option<i64>>(key)).await),
        Ask::Add(n) => told(redis.call(incrby(key, n)).await),
        Ask::AddAndGet(n) => both(
            redis
                .call(pipeline().add(incrby(key, n)).add(get::<Option<i64>>(key)))
                .await,
        ),
        Ask::Wrong => told(redis.call(arknet::redis::cmd::<i64>("LLEN").arg(key)).await),
    }
}

/// What a player must see.
fn model(asks: &[Ask]) -> Vec<String> {
    let mut value: Option<i64> = None;
    let add = |value: &mut Option<i64>, n| {
        let sum = value.unwrap_or(0) + n;
        *value = Some(sum);
        sum
    };
    asks.iter()
        .map(|ask| match *ask {
            Ask::Set(n) => {
                value = Some(n);
                "()".to_owned()
            }
            Ask::Get => format!("{value:?}"),
            Ask::Add(n) => format!("{}", add(&mut value, n)),
            Ask::AddAndGet(n) => {
                let sum = add(&mut value, n);
                format!("{sum} {value:?}")
            }
            Ask::Wrong if value.is_some() => "Server".to_owned(),
            Ask::Wrong => "0".to_owned(),
        })
        .collect()
}

/// Runs a program in one of the two styles; what differs is only how it waits.
fn run(io: Io, address: SocketAddr, place: &str, program: &[Vec<Ask>], awaits: bool) -> World {
    let mut stage = Stage::<World>::new(io, address, 3);
    let mut expected = 0;
    for (player, asks) in program.iter().enumerate() {
        expected += asks.len();
        let key = format!("{place}:{player}");
        let redis = stage.redis.ordered(player);
        if awaits {
            let asks = asks.clone();
            stage
                .owner
                .spawn(async move |cx| {
                    for ask in asks {
                        let line = by_await(&redis, &key, ask).await;
                        cx.with(|world| note(player)(world, line));
                    }
                })
                .unwrap();
        } else {
            for ask in asks {
                by_callback(&redis, player, &key, *ask);
            }
        }
    }
    stage.until("the program", |world| {
        world.values().map(Vec::len).sum::<usize>() == expected
    });
    stage.end()
}

#[test]
fn both_styles_see_what_redis_has_to_say() {
    let server = need!(RedisServer::start(Options::default()));
    let before = snapshot(server.addr());
    let numbers = std::cell::Cell::new(0);
    let config = ProptestConfig {
        cases: 24,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    TestRunner::new(config)
        .run(&program(), |program| {
            let number = numbers.get();
            numbers.set(number + 1);
            let (name, io) = PLACEMENTS[number % PLACEMENTS.len()];
            let mut worlds = [false, true].into_iter().map(|awaits| {
                let place = format!("{number}:{awaits}");
                run(io(), server.addr(), &place, &program, awaits)
            });
            let (callbacks, awaits) = (worlds.next().unwrap(), worlds.next().unwrap());
            for (player, asks) in program.iter().enumerate() {
                let of = |world: &World| world.get(&player).cloned().unwrap_or_default();
                prop_assert_eq!(of(&callbacks), model(asks), "callbacks on {}", name);
                prop_assert_eq!(of(&awaits), model(asks), "awaits on {}", name);
            }
            Ok(())
        })
        .unwrap();
    before.assert_no_leaks_beyond(crate::support::PATIENCE, crate::support::SLACK);
}
