//! What the owner costs: an update with nothing to do beside 1,000 parked tasks, a delivery to a callback and to a task, a
//! submission to a lane that is busy.
//!
//! `cargo bench -p arknet --bench owner` prints the best of several rounds of each, since what is beside it on the machine
//! only ever adds. For instructions, run the binary under `valgrind --tool=callgrind` as `owner NAME 1000` and
//! `owner NAME 2000`, and divide the difference by 1000; `owner --list` names them.

#![allow(missing_docs, reason = "a program")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench fails by panicking"
)]

use std::hint::black_box;
use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use arknet::owner::net::{Connection, Server, Session};
use arknet::owner::{Budget, Cadence, Cx, InletLimits, Io, Limits, Lost, Next, Owner};
use arknet::tcp::{Framing, ServerConfig};

const PARKED: usize = 1000;
const ROUNDS: usize = 30;
const BATCH: usize = 1000;

type Bench = (&'static str, fn(usize) -> Duration, &'static str);

const BENCHES: &[Bench] = &[
    (
        "idle_update_at",
        idle_update_at,
        "an update_at with nothing to do, IO on a thread",
    ),
    (
        "idle_update",
        idle_update,
        "an update with nothing to do, IO on a thread",
    ),
    (
        "idle_inline",
        idle_inline,
        "an update with nothing to do, inline",
    ),
    (
        "callback_event",
        callback_event,
        "an event of an inlet, to its callback",
    ),
    (
        "callback_post",
        callback_post,
        "a posted function, with its box",
    ),
    (
        "callback_result",
        callback_result,
        "a result of a service, to a callback",
    ),
    (
        "task_result",
        task_result,
        "a result of a service, to a task that waits",
    ),
    (
        "callback_network",
        callback_network,
        "a message of 64 bytes from a socket, to a callback",
    ),
    (
        "task_network",
        task_network,
        "a message of 64 bytes from a socket, to a task that receives",
    ),
    (
        "send_network",
        send_network,
        "a send of 64 bytes, without what the lane does",
    ),
    ("task_woken", task_woken, "a task that yields"),
    ("spawn", spawn, "a task that is spawned and ends"),
    (
        "submit",
        submit,
        "a submission to a lane, inline, without what the lane does",
    ),
    (
        "round_inline",
        round_inline,
        "an operation there and back, inline, 1,000 at once",
    ),
];

fn main() {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    match arguments.as_slice() {
        [list] if list == "--list" => {
            for (name, ..) in BENCHES {
                println!("{name}");
            }
        }
        [lateness] if lateness == "lateness" => print_lateness(),
        [name, count] => {
            let (_, bench, _) = BENCHES.iter().find(|(known, ..)| known == name).unwrap();
            black_box(bench(count.parse().unwrap()));
        }
        _ => {
            for (name, bench, what) in BENCHES {
                let best = (0..ROUNDS).map(|_| bench(BATCH)).min().unwrap_or_default();
                let each = best.as_nanos() as f64 / BATCH as f64;
                println!("{name:16} {each:8.1} ns  {what}");
            }
            print_lateness();
        }
    }
}

fn print_lateness() {
    let mut owner = Owner::<()>::builder().io(Io::threads(1)).build().unwrap();
    let mut late = Vec::new();
    owner
        .run(
            &mut (),
            Cadence::every(Duration::from_millis(1)),
            |(), tick| {
                late.push(tick.late);
                if tick.number == 2000 {
                    Next::Stop
                } else {
                    Next::Continue
                }
            },
        )
        .unwrap();
    late.sort_unstable();
    println!(
        "lateness of a cadence of 1 ms: median {:?}, 99 of 100 {:?}; {} missed",
        late[late.len() / 2],
        late[late.len() * 99 / 100],
        owner.stats().missed_ticks
    );
}

/// An owner with tasks that wait and never run.
fn with_parked_tasks(io: Io) -> Owner<u64> {
    let mut owner = Owner::<u64>::builder().io(io).build().unwrap();
    for _ in 0..PARKED {
        owner
            .spawn(async |_| std::future::pending::<()>().await)
            .unwrap();
    }
    let report = owner.update(&mut 0, Budget::unlimited()).unwrap();
    assert_eq!(report.ran as usize, PARKED);
    owner
}

fn idle_update_at(count: usize) -> Duration {
    let mut owner = with_parked_tasks(Io::threads(1));
    let mut world = 0;
    let now = owner.now();
    let budget = Budget::default();
    let began = Instant::now();
    for _ in 0..count {
        black_box(owner.update_at(now, &mut world, budget).unwrap());
    }
    began.elapsed()
}

fn idle(io: Io, count: usize) -> Duration {
    let mut owner = with_parked_tasks(io);
    let mut world = 0;
    let budget = Budget::default();
    let began = Instant::now();
    for _ in 0..count {
        black_box(owner.update(&mut world, budget).unwrap());
    }
    began.elapsed()
}

fn idle_update(count: usize) -> Duration {
    idle(Io::threads(1), count)
}

fn idle_inline(count: usize) -> Duration {
    idle(Io::inline(), count)
}

/// One update that delivers everything, with the clock looked at as with any budget of time.
fn deliver(owner: &mut Owner<u64>, world: &mut u64, expected: usize) -> Duration {
    let now = owner.now();
    let budget = Budget::unlimited().time(Duration::from_secs(10));
    let began = Instant::now();
    let report = owner.update_at(now, world, budget).unwrap();
    let took = began.elapsed();
    assert_eq!(report.ran as usize, expected);
    took
}

fn callback_event(count: usize) -> Duration {
    let mut owner = with_parked_tasks(Io::threads(1));
    let limits = InletLimits::new(count, 1 << 30);
    let inlet = owner
        .inlet("peer", limits, |world: &mut u64, n: u64| *world += n)
        .unwrap();
    for _ in 0..count {
        inlet.try_send(1, 8).unwrap();
    }
    deliver(&mut owner, &mut 0, count)
}

/// The size of a message.
const MESSAGE: usize = 64;

/// Delivers `count` messages that a peer has sent and a lane has read.
fn network(count: usize, serve: impl FnOnce(&Owner<u64>, ServerConfig) -> Server<u64>) -> Duration {
    let mut limits = Limits::default();
    limits.inbox_events = count + 1;
    limits.inbox_bytes = 1 << 30;
    let builder = Owner::<u64>::builder().io(Io::threads(1)).limits(limits);
    let mut owner = builder.build().unwrap();
    let config = ServerConfig::new().framing(Framing::exact(MESSAGE).unwrap());
    let server = serve(&owner, config);
    let mut world = 0;
    let mut peer = TcpStream::connect(server.local_addr().ip().unwrap()).unwrap();
    // One message there, so that whoever receives is there, too.
    peer.write_all(&[7; MESSAGE]).unwrap();
    while world == 0 {
        let _ = owner.update(&mut world, Budget::unlimited()).unwrap();
    }
    peer.write_all(&[7; MESSAGE].repeat(count)).unwrap();
    let budget = Budget::unlimited().time(Duration::from_secs(10));
    let (mut ran, mut took) = (0, Duration::ZERO);
    while ran < count {
        // The lane reads meanwhile.
        std::thread::sleep(Duration::from_millis(20));
        let now = owner.now();
        let began = Instant::now();
        ran += owner.update_at(now, &mut world, budget).unwrap().ran as usize;
        took += began.elapsed();
    }
    assert_eq!(world as usize, (count + 1) * MESSAGE);
    took
}

fn callback_network(count: usize) -> Duration {
    network(count, |owner, config| {
        Server::start(owner, "127.0.0.1:0", config, |_, _| {
            |world: &mut u64, _: &Session, message: &[u8]| *world += message.len() as u64
        })
        .unwrap()
    })
}

fn task_network(count: usize) -> Duration {
    network(count, |owner, config| {
        let serve = |cx: Cx<u64>, mut connection: Connection<u64>| async move {
            while let Ok(Some(length)) = connection.recv_with(<[u8]>::len).await {
                cx.with(|world| *world += length as u64);
            }
        };
        Server::serve(owner, "127.0.0.1:0", config, serve).unwrap()
    })
}

fn send_network(count: usize) -> Duration {
    let mut owner = Owner::<(Option<Session>, Duration)>::builder()
        .build()
        .unwrap();
    let config = ServerConfig::new()
        .framing(Framing::exact(MESSAGE).unwrap())
        .send_queue(1 << 30, count);
    let server = Server::start(&owner, "127.0.0.1:0", config, |world, session| {
        let world: &mut (Option<Session>, Duration) = world;
        world.0 = Some(session.clone());
        |_: &mut (Option<Session>, Duration), _: &Session, _: &[u8]| ()
    })
    .unwrap();
    let mut world = (None, Duration::ZERO);
    let _peer = TcpStream::connect(server.local_addr().ip().unwrap()).unwrap();
    while world.0.is_none() {
        let _ = owner.update(&mut world, Budget::unlimited()).unwrap();
    }
    owner
        .defer(move |(session, took)| {
            let session = session.as_ref().unwrap();
            let began = Instant::now();
            for _ in 0..count {
                session.send(&[7; MESSAGE]).unwrap();
            }
            *took = began.elapsed();
        })
        .unwrap();
    let _ = owner.update(&mut world, Budget::unlimited()).unwrap();
    world.1
}

fn callback_post(count: usize) -> Duration {
    let mut owner = with_parked_tasks(Io::threads(1));
    let poster = owner.poster();
    for n in 0..count as u64 {
        poster.post(move |world| *world += n).unwrap();
    }
    deliver(&mut owner, &mut 0, count)
}

fn callback_result(count: usize) -> Duration {
    let mut owner = with_parked_tasks(Io::inline());
    let service = owner.service("s", async |n: u64| Ok::<_, Lost>(n)).unwrap();
    let mut world = 0;
    let now = owner.now();
    for _ in 0..count {
        service
            .send(1, |world: &mut u64, n| *world += n.unwrap())
            .unwrap();
    }
    // The update begins with the lane's turn, and is out of budget after one result.
    let report = owner
        .update_at(now, &mut world, Budget::operations(1))
        .unwrap();
    assert_eq!(report.ran, 1);
    deliver(&mut owner, &mut world, count - 1)
}

fn task_result(count: usize) -> Duration {
    let mut owner = with_parked_tasks(Io::inline());
    let service = owner.service("s", async |n: u64| Ok::<_, Lost>(n)).unwrap();
    let mut world = 0;
    for _ in 0..count {
        let service = service.clone();
        owner
            .spawn(async move |cx| {
                let n = service.call(1).await.unwrap();
                cx.with(|world| *world += n);
                // The end of a task is another bench's.
                std::future::pending::<()>().await;
            })
            .unwrap();
    }
    deliver(&mut owner, &mut world, count);
    deliver(&mut owner, &mut world, count)
}

fn task_woken(count: usize) -> Duration {
    let mut owner = with_parked_tasks(Io::threads(1));
    for _ in 0..count {
        owner
            .spawn(async |cx| {
                loop {
                    cx.yield_now().await;
                }
            })
            .unwrap();
    }
    let mut world = 0;
    deliver(&mut owner, &mut world, count);
    deliver(&mut owner, &mut world, count)
}

fn spawn(count: usize) -> Duration {
    let mut owner = with_parked_tasks(Io::threads(1));
    let mut world = 0;
    for round in 0..2 {
        let began = Instant::now();
        for _ in 0..count {
            owner
                .spawn(async |cx| cx.with(|world| *world += 1))
                .unwrap();
        }
        deliver(&mut owner, &mut world, count);
        if round == 1 {
            return began.elapsed();
        }
    }
    Duration::ZERO
}

fn submit(count: usize) -> Duration {
    let owner = with_parked_tasks(Io::inline());
    let service = owner.service("s", async |n: u64| Ok::<_, Lost>(n)).unwrap();
    let began = Instant::now();
    for _ in 0..count {
        service
            .send(1, |world: &mut u64, n| *world += n.unwrap())
            .unwrap();
    }
    began.elapsed()
}

fn round_inline(count: usize) -> Duration {
    let mut owner = with_parked_tasks(Io::inline());
    let service = owner.service("s", async |n: u64| Ok::<_, Lost>(n)).unwrap();
    let mut world = 0;
    let mut took = Duration::ZERO;
    for _ in 0..3 {
        let began = Instant::now();
        for _ in 0..count {
            service
                .send(1, |world: &mut u64, n| *world += n.unwrap())
                .unwrap();
        }
        deliver(&mut owner, &mut world, count);
        took = began.elapsed();
    }
    took
}
