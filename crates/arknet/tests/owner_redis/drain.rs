//! C6: every write that was accepted is in the database or in the report, whatever happens to connections meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use arknet::Outcome;
use arknet::owner::{Budget, DrainReport, Io, Label, Owner};
use arknet::redis::commands::lists::rpush;
use arknet_testkit::need;
use arknet_testkit::proxy::{Direction, FaultProxy, Plan, Side};
use arknet_testkit::servers::redis::{Options, RedisServer};

use crate::support::{Dice, PATIENCE, PLACEMENTS, Redis, SLACK, Stage, config, pool, snapshot};

/// How many rounds there are. `ARKNET_SOAK_ROUNDS=1000` is what the contract asks for.
const ROUNDS: &str = "ARKNET_SOAK_ROUNDS";

/// What the tests can afford.
const SHORT: usize = 24;

const CONNECTIONS: usize = 3;

/// What became of each write.
#[derive(Default)]
struct World {
    told: BTreeMap<usize, Result<(), Outcome>>,
}

fn write(redis: &Redis<World>, list: &str, id: usize) -> bool {
    let redis = redis.ordered(id % 7);
    let sent = redis.send(rpush(list, [id.to_string()]), move |world, written| {
        let told = written.map(drop).map_err(|error| error.outcome());
        assert!(world.told.insert(id, told).is_none(), "told twice of {id}");
    });
    sent.is_ok()
}

/// Does something bad to the connections every now and then.
fn torment(proxy: &FaultProxy, server: &RedisServer, seed: usize, enough: &AtomicBool) {
    let mut dice = Dice(seed as u64);
    while !enough.load(Ordering::Relaxed) {
        match dice.below(6) {
            0 => proxy.reset_all(Side::Server),
            1 => proxy.reset_all(Side::Client),
            2 => proxy.cut_all(),
            3 => drop(server.kill_clients()),
            4 => proxy.set(
                Direction::ToServer,
                Plan::cut_after(dice.below(2000) as u64),
            ),
            _ => proxy.set(
                Direction::ToClient,
                Plan::cut_after(dice.below(2000) as u64),
            ),
        }
        std::thread::sleep(Duration::from_micros(dice.below(4000) as u64));
        proxy.set_both(Plan::pass(), Plan::pass());
    }
}

fn round(round: usize, io: Io, server: &Arc<RedisServer>, proxy: &Arc<FaultProxy>) {
    let list = format!("writes:{round}");
    let mut dice = Dice(round as u64);
    let mut stage = Stage::<World>::new(io, proxy.addr(), CONNECTIONS);
    let enough = Arc::new(AtomicBool::new(false));
    let tormentor = {
        let (proxy, server, enough) = (proxy.clone(), server.clone(), enough.clone());
        std::thread::spawn(move || torment(&proxy, &server, round, &enough))
    };
    let mut accepted = BTreeSet::new();
    let mut next = 0;
    for _ in 0..1 + dice.below(8) {
        for _ in 0..dice.below(40) {
            if write(&stage.redis, &list, next) {
                accepted.insert(next);
            }
            next += 1;
        }
        for _ in 0..dice.below(4) {
            stage.update();
        }
    }
    // Now and then the deadline is too near, and something is given up.
    let within = if dice.one_in(4) {
        Duration::from_micros(dice.below(3000) as u64)
    } else {
        PATIENCE
    };
    let report = stage.drain(within);
    enough.store(true, Ordering::Relaxed);
    tormentor.join().unwrap();
    proxy.set_both(Plan::pass(), Plan::pass());

    let told = &stage.world.told;
    assert!(told.keys().all(|id| accepted.contains(id)));
    assert_eq!(
        told.len() + given_up(&report),
        accepted.len(),
        "what was accepted was delivered or is in the report: {report:?}"
    );
    assert_eq!(report.finished, report.abandoned_count == 0, "{report:?}");
    let listed: usize = report.abandoned.iter().map(|some| some.count).sum();
    assert_eq!(listed, report.abandoned_count, "{report:?}");

    let answer = server.cli(&["LRANGE", &list, "0", "-1"]);
    let written: Vec<usize> = answer
        .array()
        .iter()
        .map(|id| id.text().parse().unwrap())
        .collect();
    let database: BTreeSet<usize> = written.iter().copied().collect();
    assert_eq!(database.len(), written.len(), "something was written twice");
    for (id, told) in told {
        match told {
            Ok(()) => {
                assert!(
                    database.contains(id),
                    "{id} was acknowledged and is not there"
                );
            }
            Err(Outcome::NotSent) => {
                assert!(!database.contains(id), "{id} was not sent, and is there");
            }
            Err(_) => {}
        }
    }
    for id in &database {
        assert!(accepted.contains(id), "{id} was never accepted");
    }
}

/// Writes that the report lists.
fn given_up(report: &DrainReport) -> usize {
    let of_this_file = |label: &Label| label.to_string().contains("drain.rs");
    report
        .abandoned
        .iter()
        .filter(|some| some.source == "redis" && some.label.as_ref().is_some_and(of_this_file))
        .map(|some| some.count)
        .sum()
}

#[test]
fn every_accepted_write_is_in_the_database_or_in_the_report() {
    let server = Arc::new(need!(RedisServer::start(Options::default())));
    let proxy = Arc::new(FaultProxy::start(server.addr()).unwrap());
    let rounds = std::env::var(ROUNDS)
        .ok()
        .and_then(|rounds| rounds.parse().ok())
        .unwrap_or(SHORT);
    for number in 0..rounds {
        let (_, io) = PLACEMENTS[number % PLACEMENTS.len()];
        round(number, io(), &server, &proxy);
    }
}

#[test]
fn a_drain_writes_everything_and_closes_the_pool() {
    let server = need!(RedisServer::start(Options::default()));
    let before = snapshot(server.addr());
    for (name, io) in PLACEMENTS {
        let mut stage = Stage::<World>::new(io(), server.addr(), CONNECTIONS);
        let list = format!("list:{name}");
        // What a finaliser writes is a part of it.
        let redis = stage.redis.clone();
        let last = list.clone();
        stage.owner.on_drain("the last word", async move |_| {
            redis.call(rpush(&last, ["last"])).await.unwrap();
        });
        for id in 0..200 {
            assert!(write(&stage.redis, &list, id));
        }
        let report = stage.drain(PATIENCE);
        assert!(report.finished, "{name}: {report:?}");
        assert_eq!(report.finalised, 1);
        assert_eq!(report.pools.len(), 1, "{name}: {report:?}");
        assert_eq!(report.pools[0].database, "redis");
        assert!(report.pools[0].report.finished, "{name}: {report:?}");
        assert!(stage.world.told.values().all(Result::is_ok));
        assert_eq!(stage.world.told.len(), 200);
        assert_eq!(server.cli(&["LLEN", &list]).integer(), 201, "{name}");
        // It takes nothing more, and says so again.
        assert!(!write(&stage.redis, &list, 1000));
        assert_eq!(stage.drain(PATIENCE), report);
    }
    before.assert_no_leaks_beyond(PATIENCE, SLACK);
}

#[test]
fn a_server_that_dies_in_the_middle_of_a_drain_is_in_the_report() {
    let server = need!(RedisServer::start(Options::default()));
    for (name, io) in PLACEMENTS {
        let proxy = FaultProxy::start(server.addr()).unwrap();
        let owner = Owner::builder().io(io()).build().unwrap();
        let redis = owner
            .redis(config(proxy.addr()), pool(CONNECTIONS))
            .unwrap();
        let mut stage = Stage {
            owner,
            redis,
            world: World::default(),
        };
        let list = format!("black:{name}");
        assert!(write(&stage.redis, &list, 0));
        stage.until("the first write", |world| world.told.len() == 1);
        // From here on nothing comes back, and nothing is closed either.
        proxy.set_both(Plan::black_hole(), Plan::black_hole());
        for id in 1..50 {
            assert!(write(&stage.redis, &list, id));
        }
        let began = Instant::now();
        let report = stage.drain(Duration::from_millis(200));
        assert!(began.elapsed() < PATIENCE);
        assert!(!report.finished);
        assert_eq!(
            stage.world.told.len() + given_up(&report),
            50,
            "{name}: {report:?}"
        );
    }
}

/// A server that does not answer costs its requests their timeout once, and not one after the other.
#[test]
fn a_server_that_is_dead_fails_what_waits_in_one_timeout() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let owner = Owner::<World>::builder()
        .io(Io::threads(1))
        .build()
        .unwrap();
    let timeout = Duration::from_millis(300);
    let redis = owner
        .redis(
            config(nobody.local_addr().unwrap()).request_timeout(Some(timeout)),
            pool(2),
        )
        .unwrap();
    let mut stage = Stage {
        owner,
        redis,
        world: World::default(),
    };
    let began = Instant::now();
    for id in 0..1000 {
        assert!(write(&stage.redis, "list", id));
    }
    while stage.world.told.len() < 1000 {
        // One after the other on two connections it would take 150 s.
        assert!(began.elapsed() < PATIENCE);
        let _ = stage
            .owner
            .update(&mut stage.world, Budget::unlimited())
            .unwrap();
        std::thread::yield_now();
    }
    assert!(began.elapsed() >= timeout);
    assert!(
        stage
            .world
            .told
            .values()
            .all(|told| *told == Err(Outcome::NotSent))
    );
}
