//! C17: owner, database, groups, answers and lanes are dropped in any order, and replies arrive when they like.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use arknet::Lanes;
use arknet::owner::{Budget, Io, Owner};
use arknet::redis::cmd;
use arknet::redis::commands::lists::blpop;
use arknet_testkit::need;
use arknet_testkit::servers::redis::{Options, RedisServer};

use crate::support::{Dice, PATIENCE, SLACK, config, pool, snapshot};

/// A wait is bounded by this, on a machine that is busy with others: it is none at all.
const NO_WAIT: Duration = Duration::from_secs(5);

/// Says when it is dropped, and on which thread.
struct Probe(std::sync::mpsc::Sender<std::thread::ThreadId>);

impl Drop for Probe {
    fn drop(&mut self) {
        let _ = self.0.send(std::thread::current().id());
    }
}

/// Everything that there is, with requests under way that the server answers when it is told.
fn everything(
    io: Io,
    lanes: Option<Lanes>,
    address: SocketAddr,
    list: &str,
    probe: Probe,
) -> Vec<Box<dyn FnOnce()>> {
    let mut owner = Owner::<u32>::builder().io(io).build().unwrap();
    let quick = config(address).request_timeout(Some(Duration::from_secs(10)));
    let redis = owner.redis(quick, pool(2)).unwrap();
    let group = owner.group("group").unwrap();
    let of_group = redis.within(&group).ordered("key");
    let answer = redis.try_call(blpop::<String>([list], None)).unwrap();
    of_group
        .send(blpop::<String>([list], None), move |world, _| {
            drop(probe);
            *world += 1;
        })
        .unwrap();
    let by_task = redis.clone();
    let task = group
        .spawn(async move |_| {
            let _ = by_task.call(cmd::<String>("ECHO").arg("behind")).await;
        })
        .unwrap();
    let mut world = 0;
    let _ = owner.update(&mut world, Budget::default()).unwrap();
    let cx = owner.cx();
    vec![
        Box::new(move || drop(owner)),
        Box::new(move || drop(redis)),
        Box::new(move || drop(of_group)),
        Box::new(move || drop(group)),
        Box::new(move || drop(answer)),
        Box::new(move || drop(task)),
        Box::new(move || drop(cx)),
        Box::new(move || drop(lanes)),
    ]
}

#[test]
fn in_any_order_with_replies_that_come_late() {
    let server = need!(RedisServer::start(Options::default()));
    let before = snapshot(server.addr());
    let here = std::thread::current().id();
    let mut dice = Dice(17);
    for round in 0..60 {
        let list = format!("late:{round}");
        let shared = (round % 4 >= 2).then(|| match round % 4 {
            2 => Lanes::shared(2).unwrap(),
            _ => Lanes::sharded(1).unwrap(),
        });
        let io = match (&shared, round % 4) {
            (Some(lanes), _) => Io::lanes(lanes),
            (None, 0) => Io::inline(),
            (None, _) => Io::threads(1),
        };
        let (sender, dropped) = std::sync::mpsc::channel();
        let mut things = everything(io, shared, server.addr(), &list, Probe(sender));
        let reply_after = dice.below(things.len());
        let began = Instant::now();
        while !things.is_empty() {
            if things.len() == reply_after {
                let _ = server.cli(&["RPUSH", &list, "a", "b"]);
            }
            let next = dice.below(things.len());
            things.swap_remove(next)();
        }
        assert!(began.elapsed() < NO_WAIT, "a drop has waited");
        assert_eq!(dropped.try_recv(), Ok(here), "callbacks are dropped here");
        // Whoever waits still gets an answer, so that a shared lane can end.
        let _ = server.cli(&["RPUSH", &list, "a", "b"]);
    }
    before.assert_no_leaks_beyond(PATIENCE, SLACK);
}

#[test]
fn lanes_that_end_first_lose_their_requests_and_say_so() {
    let server = need!(RedisServer::start(Options::default()));
    let before = snapshot(server.addr());
    let lanes = Lanes::sharded(1).unwrap();
    let mut owner = Owner::<Vec<bool>>::builder()
        .io(Io::lanes(&lanes))
        .build()
        .unwrap();
    let redis = owner.redis(config(server.addr()), pool(2)).unwrap();
    let mut world = Vec::new();
    for _ in 0..5 {
        redis
            .send(
                blpop::<String>(["never"], None),
                |world: &mut Vec<bool>, popped| {
                    let error = popped.unwrap_err();
                    world.push(error.outcome() == arknet::Outcome::NotSent);
                },
            )
            .unwrap();
    }
    let _ = owner.update(&mut world, Budget::default()).unwrap();
    let _ = lanes
        .block_on(lanes.shutdown(Duration::from_millis(10)))
        .unwrap();
    let late = Instant::now() + PATIENCE;
    while world.len() < 5 {
        assert!(Instant::now() < late, "{world:?}");
        let _ = owner.update(&mut world, Budget::default()).unwrap();
        std::thread::yield_now();
    }
    drop((lanes, redis, owner));
    before.assert_no_leaks_beyond(PATIENCE, SLACK);
}

#[test]
fn a_reply_that_cannot_be_decoded_for_a_panic_is_an_error_of_its_request_only() {
    use arknet::redis::{DecodeError, FromReply, Reply};
    #[derive(Debug)]
    struct Panics;
    impl FromReply for Panics {
        fn from_reply(_: Reply<'_>) -> Result<Self, DecodeError> {
            panic!("as a test does")
        }
    }
    let server = need!(RedisServer::start(Options::default()));
    let mut stage = crate::support::Stage::<Vec<String>>::new(Io::threads(1), server.addr(), 1);
    stage
        .redis
        .send(cmd::<Panics>("PING"), |world, output| {
            world.push(output.unwrap_err().to_string());
        })
        .unwrap();
    stage
        .redis
        .send(cmd::<String>("PING"), |world, output| {
            world.push(output.unwrap());
        })
        .unwrap();
    stage.until("both", |world| world.len() == 2);
    assert!(stage.world[0].contains("panicked"), "{:?}", stage.world);
    assert_eq!(stage.world[1], "PONG");
    let _ = stage.end();
}
