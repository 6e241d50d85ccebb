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
use std::time::{Duration, Instant};

use arknet::owner::{Budget, Cadence, InletLimits, Io, Lost, Next, Owner};

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
